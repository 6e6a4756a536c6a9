"""Converts traces to a form that the core can read. The converted traces are temporary files.

- Files compressed by gzip are decompressed.
- Single trace objects of Jaeger are enclosed in the object that Jaeger's API returns.
- Times of day of `strace -tt` become seconds.

Other files are used unchanged.
"""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dfslab.imports import plain_file, strace_stamps
from dfslab.instruments.tracing.reading import Reading
from dfslab.spec.files import scratch
from dfslab.spec.input_error import InputError

KEY = "trace"
HEAD_BYTES = 1 << 16
CHUNK_BYTES = 1 << 20
# Largest share of the free space for temporary files that decompressed traces may take.
MOST_OF_FREE = 0.5
# Matches the beginning of a text that is an object {"traceID": …, "spans": …} or a list of such
# objects. Jaeger's API returns these objects under the key "data".
TRACE_OBJECT = re.compile(
    rb'^\s*(\[\s*)?\{\s*(?:"traceID"\s*:\s*"[^"]*"\s*,\s*"(?:spans|processes|warnings)"\s*:'
    rb'|"(?:spans|processes)"\s*:\s*[\[{].*"(?:operationName|serviceName)")',
    re.DOTALL,
)


@dataclass(frozen=True)
class _Change:
    """The conversion that a file needs.

    - `unpack`: whether the file is decompressed.
    - `before`, `behind`: texts that are added before and after its JSON text.
    - `stamps`: whether its times of day are converted to seconds.
    """

    unpack: bool = False
    before: bytes = b""
    behind: bytes = b""
    stamps: bool = False


@contextmanager
def readable(
    paths: Sequence[Path], errors: type[Exception], reading: Reading | None = None
) -> Iterator[list[str]]:
    """Yields a list with one path for each of `paths`. If the core can read the file, its path is
    yielded unchanged. Otherwise the path is that of a temporary copy in a form that the core reads.
    The copies are removed at the end of the context.

    Raises InputError, which names the file, if its form is recognised but the file cannot be read.
    For malformed files, the core raises exceptions of the class `errors`. In their text, the name
    of a copy is replaced by the name of the given file.
    """
    form = reading.format if reading else ""
    with scratch.folder("trace") as folder:
        names: dict[str, str] = {}
        found = []
        for number, path in enumerate(paths):
            change = _change(path, form)
            if change is None:
                found.append(str(path))
                continue
            copy = folder / f"{number}"
            try:
                _write(path, copy, change)
            except ValueError as error:
                raise InputError(KEY, None, f"reading trace {path}: {error}") from error
            names[str(copy)] = str(path)
            found.append(str(copy))
        try:
            yield found
        except errors as error:
            text = str(error)
            for copy_name, name in names.items():
                text = text.replace(copy_name, name)
            raise errors(text) from error


def _change(path: Path, form: str) -> _Change | None:
    """Returns the conversion that a file needs; None if the file needs none or does not exist."""
    try:
        unpack = plain_file.compressed(path)
        head = plain_file.beginning(path, HEAD_BYTES)
    except OSError:
        return None
    if reason := strace_stamps.is_refused(head):
        raise InputError(KEY, None, f"reading trace {path}: line 1 {reason}")
    if strace_stamps.is_daytime(head):
        return _Change(unpack, stamps=True)
    if (single := TRACE_OBJECT.match(head)) and form in ("", "jaeger"):
        listed = single[1] is not None
        return _Change(unpack, b'{"data":' if listed else b'{"data":[', b"}" if listed else b"]}")
    return _Change(unpack) if unpack else None


def _write(path: Path, copy: Path, change: _Change) -> None:
    """Writes the converted content of a file to `copy`. Raises ValueError if the file is damaged or
    takes too much space."""
    left = int(shutil.disk_usage(copy.parent).free * MOST_OF_FREE)
    with plain_file.unpacked(path) as source, copy.open("wb") as target:
        target.write(change.before)
        for part in _in_seconds(source) if change.stamps else _chunks(source):
            left -= len(part)
            if left < 0:
                raise ValueError("is too large for the free space once decompressed")
            target.write(part)
        target.write(change.behind)


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    while part := source.read(CHUNK_BYTES):
        yield part


def _in_seconds(source: BinaryIO) -> Iterator[bytes]:
    """Yields the lines of strace's output. The time of each line is given in seconds since the
    midnight before the first line."""
    stamps = strace_stamps.Stamps()
    with io.TextIOWrapper(source, encoding="utf-8", errors="surrogateescape") as lines:
        for number, line in enumerate(lines, 1):
            if found := stamps.split(line.rstrip("\n"), number):
                process = f"{found.process} " if found.process else ""
                text = f"{process}{found.time_s:.9f} {found.text}\n"
                yield text.encode(errors="surrogateescape")
