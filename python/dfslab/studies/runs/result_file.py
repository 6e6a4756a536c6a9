"""Reads and writes the file of one result: its format, a checksum, and the result. A damaged file
is always reported by name."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue, ValidationError

from dfslab.documents import former
from dfslab.method import RunFailed
from dfslab.result import Result
from dfslab.studies.runs import stored

# Version of the format. It is increased when the meaning of a stored key changes; `former` converts
# earlier versions.
FORMAT = 1
FORMAT_KEY, CHECKSUM_KEY = "format", "sha256"
SUFFIX = ".json"
# Files of earlier versions, before format 1, contain neither a format nor a checksum.
_BEGINNING = f'{{"{FORMAT_KEY}":'.encode()


class DamagedResult(ValueError):
    """Raised for a file that is not a usable result. Its text is the reason in one line, without
    the file's name."""


def name(result: Result) -> str:
    """Returns the file name of a result."""
    return f"{result.method}-{result.point_id}-{result.repetition}{SUFFIX}"


def written(result: Result) -> str:
    """Returns the content of a result's file as text."""
    document = json.loads(result.model_dump_json())
    head = {FORMAT_KEY: FORMAT, CHECKSUM_KEY: _checksum(document)}
    return json.dumps({**head, **document}, separators=(",", ":"))


def read(path: Path) -> Result:
    """Returns the result in a file of the present or an earlier format.

    Raises DamagedResult if the file cannot be read, was changed or renamed, comes from a later
    version or has values that are not finite.
    """
    document = _document(path)
    stated = document.pop(FORMAT_KEY, 0)
    if not isinstance(stated, int) or stated > FORMAT:
        raise DamagedResult(f"has format {stated!r}; this version reads up to {FORMAT}")
    checksum = document.pop(CHECKSUM_KEY, None)
    if stated and checksum != _checksum(document):
        raise DamagedResult("was changed or damaged: its checksum is another one")
    try:
        result = Result.model_validate(document if stated else former.current(document))
    except (ValidationError, AttributeError, TypeError, ValueError) as error:
        raise DamagedResult(f"is no result: {_first(error)}") from error
    if name(result) != path.name:
        raise DamagedResult(f"is a copy or was renamed: it holds {name(result)}")
    _check_values(result)
    return result


def read_all(folder: Path) -> list[Result]:
    """Returns all results of a run folder. Raises RunFailed with one line for each file that is not
    a usable result, because a study of the remaining results would hide the damage."""
    results, damaged = [], []
    for path in stored.result_files(folder):
        try:
            results.append(read(path))
        except DamagedResult as error:
            damaged.append(f"{path}: {error}")
    if damaged:
        raise RunFailed("\n".join(damaged))
    return results


def number_of_earlier_format(folder: Path) -> int:
    """Returns the number of results in a run folder that have no checksum, because earlier versions
    stored them."""
    return sum(1 for path in stored.result_files(folder) if not _begins_as_now(path))


def _begins_as_now(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


def _document(path: Path) -> dict[str, JsonValue]:
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise DamagedResult(f"cannot be read: {error.strerror}") from error
    except RecursionError as error:
        raise DamagedResult("is nested too deeply") from error
    except ValueError as error:
        raise DamagedResult(f"is no JSON: {_first(error)}") from error
    if not isinstance(found, dict):
        raise DamagedResult("is no result: no JSON object")
    return found


def _checksum(document: Mapping[str, JsonValue]) -> str:
    """Returns the SHA-256 of the result's canonical JSON, so that spaces and the order of keys do
    not matter."""
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _check_values(result: Result) -> None:
    """Raises DamagedResult if the value of a metric is impossible for a measurement or a
    prediction."""
    if result.complete and result.method == "measure" and not result.metrics:
        raise DamagedResult("is complete, but has no metric")
    for key, metric in result.metrics.items():
        ends = [end for end in (metric.low, metric.high) if end is not None]
        if not all(map(math.isfinite, (metric.value, *ends))):
            raise DamagedResult(f"metrics.{key} = {metric.value}: must be finite")
        if metric.value < 0:
            raise DamagedResult(f"metrics.{key} = {metric.value}: must be at least 0")


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error).splitlines()[0] if str(error) else type(error).__name__
