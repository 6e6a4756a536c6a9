"""Runs a command, or one thread of this process, in the namespaces of another process."""

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
    """Returns the words that are put before a command so that the command runs in the namespaces of
    process `pid`.

    `kinds`: the kinds of namespaces to enter.
    """
    return ["nsenter", "-t", str(pid), *(_FLAGS[kind] for kind in kinds), "--"]


def in_network(pid: int, work: Callable[[], Answer]) -> Answer:
    """Runs `work` in the network namespace of process `pid` and returns its result. In `work`,
    /proc/sys/net has the settings of that namespace.

    A separate thread enters the namespace, so that the other threads of this process stay in their
    namespace. Raises OSError if the namespace cannot be entered.
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
        except BaseException as error:  # any exception is raised again in the caller's thread
            failure.append(error)

    thread = threading.Thread(target=enter, name=f"network-{pid}", daemon=True)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return answer[0]


def rooted_at(pid: int, path: Path) -> Path:
    """Returns a path at which this process can open a file of another mount namespace. The file has
    the path `path` in the mount namespace of process `pid`."""
    return Path(f"/proc/{pid}/root") / path.relative_to("/")
