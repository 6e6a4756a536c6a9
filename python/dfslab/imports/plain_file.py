"""Opens files that may be compressed with gzip, recognised by their first bytes."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, cast

from dfslab.spec.input_error import InputError

MAGIC = b"\x1f\x8b"
# The first bytes of texts in UTF-16 and UTF-32.
WIDE = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
# Largest allowed number of characters in a line of a trace. The parsers need about 140 bytes of
# memory for each character of a line.
MOST_LINE = 1 << 20


def compressed(path: Path) -> bool:
    """Returns whether a file is compressed with gzip. Raises OSError if the file cannot be read."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def opened(path: Path) -> io.BufferedReader:
    """Opens a file for reading its bytes. The bytes of a compressed file are decompressed. Raises
    OSError if the file cannot be opened."""
    return cast(io.BufferedReader, gzip.open(path, "rb")) if compressed(path) else path.open("rb")


@contextmanager
def unpacked(path: Path) -> Iterator[io.BufferedReader]:
    """Opens a file like `opened`, but raises ValueError instead of gzip's own exceptions if an
    archive is damaged."""
    try:
        with opened(path) as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        reason = f"is damaged gzip: {error}; copy or compress the file again"
        raise ValueError(reason) from error


@contextmanager
def lines(path: Path) -> Iterator[Iterator[str]]:
    """Opens a file and returns a context that yields its lines as text, without the byte order
    mark. Bytes that are not UTF-8 become surrogates.

    Raises OSError if the file cannot be read. Raises ValueError if the file is a damaged gzip
    archive or a text in UTF-16 or UTF-32, or if a line has more than MOST_LINE characters.
    """
    if wrong := foreign_encoding(beginning(path, max(map(len, WIDE)))):
        raise ValueError(wrong)
    with (
        unpacked(path) as file,
        io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape") as text,
    ):
        yield _lines(text)


def _lines(text: TextIO) -> Iterator[str]:
    number = 0
    while line := text.readline(MOST_LINE + 1):
        number += 1
        if len(line) > MOST_LINE:
            raise ValueError(f"line {number} has more than {MOST_LINE} characters")
        yield line


def foreign_encoding(head: bytes) -> str:
    """Returns the reason why a text that begins with `head` is in a wrong encoding; "" if the
    encoding may be UTF-8."""
    if not head.startswith(WIDE):
        return ""
    return "is text in UTF-16 or UTF-32: convert it with iconv -f UTF-16 -t UTF-8"


def beginning(path: Path, size_bytes: int) -> bytes:
    """Returns the first `size_bytes` bytes of a file, or all bytes if the file is shorter. An
    archive is decompressed first. If the archive is damaged within these bytes, returns the bytes
    before the damage.
    """
    found = b""
    with opened(path) as file:
        try:
            while len(found) < size_bytes and (part := file.read1(size_bytes - len(found))):
                found += part
        except (EOFError, zlib.error, gzip.BadGzipFile):
            pass
    return found


def damage(path: Path, size_bytes: int) -> str:
    """Returns the reason why the first `size_bytes` bytes of a file cannot be decompressed; "" if
    these bytes can be decompressed, or if the file is not compressed."""
    try:
        with unpacked(path) as file:
            file.read(size_bytes)
    except ValueError as error:
        return str(error)
    return ""


def content(path: Path, most_bytes: int, key: str) -> bytes:
    """Returns all bytes of the file `path`. An archive is decompressed. Raises InputError if the
    content has more than `most_bytes` bytes, or if the archive is damaged. `key` is the name of the
    input in the error.
    """
    try:
        with unpacked(path) as file:
            found = file.read(most_bytes + 1)
    except ValueError as error:
        raise InputError(key, str(path), str(error)) from error
    if len(found) > most_bytes:
        allowed = f"must be at most {most_bytes >> 20} MiB, decompressed"
        raise InputError(key, str(path), allowed)
    return found
