"""Opens files that may be compressed with gzip, recognised by their first bytes."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import BinaryIO, cast

from dfslab.spec.input_error import InputError

MAGIC = b"\x1f\x8b"


def compressed(path: Path) -> bool:
    """Whether a file begins as gzip's files do. OSError if it cannot be read."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def opened(path: Path) -> BinaryIO:
    """A file's bytes, decompressed where they are compressed. OSError if it cannot be opened."""
    return cast(BinaryIO, gzip.open(path, "rb")) if compressed(path) else path.open("rb")


def beginning(path: Path, size_bytes: int) -> bytes:
    """Up to `size_bytes` of a file's first bytes, decompressed; of a damaged archive those before
    the damage, at least none."""
    with opened(path) as file:
        try:
            return file.read(size_bytes)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return b""


def content(path: Path, most_bytes: int, key: str) -> bytes:
    """All of a file's bytes, decompressed. InputError, with the key `key`, if they are more than
    `most_bytes` or the archive is damaged."""
    with opened(path) as file:
        try:
            found = file.read(most_bytes + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(key, str(path), f"is damaged gzip: {error}") from error
    if len(found) > most_bytes:
        allowed = f"must be at most {most_bytes >> 20} MiB, decompressed"
        raise InputError(key, str(path), allowed)
    return found
