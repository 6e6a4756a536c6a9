"""Checks output paths: files must be new, folders must be new or empty, and the folder above must
exist.
"""

from __future__ import annotations

from pathlib import Path

from dfslab.spec.input_error import InputError


def new_file(key: str, path: Path) -> Path:
    """Returns `path` for an output file. InputError for `key` if the file exists or its folder does
    not.
    """
    if path.exists() or path.is_symlink():
        raise InputError(key, str(path), "exists already; dfslab does not overwrite it")
    if not path.parent.is_dir():
        raise InputError(key, str(path), "its directory does not exist")
    return path


def new_folder(key: str, path: Path) -> Path:
    """Returns `path` for an output folder. InputError for `key` if it is a file or a folder with
    content, or if the folder above does not exist.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(key, str(path), "must be a new or an empty folder")
    if not path.parent.is_dir():
        raise InputError(key, str(path), "its directory does not exist")
    return path
