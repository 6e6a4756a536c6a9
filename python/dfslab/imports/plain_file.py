"""Opens files that may be compressed with gzip, recognised by their first bytes."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from dfslab.spec.input_error import InputError

MAGIC = b"\x1f\x8b"


def compressed(path: Path) -> bool:
    """Whether a file begins as gzip's files do. OSError if it cannot be read."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def opened(path: Path) -> BinaryIO:
    """A file's bytes, decompressed where they are compressed. OSError if it cannot be opened."""
    return cast(BinaryIO, gzip.open(path, "rb")) if compressed(path) else path.open("rb")


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """A file's bytes like `opened`; ValueError, not an error of gzip, if an archive is damaged."""
    try:
        with opened(path) as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"is damaged gzip: {error}") from error


@contextmanager
def lines(path: Path) -> Iterator[TextIO]:
    """A file's lines as text, in which bytes that are no UTF-8 are kept as surrogates. OSError if
    the file cannot be read, ValueError if it is damaged gzip."""
    with (
        unpacked(path) as file,
        io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape") as text,
    ):
        yield text


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
    try:
        with unpacked(path) as file:
            found = file.read(most_bytes + 1)
    except ValueError as error:
        raise InputError(key, str(path), str(error)) from error
    if len(found) > most_bytes:
        allowed = f"must be at most {most_bytes >> 20} MiB, decompressed"
        raise InputError(key, str(path), allowed)
    return found
