"""Enters another process's namespaces, by a command prefix or with one thread of this process."""

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
    """The command prefix that runs a command in the namespaces of process `pid`."""
    return ["nsenter", "-t", str(pid), *(_FLAGS[kind] for kind in kinds), "--"]


def in_network(pid: int, work: Callable[[], Answer]) -> Answer:
    """Run `work` in the network namespace of process `pid`, with its /proc/sys/net; returns its
    result.

    A separate thread enters the namespace, so that the rest of this process stays in its own.
    OSError if the namespace cannot be entered.
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
        except BaseException as error:  # any exception is re-raised in the caller's thread
            failure.append(error)

    thread = threading.Thread(target=enter, name=f"network-{pid}", daemon=True)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return answer[0]


def rooted_at(pid: int, path: Path) -> Path:
    """The path by which this process opens the file that process `pid` sees as `path`."""
    return Path(f"/proc/{pid}/root") / path.relative_to("/")
