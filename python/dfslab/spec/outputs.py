"""Output paths: only new files in existing folders."""

from __future__ import annotations

from pathlib import Path

from dfslab.spec.errors import InputError


def new_file(key: str, path: Path) -> Path:
    """Returns the path. InputError for `key` if the file exists or its folder does not."""
    if path.exists() or path.is_symlink():
        raise InputError(key, str(path), "exists already; dfslab does not overwrite it")
    if not path.parent.is_dir():
        raise InputError(key, str(path), "its directory does not exist")
    return path
