"""Measures disturbances of the clients' machine during a run: processor time of other programs,
stolen and throttled processor time, and steps of the clock."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from dfslab.documents.measured_load import MachineDuring
from dfslab.instruments.measuring.contention import PROC, known_ticks, process_table
from dfslab.spec.clock import REAL, Clock

STAT = Path("/proc/stat")
OWN_GROUPS = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")
# COUNTED is the number of columns that are read from the line "cpu" of /proc/stat: user, nice,
# system, idle, iowait, irq, softirq, steal. STEAL is the position of the column steal. The column
# user includes the time of guests, so the later columns for guests are not read.
COUNTED, STEAL = 8, 7
# Columns of the processor time that processes use: user, nice, system. Interrupts belong to no
# process.
WORK = slice(0, 3)


@dataclass(frozen=True)
class Moment:
    """The counters of the machine at one time. A counter is None if the kernel does not report it.

    `total_ticks` is the time of all processors, idle time included. `worked_ticks` is the processor
    time of all processes. `known_ticks` is the processor time of the run's own processes and of the
    kernel's threads.
    """

    total_ticks: int | None
    worked_ticks: int | None
    known_ticks: int
    stolen_ticks: int | None
    throttled_s: float | None
    unix_s: float
    monotonic_s: float


class MachineWatch:
    """Reads the counters that show disturbances of the machine on which this process runs. Tests
    can replace the files and the clock.

    `roots` are the processes of the file system's servers. The run's own processes are this
    process, the servers, and all their descendants.
    """

    def __init__(
        self,
        roots: Collection[int] = (),
        clock: Clock = REAL,
        stat: Path = STAT,
        own_groups: Path = OWN_GROUPS,
        groups: Path = GROUPS,
        proc: Path = PROC,
    ) -> None:
        self._roots, self._proc = {os.getpid(), *roots}, proc
        self._clock, self._stat = clock, stat
        self._own_groups, self._groups = own_groups, groups

    def moment(self) -> Moment:
        """Returns the present values of the counters."""
        ticks = self._ticks()
        return Moment(
            total_ticks=sum(ticks) if ticks else None,
            worked_ticks=sum(ticks[WORK]) if ticks else None,
            known_ticks=known_ticks(process_table(self._proc), self._roots),
            stolen_ticks=ticks[STEAL] if ticks else None,
            throttled_s=self._throttled_s(),
            unix_s=self._clock.unix_ns() * 1e-9,
            monotonic_s=self._clock.monotonic_s(),
        )

    def since(self, before: Moment) -> MachineDuring:
        """Returns the disturbances between an earlier reading and now."""
        now = self.moment()
        took_s = now.monotonic_s - before.monotonic_s
        step_s = now.unix_s - before.unix_s - took_s
        return MachineDuring(
            took_s=took_s,
            others_share=_others_share(before, now),
            stolen_share=_share(before, now),
            throttled_share=_throttled_share(before, now, took_s),
            clock_step_s=abs(step_s),
        )

    def _ticks(self) -> list[int]:
        """Returns the clock ticks of all processors in each state; an empty list if the kernel does
        not report stolen time."""
        try:
            words = self._stat.read_text(encoding="ascii").split("\n", 1)[0].split()
            ticks = [int(word) for word in words[1 : 1 + COUNTED]]
        except (OSError, ValueError):
            return []
        return ticks if len(ticks) == COUNTED else []

    def _throttled_s(self) -> float | None:
        """Returns the throttled time in seconds, or None if the kernel does not report it. During
        this time, a processor quota stopped the processes of this process's control group."""
        try:
            lines = self._own_groups.read_text(encoding="utf-8").splitlines()
        except OSError:
            return None
        for line in lines:
            _, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            for folder in _folders(self._groups, controllers, path):
                found = _throttled(folder / "cpu.stat")
                if found is not None:
                    return found
        return None


def _folders(groups: Path, controllers: str, path: str) -> list[Path]:
    """Returns the folders below `groups` where the files of the control group `path` may be.

    `controllers` lists the group's controllers, as in /proc/PID/cgroup; it is "" in cgroup version
    2. In version 1, the result is empty if the group does not control processors.
    """
    relative = path.lstrip("/")
    if not controllers:
        return [groups / relative, groups / "unified" / relative]
    if "cpu" not in controllers.split(","):
        return []
    return [groups / "cpu" / relative, groups / controllers / relative]


def _throttled(file: Path) -> float | None:
    """Returns the throttled time in seconds from a file `cpu.stat`, which counts microseconds in
    cgroup version 2 and nanoseconds in version 1. Returns None if the file is missing or has no
    such count.
    """
    try:
        text = file.read_text(encoding="ascii")
    except OSError:
        return None
    pairs = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
    for key, unit_s in (("throttled_usec", 1e-6), ("throttled_time", 1e-9)):
        if pairs.get(key, "").strip().isdigit():
            return int(pairs[key]) * unit_s
    return None


def _share(before: Moment, now: Moment) -> float | None:
    if None in (before.total_ticks, now.total_ticks, before.stolen_ticks, now.stolen_ticks):
        return None
    passed = (now.total_ticks or 0) - (before.total_ticks or 0)
    stolen = (now.stolen_ticks or 0) - (before.stolen_ticks or 0)
    return max(0.0, stolen / passed) if passed > 0 else None


def _others_share(before: Moment, now: Moment) -> float | None:
    """Returns the processor time of other programs as a share of the time of all processors.
    Returns None if the kernel does not report the times.

    The processor time of other programs is the time of all processes, minus the time of the run's
    own processes and of the kernel's threads. This difference includes programs that began and
    ended during the run.
    """
    if None in (before.total_ticks, now.total_ticks, before.worked_ticks, now.worked_ticks):
        return None
    passed = (now.total_ticks or 0) - (before.total_ticks or 0)
    worked = (now.worked_ticks or 0) - (before.worked_ticks or 0)
    others = worked - (now.known_ticks - before.known_ticks)
    return min(1.0, max(0.0, others / passed)) if passed > 0 else None


def _throttled_share(before: Moment, now: Moment, took_s: float) -> float | None:
    """Returns the throttled time as a share of the time of all processors. Returns None if the
    throttled time is not known.

    The kernel throttles a group on each processor separately, and adds these times up. The time of
    all processors is therefore `took_s` times the number of processors.
    """
    if before.throttled_s is None or now.throttled_s is None or took_s <= 0:
        return None
    return max(0.0, now.throttled_s - before.throttled_s) / took_s / (os.cpu_count() or 1)
