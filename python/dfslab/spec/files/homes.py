"""Finds the user's folders for downloads and for state, and locks files that several processes
use."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def home(variable: str, base_variable: str, base_default: str) -> Path:
    """Returns the folder that the environment variable `variable` names.

    If `variable` is not set, the result is the folder `dfslab` in the user's base folder. The
    environment variable `base_variable` names the base folder; if it is not set, the base folder is
    `base_default` in the user's home folder.
    """
    if os.environ.get(variable):
        return Path(os.environ[variable]).resolve()
    base = os.environ.get(base_variable)
    return (Path(base) if base else Path.home() / base_default).resolve() / "dfslab"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Returns a context with an exclusive lock on a file.

    The file is never removed, so that all processes lock the same inode.
    """
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
