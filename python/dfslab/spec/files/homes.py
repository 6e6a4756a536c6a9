"""Finds the user's folders for downloads and for state, and locks files that several processes
use."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def home(variable: str, base_variable: str, base_default: str) -> Path:
    """Returns a folder for files of dfslab in the user's home.

    If the environment variable with the name `variable` is set, its value is the folder. Otherwise
    the folder is `dfslab` in the user's base folder. The base folder is the value of the
    environment variable with the name `base_variable`. If this variable is not set either, the base
    folder is `base_default` in the user's home folder.
    """
    if os.environ.get(variable):
        return Path(os.environ[variable]).resolve()
    base = os.environ.get(base_variable)
    return (Path(base) if base else Path.home() / base_default).resolve() / "dfslab"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Locks a file exclusively while the returned context is active.

    The file is never removed: otherwise two processes could hold locks on different files of the
    same name.
    """
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
