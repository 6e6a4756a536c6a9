"""The interface of readers of other tools' results: what a tool reported, in SI units.

A reader is one module of `imports/results` that declares `TITLE` and `READER`, found also in the
same folder of a folder of DFSLAB_PATH, or behind an entry point of the group
`dfslab.result_readers`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, TypeGuard

from dfslab import discover
from dfslab.documents import metrics
from dfslab.documents.evidence import Evidence
from dfslab.imports import plain_file
from dfslab.spec.model import InputError, unknown

KEY = "FILE"
HEAD_BYTES = 1 << 16
# Results are summaries; larger files hold single operations, which are traces.
MOST_BYTES = 256 << 20
MEBI, KIBI, GIBI = float(1 << 20), float(1 << 10), float(1 << 30)
Json: TypeAlias = "Mapping[str, object]"


@dataclass(frozen=True)
class ToolMeasurement:
    """What a tool reported of one operation; None and missing keys: not reported.

    part: the job, test or phase. latency_s: statistic of `metrics.STATISTICS` -> seconds. clients:
    processes or threads that worked concurrently. complete: no error and no abort was reported.
    evidence: what else is known of the work, for the lie detector; its figures are filled in later.
    """

    part: str
    operation: str
    rate_per_s: float | None = None
    throughput_bytes_per_s: float | None = None
    latency_s: Mapping[str, float] = field(default_factory=dict)
    clients: int | None = None
    repetition: int = 0
    complete: bool = True
    notes: tuple[str, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)

    def __post_init__(self) -> None:
        assert set(self.latency_s) <= set(metrics.STATISTICS)
        figures = (self.rate_per_s, self.throughput_bytes_per_s, *self.latency_s.values())
        if any(one is not None and not 0 <= one < math.inf for one in figures):
            raise ValueError(f"{self.part}, {self.operation}: a figure is below 0 or not finite")


@dataclass(frozen=True)
class ToolReport:
    """The measurements of one file, and where they come from; empty texts: not reported.

    evidence: what is known of all measurements together, such as the phases that are missing.
    """

    tool: str
    measurements: tuple[ToolMeasurement, ...]
    version: str = ""
    host: str = ""
    started: str = ""
    command: str = ""
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class ResultReader:
    """Reads results of one tool.

    recognises(head): whether a file with these first HEAD_BYTES bytes is such a result.
    read(text): the report in a text. ValueError with a one-line reason if it is malformed.
    """

    title: str
    recognises: Callable[[bytes], bool]
    read: Callable[[str], ToolReport]


def reader(name: str) -> ResultReader:
    """The reader `name`. DiscoveryError if its module declares none."""
    path = discover.named(discover.RESULT_READERS, name, "--format")
    return discover.declared(path, "READER", ResultReader)


def read(path: Path, form: str = "") -> ToolReport:
    """The report in a file, by the reader `form`, or by the one that recognises the file.

    InputError if no reader or more than one recognises the file, or if the file is malformed.
    """
    try:
        head = plain_file.beginning(path, HEAD_BYTES)
        names = [form] if form else recognised(head)
        if len(names) != 1:
            raise InputError(KEY, str(path), _choice(names))
        text = plain_file.content(path, MOST_BYTES, KEY).decode(errors="replace")
    except OSError as error:
        raise InputError(KEY, str(path), f"cannot be read: {error.strerror}") from error
    try:
        found = reader(names[0]).read(text)
        if not found.measurements:
            raise ValueError("holds no finished measurement")
        return found
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(KEY, str(path), f"{names[0]}: {error}") from error


def is_recognised(path: Path) -> bool:
    """Whether a file is a result of a known tool; False if it cannot be read."""
    try:
        return bool(recognised(plain_file.beginning(path, HEAD_BYTES)))
    except OSError:
        return False


def recognised(head: bytes) -> list[str]:
    """The names of the readers that recognise the beginning of a file."""
    names = discover.members(discover.RESULT_READERS)
    return [name for name in names if reader(name).recognises(head)]


def _choice(names: list[str]) -> str:
    if names:
        return f"looks like {' and '.join(names)}: choose one with --format"
    known = ", ".join(discover.members(discover.RESULT_READERS))
    return f"is no result of a known tool ({known}); counters and traces: `dfslab trace report`"


def table(value: object, what: str) -> Json:
    """`value` as an object of JSON. ValueError, naming `what`, if it is none."""
    if not is_table(value):
        raise ValueError(f"{what} is no object")
    return value


def is_table(value: object) -> TypeGuard[Json]:
    """Whether a value of JSON is an object; its keys are texts."""
    return isinstance(value, dict)


def tables(value: object) -> list[Json]:
    """The objects of a list of JSON, and of the lists in it; empty if `value` is no list."""
    if not isinstance(value, list):
        return []
    return [one for item in value for one in ([item] if is_table(item) else tables(item))]


def loaded(text: str) -> Json:
    """The object of a JSON text, behind lines of messages if there are any. ValueError if there is
    none."""
    start = 0 if text.startswith("{") else text.find("\n{") + 1
    found, _ = json.JSONDecoder().raw_decode(text[start:].lstrip())
    return table(found, "the document")


def number(value: object, what: str) -> float:
    """A number of JSON or text, from 0 on. ValueError, naming `what`, if it is none."""
    try:
        found = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        found = math.nan
    if not 0 <= found < math.inf:
        raise ValueError(f"{what} is {str(value)[:40]!r}, must be a number from 0 on")
    return found


def optional(values: Json, key: str) -> float | None:
    """The number of a key; None if the key is missing or empty."""
    return number(values[key], key) if values.get(key) not in (None, "") else None


def one_of(name: str, known: Mapping[str, str], what: str) -> str:
    """The value of `name` in `known`. ValueError with the known names if there is none."""
    if name not in known:
        raise ValueError(f"{what} {name[:40]!r} is {unknown(name, list(known))}")
    return known[name]
