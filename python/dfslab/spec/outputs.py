"""Where results are written: new files only, in folders that are there."""

from __future__ import annotations

from pathlib import Path

from dfslab.spec.errors import InputError


def new_file(key: str, path: Path) -> Path:
    """The path, where a new file can be made. InputError for `key` where one is, or no folder."""
    if path.exists() or path.is_symlink():
        raise InputError(key, str(path), "exists already; dfslab does not overwrite it")
    if not path.parent.is_dir():
        raise InputError(key, str(path), "its directory does not exist")
    return path
