"""Lists the files and folders of members in folders."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path


def entries(of_folders: bool, folders: Iterable[Path]) -> tuple[Path, ...]:
    """Returns the Python files directly in `folders`, in order of the folders and of their names.
    Files whose names begin with "_" are left out.

    With `of_folders`, returns the subfolders that have a file `facts.py` instead.
    """
    return _listed(of_folders, tuple((folder, _changed(folder)) for folder in folders))


def _changed(folder: Path) -> int:
    """Returns the modification time of a folder in ns; 0 if the folder does not exist."""
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=64)
def _listed(of_folders: bool, folders: tuple[tuple[Path, int], ...]) -> tuple[Path, ...]:
    """Returns the entries of the folders. An element of `folders` is a pair: a folder and its
    modification time in ns.

    The times are part of the key of the cache, so a changed folder is read again.
    """
    return tuple(
        path
        for folder, _ in folders
        for path in sorted(folder.glob("*"))
        if not path.name.startswith("_")
        and ((path / "facts.py").exists() if of_folders else path.suffix == ".py")
    )
