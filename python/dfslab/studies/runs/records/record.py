"""Encodes and decodes the records of a run. A record is one line of JSON with one result.

A record has four parts: `{"sha256":"…",`; the head (`format`, `number`, `key`, `complete`,
`replaces`); `"result":{…}}`; a newline. The checksum covers the identifier of the run and all bytes
after the checksum. It therefore detects a record that was changed or copied from another run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import JsonValue, ValidationError

from dfslab.result import Result
from dfslab.studies.runs.records.impossible import contradiction

# Version of the format. The version is increased when the meaning of a stored key changes. In
# formats 0 and 1, each result has its own file.
FORMAT = 2
_PREFIX = b'{"sha256":"'
_HEAD = len(_PREFIX) + hashlib.sha256().digest_size * 2 + len(b'",')
_BODY = b',"result":'
_KEY = re.compile(rb'"key":(\["[^"\\]*","[^"\\]*",\d+\])')
CHANGED = "was changed or damaged: its checksum does not match"


class DamagedResult(ValueError):
    """An error: a file or a record cannot be used as a result. The error's text is the reason in
    one line; it does not name the file."""


class ResultKey(NamedTuple):
    """The key that identifies a result within a run: method, configuration and repetition."""

    method: str
    point_id: str
    repetition: int


class Head(NamedTuple):
    """The head of a record. `number`: position of the record in the run, from 1. `replaces`: the
    names of the damaged records or files that this record replaces."""

    number: int
    key: ResultKey
    complete: bool
    replaces: tuple[str, ...] = ()


def key_of(result: Result) -> ResultKey:
    """Returns the key of a result."""
    return ResultKey(result.method, result.point_id, result.repetition)


def encoded(result: Result, run: str, number: int, replaces: Sequence[str] = ()) -> bytes:
    """Returns the line of JSON that stores a result in the run with the identifier `run`."""
    head: dict[str, JsonValue] = {
        "format": FORMAT,
        "number": number,
        "key": list(key_of(result)),
        "complete": result.complete,
        "replaces": list(replaces),
    }
    written = json.dumps(head, separators=(",", ":")).encode()
    return signed(written[1:-1] + _BODY + result.model_dump_json().encode() + b"}", run)


def signed(content: bytes, run: str) -> bytes:
    """Returns a record: the line of JSON that consists of a checksum and `content`.

    `content`: a JSON object without its first brace. `run`: identifier of the run; the checksum
    covers `run` and `content`.
    """
    return _PREFIX + _checksum(content, run) + b'",' + content + b"\n"


def content_of(line: bytes, run: str) -> bytes:
    """Returns the part of a line after its checksum. Raises DamagedResult if the checksum is
    wrong."""
    content = line[_HEAD:-1]
    if line[-1:] != b"\n" or line[:_HEAD] != _PREFIX + _checksum(content, run) + b'",':
        raise DamagedResult(CHANGED)
    return content


def head_of(line: bytes, run: str) -> Head:
    """Returns the head of a line. Raises DamagedResult if the line is not an intact record of the
    run `run`."""
    return _head(content_of(line, run).partition(_BODY)[0])


def decoded(line: bytes, run: str) -> tuple[Head, Result]:
    """Returns the head and the result of one record, which is a line of the file.

    Raises DamagedResult in four cases: the line is not an intact record of the run `run`; a later
    version wrote it; its result has another key than its head; `check_values` rejects its metrics.
    """
    head, _, body = content_of(line, run).partition(_BODY)
    read = _head(head)
    try:
        result = Result.model_validate_json(body[:-1])
    except ValidationError as error:
        raise DamagedResult(f"is no result: {first_of(error)}") from error
    if key_of(result) != read.key:
        raise DamagedResult("states one configuration and has the result of another one")
    check_values(result)
    return read, result


def likely_key(line: bytes) -> ResultKey | None:
    """Returns the key that can still be read in a damaged line; None if no key can be read."""
    found = _KEY.search(line[: _HEAD + 1000])
    if found is None:
        return None
    try:
        method, point_id, repetition = json.loads(found[1])
    except ValueError:
        return None
    return ResultKey(method, point_id, repetition)


def check_values(result: Result) -> None:
    """Raises DamagedResult if a complete measurement has no metric, or if a figure is impossible or
    contradicts other figures of the same result."""
    if result.complete and result.method == "measure" and not result.metrics:
        raise DamagedResult("is complete, but has no metric")
    if wrong := contradiction(result):
        raise DamagedResult(wrong)


def first_of(error: Exception) -> str:
    """Returns the first problem that an error reports, in one line. If the error has no text,
    returns the name of its type."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _head(written: bytes) -> Head:
    try:
        found = json.loads(b"{" + written + b"}")
        form = found["format"]
        if form != FORMAT:
            raise DamagedResult(f"has format {form!r}; this version reads up to {FORMAT}")
        method, point_id, repetition = found["key"]
        key = ResultKey(method, point_id, repetition)
        return Head(found["number"], key, found["complete"], tuple(found["replaces"]))
    except (KeyError, TypeError, RecursionError) as error:
        raise DamagedResult(f"is no record: {first_of(error)}") from error
    except json.JSONDecodeError as error:
        raise DamagedResult(f"is no JSON: {first_of(error)}") from error


def _checksum(content: bytes, run: str) -> bytes:
    return hashlib.sha256(run.encode() + b"\n" + content).hexdigest().encode()
