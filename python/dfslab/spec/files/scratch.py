"""Temporary folders with an owning process. Folders that killed processes left behind can therefore
be recognised and removed safely.

The owner holds a lock on a file in the folder. The kernel releases the lock when the owner ends,
also if the owner is killed. A folder without this file does not belong to dfslab.
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
    """Yields a new folder in the temporary directory, and removes it with its content at the end of
    the block."""
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
    """Returns the folders in `place` (None: the temporary directory) whose owners were processes of
    this user that have ended."""
    top = place or Path(tempfile.gettempdir())
    found = []
    for path in sorted(top.glob(f"{PREFIX}*")):
        pid = _owner_that_ended(path)
        if pid is not None:
            found.append(Abandoned(str(path), pid))
    return found


def remove(one: Abandoned) -> bool:
    """Removes an abandoned folder without following links. Returns whether the folder is gone,
    which is also true if another process removed it. Returns False if a process owns the folder by
    now, or if parts of it cannot be removed."""
    path = Path(one.path)
    if _owner_that_ended(path) is None:
        return not os.path.lexists(path)
    # rmtree works with file descriptors, so it does not enter a link that replaces the folder
    # meanwhile.
    assert shutil.rmtree.avoids_symlink_attacks
    shutil.rmtree(path, ignore_errors=True)
    return not path.exists()


def _owner_that_ended(path: Path) -> int | None:
    """Returns the PID of the process that owned the temporary folder `path`. Returns None if the
    owner is alive, or if `path` is no temporary folder of this user."""
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
