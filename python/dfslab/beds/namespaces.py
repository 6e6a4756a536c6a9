"""Entering another process's namespaces: by a command prefix, or with one thread of this."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

CLONE_NEWNET = 0x40000000
_FLAGS = {"net": "-n", "mnt": "-m", "uts": "-u", "ipc": "-i", "pid": "-p"}
ALL = tuple(_FLAGS)
_libc = ctypes.CDLL(None, use_errno=True)
Answer = TypeVar("Answer")


def prefix(pid: int, kinds: Sequence[str] = ALL) -> list[str]:
    """The words that, put before a command, run it in the namespaces of process `pid`."""
    return ["nsenter", "-t", str(pid), *(_FLAGS[kind] for kind in kinds), "--"]


def in_network(pid: int, work: Callable[[], Answer]) -> Answer:
    """Do `work` on the network of process `pid`: its sockets and its /proc/sys/net are that one's.

    A thread of its own enters, so that nothing else here moves. OSError when it cannot.
    """
    answer: list[Answer] = []
    failure: list[BaseException] = []

    def enter() -> None:
        try:
            handle = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
            try:
                if _libc.setns(handle, CLONE_NEWNET) != 0:
                    number = ctypes.get_errno()
                    raise OSError(number, os.strerror(number), f"network of process {pid}")
            finally:
                os.close(handle)
            answer.append(work())
        except BaseException as error:  # handed to the caller, whatever it is
            failure.append(error)

    thread = threading.Thread(target=enter, name=f"network-{pid}", daemon=True)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return answer[0]


def seen_by(pid: int, path: Path) -> Path:
    """The path under which this process sees what `pid` sees as `path`, its mounts included."""
    return Path(f"/proc/{pid}/root") / path.relative_to("/")
