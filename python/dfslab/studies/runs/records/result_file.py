"""Reads files that have one result each. Only earlier versions of dfslab (formats 0 and 1) wrote
such files.

Format 0 has neither a format number nor a checksum. Every damaged file is reported by name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue, ValidationError

from dfslab.documents import former
from dfslab.result import Result
from dfslab.studies.runs import stored
from dfslab.studies.runs.records.record import (
    DamagedResult,
    ResultKey,
    check_values,
    first_of,
    key_of,
)

# The last format in which each result was stored in a separate file.
LAST_FORMAT = 1
FORMAT_KEY, CHECKSUM_KEY = "format", "sha256"
SUFFIX = ".json"
# The first bytes of a file of format 1.
_BEGINNING = f'{{"{FORMAT_KEY}":'.encode()


def name(key: ResultKey) -> str:
    """Returns the name of the file that contains a result in earlier formats."""
    return f"{key.method}-{key.point_id}-{key.repetition}{SUFFIX}"


def read(path: Path) -> Result:
    """Returns the result in a file.

    Raises DamagedResult in four cases: the file cannot be read; its content does not match its
    checksum or its name; a later version wrote it; `check_values` rejects its metrics.
    """
    document = _document(path)
    stated = document.pop(FORMAT_KEY, 0)
    if not isinstance(stated, int) or stated > LAST_FORMAT:
        raise DamagedResult(f"has format {stated!r}; this version reads up to {LAST_FORMAT}")
    checksum = document.pop(CHECKSUM_KEY, None)
    if stated and checksum != checksum_of(document):
        raise DamagedResult("was changed or damaged: its checksum does not match")
    try:
        result = Result.model_validate(document if stated else former.current(document))
    except (ValidationError, AttributeError, TypeError, ValueError) as error:
        raise DamagedResult(f"is no result: {first_of(error)}") from error
    if name(key_of(result)) != path.name:
        raise DamagedResult(
            f"is a copy or was renamed: the result is that of {name(key_of(result))}"
        )
    check_values(result)
    return result


def number_without_checksum(folder: Path) -> int:
    """Returns the number of results in a run folder that have no checksum (format 0)."""
    return sum(1 for path in stored.result_files(folder) if not _begins_as_format_1(path))


def checksum_of(document: Mapping[str, JsonValue]) -> str:
    """Returns the SHA-256 of the result's canonical JSON. The hash depends neither on spaces nor on
    the order of keys."""
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _begins_as_format_1(path: Path) -> bool:
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
        raise DamagedResult(f"is no JSON: {first_of(error)}") from error
    if not isinstance(found, dict):
        raise DamagedResult("is no result: no JSON object")
    return found
