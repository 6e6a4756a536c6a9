"""Gives the processes of a campaign more processor time than other programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Version 1 control groups of processors. The usual weight of a group is 1024, the largest 262144.
PROCESSORS = Path("/sys/fs/cgroup/cpu")
WEIGHT = 256 * 1024
NICE = -10


@contextmanager
def high_priority(root: Path = PROCESSORS) -> Iterator[bool]:
    """Returns a context in which the kernel prefers this process, and all processes that it starts,
    to other programs. The value of the context is true if the kernel allowed this.

    A control group is needed. Without it, the kernel gives each session of processes an equal share
    of the processors (autogroups), whatever the nice values are. At the end, the process leaves the
    group, and the group is removed. If it cannot be removed, it remains without limiting any
    process.
    """
    group = root / f"dfslab-blind-{os.getpid()}"
    before = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        group.mkdir()
        (group / "cpu.shares").write_text(f"{WEIGHT}\n")
        (group / "cgroup.procs").write_text(f"{os.getpid()}\n")
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
    except OSError:
        with suppress(OSError):
            group.rmdir()
        yield False
        return
    try:
        yield True
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, before)
        with suppress(OSError):
            (root / "cgroup.procs").write_text(f"{os.getpid()}\n")
            group.rmdir()
