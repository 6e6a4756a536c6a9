"""Temporary folders with an owner: what a killed process left is known, and nothing else is.

The owner holds a lock on a file in the folder, which the kernel releases when the owner ends, also
when it is killed. A folder without this file is not dfslab's.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PREFIX = "dfslab-"
OWNER = ".dfslab-owner"


@dataclass(frozen=True)
class Abandoned:
    """A folder whose owner has ended: its path, and the PID that the owner had."""

    path: str
    owner_pid: int


@contextmanager
def folder(purpose: str = "") -> Iterator[Path]:
    """A new folder in the temporary directory, removed with its content at the end of the block."""
    made = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}-" if purpose else PREFIX))
    try:
        with (made / OWNER).open("x", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def abandoned(place: Path | None = None) -> list[Abandoned]:
    """The folders in the temporary directory, or in `place`, that killed processes of this user
    left."""
    top = place or Path(tempfile.gettempdir())
    found = []
    for path in sorted(top.glob(f"{PREFIX}*")):
        pid = _owner_that_ended(path)
        if pid is not None:
            found.append(Abandoned(str(path), pid))
    return found


def remove(one: Abandoned) -> bool:
    """Remove an abandoned folder, following no link; False if it has an owner (again)."""
    path = Path(one.path)
    if _owner_that_ended(path) is None:
        return False
    # rmtree goes by descriptors: a folder that is swapped for a link meanwhile is not entered.
    assert shutil.rmtree.avoids_symlink_attacks
    shutil.rmtree(path, ignore_errors=True)
    return not path.exists()


def _owner_that_ended(path: Path) -> int | None:
    """The PID of the owner of a marked folder if it has ended; None for any other folder."""
    with suppress(OSError, ValueError):
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return None
        descriptor = os.open(path / OWNER, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as lock:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return int(lock.read(32))
    return None
