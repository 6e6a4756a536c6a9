"""Files that commands read: regular files, pipes and standard input, each possibly compressed with
gzip."""

from __future__ import annotations

import difflib
import gzip
import os
import re
import select
import shutil
import stat
import sys
import tomllib
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from dfslab.spec.files import scratch
from dfslab.spec.input_error import InputError
from dfslab.spec.toml import TomlTable

GZIP = b"\x1f\x8b"
# Upper limit on the size of texts that people write: scenarios, rules, settings and nets. Real
# texts are far smaller.
MOST_TEXT_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 20
# Matches a text or a comment of a TOML file, or a number with a plus sign (group `plus`). Texts and
# comments are matched so that a plus sign inside them is skipped.
_TEXT_OR_PLUS = re.compile(
    r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"'
    r"|'''.*?'''|'[^'\n]*'|#[^\n]*|(?<=[=,\[\s])(?P<plus>\+[\w.]+)",
    re.DOTALL,
)
# The line in a message about TOML.
_LINE = re.compile(r"\(at line (\d+), column \d+\)")
# A quantity without quotes in TOML: its key, its number and its unit.
_QUANTITY = re.compile(r"([\w.\"-]+)\s*=\s*(\d[\d.]*)\s*([A-Za-zµ][\w/]*)")
_KEY_BEFORE = re.compile(r"([\w.\"-]+)\s*=")
# A note is printed if a pipe has sent no data for this number of seconds.
_NOTE_AFTER_S = 2.0
# Largest share of the temporary directory's free space that one decompressed file may take.
_SPACE_SHARE = 0.5


def text(key: str, path: Path, most_bytes: int = MOST_TEXT_BYTES) -> str:
    """Returns the text of a file, without a byte order mark.

    Raises InputError for `key` if the file cannot be read, is not UTF-8 or is larger than
    `most_bytes`.
    """
    try:
        return content(key, path, most_bytes).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"is no UTF-8 text: byte {error.start + 1} is not allowed; is it a binary file?"
        raise InputError(key, str(path), reason) from error


def content(key: str, path: Path, most_bytes: int = MOST_TEXT_BYTES) -> bytes:
    """Returns the bytes of a file, decompressed. Raises InputError for `key` if the file cannot be
    read or has more than `most_bytes` bytes."""
    _check_kind(key, path)
    parts, size_bytes = [], 0
    for part in _unpacked(key, path):
        size_bytes += len(part)
        if size_bytes > most_bytes:
            raise InputError(key, str(path), f"is larger than {most_bytes} bytes")
        parts.append(part)
    return b"".join(parts)


def table(key: str, path: Path, file: str = "") -> TomlTable:
    """Returns the table in a TOML file. Raises InputError for `key` if `text` raises it, if the
    file is empty, or if the file is not TOML. If the file is not TOML, the error calls it `file`,
    or the value of `key` if `file` is ""."""
    written = text(key, path)
    if not written.strip():
        raise InputError(key, str(path), "is empty")
    try:
        found: TomlTable = tomllib.loads(written)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else _toml_reason(error)
        reason += _unquoted(written, reason)
        raise InputError(key, None if file else str(path), f"is not TOML: {reason}", file) from None
    if "+" in written:
        _refuse_plus(written, str(path))
    return found


def _refuse_plus(written: str, file: str) -> None:
    """Raises InputError for the first number with a plus sign in the TOML text `written`. TOML
    allows "+3", but in dfslab "+3" could be misread as a change by 3. `file` is the file's name for
    the error."""
    for one in _TEXT_OR_PLUS.finditer(written):
        if one["plus"]:
            line = written[: one.start()].rpartition("\n")[2]
            key = _KEY_BEFORE.findall(line)
            at = written.count("\n", 0, one.start()) + 1
            allowed = f'must be a number without "+" (line {at})'
            raise InputError(key[-1] if key else "number", one["plus"], allowed, file)


def _unquoted(written: str, reason: str) -> str:
    """Returns a hint that quantities need quotes, if the line of the TOML text `written` that the
    `reason` names has a quantity without quotes, such as 16 MiB; else ""."""
    from dfslab.spec.units import is_unit

    place = _LINE.search(reason)
    lines = written.splitlines()
    if place is None or not 0 < int(place[1]) <= len(lines):
        return ""
    found = _QUANTITY.search(lines[int(place[1]) - 1])
    if found is None or not is_unit(found[3]):
        return ""
    return f'; quantities need quotes: {found[1]} = "{found[2]} {found[3]}"'


def _toml_reason(error: tomllib.TOMLDecodeError) -> str:
    """Returns the reason of a TOML error in words that a user of TOML files understands."""
    return (
        str(error)
        .replace("Cannot overwrite a value", "a key is given twice")
        .replace("Cannot declare", "a table is given twice:")
        .replace("Invalid value", "invalid value; text needs quotes")
    )


@contextmanager
def seekable(key: str, paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Yields paths of files that can be read more than once. A pipe or compressed file is copied,
    decompressed, to a temporary file. The temporary file has the same name without ".gz". Paths of
    folders and regular files are yielded unchanged.

    Raises InputError for `key` if a file cannot be read. If code in the context raises an
    InputError, the temporary paths in it are replaced by the original paths.
    """
    with scratch.folder("input") as folder:
        given: dict[str, str] = {}
        found = []
        for number, path in enumerate(paths):
            if path.is_dir() or _is_plain(key, path):
                found.append(path)
                continue
            place = folder / str(number) / path.name.removesuffix(".gz")
            place.parent.mkdir()
            _unpack(key, path, place)
            given[str(place)] = str(path)
            found.append(place)
        try:
            yield found
        except InputError as error:
            raise _renamed(error, given) from error


def _renamed(error: InputError, given: dict[str, str]) -> InputError:
    """Returns `error` with the paths of the original files instead of the temporary files. `given`
    maps each temporary path to the original path."""

    def name(shown: str) -> str:
        for temporary, path in given.items():
            shown = shown.replace(temporary, path)
        return shown

    value = name(error.value) if isinstance(error.value, str) else error.value
    return InputError(error.key, value, name(error.allowed), name(error.file))


def _is_plain(key: str, path: Path) -> bool:
    if not stat.S_ISREG(_check_kind(key, path)):
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(GZIP)) != GZIP
    except OSError as error:
        raise unreadable(key, path, error) from error


def _check_kind(key: str, path: Path) -> int:
    """Returns the mode of a file. Raises InputError if there is no such file, or if it is a folder
    or a device."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise InputError(key, str(path), f"no such file{_similar(path)}") from None
    except (OSError, ValueError) as error:
        raise unreadable(key, path, error) from error
    if stat.S_ISDIR(mode):
        raise InputError(key, str(path), "is a folder, not a file")
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        raise InputError(key, str(path), "is a device; a file or a pipe can be read")
    return mode


def _unpack(key: str, path: Path, place: Path) -> None:
    """Copies a pipe or a compressed file, decompressed, to `place`. Raises InputError if the file
    cannot be read, or if the copy takes more than the share _SPACE_SHARE of the free space."""
    room_bytes = int(shutil.disk_usage(place.parent).free * _SPACE_SHARE)
    try:
        with place.open("xb") as copy:
            for part in _unpacked(key, path):
                room_bytes -= len(part)
                if room_bytes < 0:
                    reason = "takes more than half of the free space of the temporary directory"
                    raise InputError(key, str(path), reason)
                copy.write(part)
    except OSError as error:
        raise unreadable(key, path, error) from error


def _opened(path: Path) -> BufferedReader:
    """Opens a file for reading. If the file is a pipe, waits for its first data or its end.

    If a pipe has no data for some seconds, a note on standard error informs the user, because the
    program at the other end may never write.
    """
    if not stat.S_ISFIFO(path.stat().st_mode):
        return path.open("rb")
    # Opening a pipe for blocking reads would wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    raw = os.fdopen(descriptor, "rb")
    data = select.poll()
    data.register(descriptor, select.POLLIN)
    if not data.poll(_NOTE_AFTER_S * 1000):
        note = f"dfslab: {path}: waiting for a program that writes to this pipe (Ctrl+C ends)"
        print(note, file=sys.stderr, flush=True)
        data.poll()
    os.set_blocking(descriptor, True)
    return raw


def _unpacked(key: str, path: Path) -> Iterator[bytes]:
    """Yields the content of a file in parts, decompressed if the file is compressed with gzip.
    Raises InputError for `key` if the file cannot be read, or if its compressed data is damaged."""
    try:
        with _opened(path) as raw:
            # A pipe cannot be read again, so its first bytes are inspected without removing them.
            is_compressed = raw.peek(len(GZIP)).startswith(GZIP)
            whole = gzip.GzipFile(fileobj=raw) if is_compressed else raw
            while part := whole.read(_CHUNK_BYTES):
                yield part
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            key, str(path), f"is damaged gzip: {error}; copy or compress the file again"
        ) from error
    except OSError as error:
        raise unreadable(key, path, error) from error


def _similar(path: Path) -> str:
    """Returns a hint that names a file of the same folder with a similar name; "" if there is no
    such file, or if the folder cannot be read."""
    try:
        names = os.listdir(path.parent)
    except (OSError, ValueError):
        return ""
    close = difflib.get_close_matches(path.name, names, n=1, cutoff=0.8)
    return f"; did you mean {path.with_name(close[0])}?" if close else ""


def unreadable(key: str, path: Path, error: Exception) -> InputError:
    """Returns the error that a file cannot be read. `error`: the reason, such as OSError."""
    if isinstance(error, FileNotFoundError):
        return InputError(key, str(path), f"no such file{_similar(path)}")
    if isinstance(error, IsADirectoryError):
        return InputError(key, str(path), "is a folder, not a file")
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return InputError(key, str(path), f"cannot be read: {reason}")
