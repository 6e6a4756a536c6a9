"""The interface of result readers. A result reader converts the output of another tool to
measurements in SI units.

Each reader is one module that declares `TITLE` and `READER`. dfslab finds these modules in three
places:
- the folder `imports/results`
- the folder `imports/results` below each folder of DFSLAB_PATH
- the entry points of the group `dfslab.result_readers`
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias, TypeGuard

from dfslab import discover
from dfslab.documents import metrics
from dfslab.documents.evidence import Evidence
from dfslab.imports import plain_file
from dfslab.imports.job_settings import JobSettings
from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError
from dfslab.spec.members.member_error import DiscoveryError, MemberValueError, defined_at, unlisted

KEY = "FILE"
HEAD_BYTES = 1 << 16
# Maximum size of a result file. Results are summaries, so a larger file probably has single
# operations and is a trace.
MOST_BYTES = 256 << 20
# Two quantiles contradict each other if the value of the lower quantile is larger by more than this
# fraction. Tools round quantiles to three digits or more.
ROUNDING = 0.01
MEBI, KIBI, GIBI = float(1 << 20), float(1 << 10), float(1 << 30)
# Pattern of the remainder of a JSON text after the position at which the parser fails, if the text
# ends within a value. The remainder is empty, or the beginning of a word or number.
UNENDED = re.compile(r"[-+.\w]*\s*")
CUT_OFF = " (the file seems to be cut off)"
Json: TypeAlias = "Mapping[str, object]"


@dataclass(frozen=True)
class ToolMeasurement:
    """What a tool reported for one operation. None or a missing key means that the tool did not
    report the value.

    part: the job, test or phase of the tool. latency_s: latencies in seconds, by the names of the
    statistics in `metrics.STATISTICS`. clients: number of concurrent processes or threads.
    complete: True if the tool reported neither an error nor an abort. counts_transfers: True if one
    operation is one read or write request, False if it may be a whole file or object. is_random:
    whether the offsets of the transfers are random; None if unknown. settings: the settings that
    distinguish the measurement from others of the same part and operation. evidence: other facts
    about the workload, which the plausibility rules use. The measured numbers are added to the
    evidence later.
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
    counts_transfers: bool = False
    is_random: bool | None = None
    settings: JobSettings = field(default_factory=JobSettings)
    evidence: Evidence = field(default_factory=Evidence)

    def __post_init__(self) -> None:
        for key in self.latency_s:
            if key not in metrics.STATISTICS:
                raise MemberValueError(f"latency_s: key {unlisted(key, metrics.STATISTICS)}")
        figures = (self.rate_per_s, self.throughput_bytes_per_s, *self.latency_s.values())
        if any(one is not None and not 0 <= one < math.inf for one in figures):
            raise ValueError(f"{self.part}, {self.operation}: a figure is below 0 or not finite")


@dataclass(frozen=True)
class ToolReport:
    """The measurements in one file, and facts about the tool that wrote it. An empty text means
    that the tool did not report the fact.

    started: the date in the tool's own words, or seconds since 1970. A date without a time zone
    becomes a note of the results, because it states no point in time. evidence: facts that concern
    all measurements, such as missing phases. contradictions: figures of the file that contradict
    each other, one line each, with the line of the file or the part of the JSON document, the key
    and the value.
    """

    tool: str
    measurements: tuple[ToolMeasurement, ...]
    version: str = ""
    host: str = ""
    started: str = ""
    command: str = ""
    evidence: tuple[Evidence, ...] = ()
    contradictions: tuple[str, ...] = ()


def _no_advice(_: bytes) -> str:
    """Returns "": for tools without an output that dfslab does not read."""
    return ""


def _nothing(_: str) -> Iterator[str]:
    """Yields no contradiction: for formats that state no figure twice."""
    yield from ()


def merged(reports: Sequence[ToolReport]) -> ToolReport:
    """Returns one report with the measurements of several runs of a tool. Measurements of the same
    part, operation, number of clients and settings become repetitions of each other. The other
    facts are those of the first report. Raises InputError if the tools differ."""
    first = reports[0]
    if len(reports) == 1:
        return first
    if len(tools := {one.tool for one in reports}) > 1:
        raise InputError(KEY, ", ".join(sorted(tools)), "must be results of one tool")
    counts = Counter[tuple[str, str, int | None, JobSettings]]()
    found = []
    for one in (one for report in reports for one in report.measurements):
        key = (one.part, one.operation, one.clients, one.settings)
        found.append(replace(one, repetition=counts[key]))
        counts[key] += 1
    evidence = tuple(one for report in reports for one in report.evidence)
    return replace(first, measurements=tuple(found), evidence=evidence)


@dataclass(frozen=True)
class ResultReader:
    """A reader of the results of one tool.

    recognises(head): returns whether a file that begins with `head` (its first HEAD_BYTES bytes) is
    a result of the tool. read(text): returns the report in a text; raises ValueError with a
    one-line reason if the text is malformed. contradictions(text): yields one line for each figure
    in a text that `read` accepted, if the figure contradicts another figure; the line has the
    place, the key and the value of the figure. advice(head): returns why a file that begins with
    `head` is another output of the tool, which `read` does not accept, and what to do; "" for other
    files.
    """

    title: str
    recognises: Callable[[bytes], bool]
    read: Callable[[str], ToolReport]
    contradictions: Callable[[str], Iterator[str]] = _nothing
    advice: Callable[[bytes], str] = _no_advice


def reader(name: str) -> ResultReader:
    """Returns the reader called `name`. Raises DiscoveryError if its module declares no reader."""
    path = discover.named(discover.RESULT_READERS, name, "--format")
    return discover.declared(path, "READER", ResultReader)


def read(path: Path, form: str = "") -> ToolReport:
    """Returns the report in a file. `form` is the name of the reader. If it is "", the reader that
    recognises the file is used.

    Raises InputError if the file is malformed or has no measurement. If `form` is "", also raises
    InputError if no reader or more than one reader recognises the file. Raises DiscoveryError if
    the reader returns no report.
    """
    try:
        head = plain_file.beginning(path, HEAD_BYTES)
        names = [form] if form else recognised(head)
        wrong = plain_file.damage(path, HEAD_BYTES) or plain_file.foreign_encoding(head)
        wrong = wrong or _advice(form, head)
        if wrong or not head:
            raise InputError(KEY, str(path), wrong or "is empty")
        if len(names) != 1:
            raise InputError(KEY, str(path), _choice(names))
        text = plain_file.content(path, MOST_BYTES, KEY).decode(errors="replace")
    except OSError as error:
        raise inputs.unreadable(KEY, path, error) from error
    try:
        own = reader(names[0])
        found = own.read(text)
        if not isinstance(found, ToolReport):
            stated = f"read returns {type(found).__name__}, must return a ToolReport"
            raise DiscoveryError(f"{defined_at(own.read)}: {stated}")
        if not found.measurements:
            raise ValueError("holds no finished measurement")
        contrary = (*_unordered(found.measurements), *own.contradictions(text))
        return replace(found, contradictions=(*found.contradictions, *contrary))
    except InputError:
        raise
    except (ValueError, RecursionError, csv.Error) as error:
        stated = _stated(error)
        raise InputError(KEY, str(path), f"{names[0]}: {stated}") from error


def consistent(path: Path, form: str = "") -> ToolReport:
    """Returns the report in a file like `read`, but raises InputError also if figures of the file
    contradict each other."""
    found = read(path, form)
    for wrong in found.contradictions:
        raise InputError(KEY, str(path), wrong)
    return found


def _unordered(measurements: Sequence[ToolMeasurement]) -> Iterator[str]:
    """Yields the contradiction for each quantile of a measurement whose value is above that of a
    higher quantile."""
    for one in measurements:
        known = [name for name in metrics.QUANTILES if name in one.latency_s]
        for low, high in zip(known, known[1:], strict=False):
            less, more = one.latency_s[low], one.latency_s[high]
            if less > more * (1 + ROUNDING):
                at_most = f"must be at most {high} = {more:.6g} s"
                yield f"{one.part}, {one.operation}: {low} = {less:.6g} s: {at_most}"


def _stated(error: Exception) -> str:
    """Returns the message of an error about a file's content. If the message names no line of the
    file, and the reader is not part of this package, the line of the reader is added."""
    at = None if str(error).startswith("line ") else discover.fault(error)
    return str(error) if at is None else at


def is_recognised(path: Path) -> bool:
    """Returns whether any reader recognises a file as the result of a tool. Returns False if the
    file cannot be read."""
    try:
        return bool(recognised(plain_file.beginning(path, HEAD_BYTES)))
    except OSError:
        return False


def recognised(head: bytes) -> list[str]:
    """Returns the names of the readers that recognise the beginning of a file."""
    names = discover.members(discover.RESULT_READERS)
    return [name for name in names if reader(name).recognises(head)]


def _advice(form: str, head: bytes) -> str:
    """Returns what to do if a file that begins with `head` is an output that dfslab does not read;
    "" for other files. `form`: name of the file's reader; "" if the reader is not known."""
    if not form and recognised(head):
        return ""
    names = [form] if form else discover.members(discover.RESULT_READERS)
    return next((found for one in names if (found := reader(one).advice(head))), "")


def _choice(names: list[str]) -> str:
    if names:
        return f"looks like {' and '.join(names)}: choose one with --format"
    known = ", ".join(discover.members(discover.RESULT_READERS))
    return f"is no result of a known tool ({known}); counters and traces: `dfslab trace report`"


def table(value: object, what: str) -> Json:
    """Returns `value` as a JSON object. Raises ValueError if `value` is not an object. `what` is
    the name of the value in the error message.
    """
    if not is_table(value):
        raise ValueError(f"{what} is no object")
    return value


def is_table(value: object) -> TypeGuard[Json]:
    """Returns whether a JSON value is an object with texts as keys."""
    return isinstance(value, dict)


def tables(value: object) -> list[Json]:
    """Returns the JSON objects in the list `value` and in lists within this list. Returns an empty
    list if `value` is not a list.
    """
    if not isinstance(value, list):
        return []
    return [one for item in value for one in ([item] if is_table(item) else tables(item))]


def loaded(text: str) -> Json:
    """Parses a text whose JSON object may follow lines of messages. Returns the object. Raises
    ValueError if there is no complete object; the error says so if the text ends within the
    object."""
    start = 0 if text.startswith("{") else text.find("\n{") + 1
    start += len(text[start:]) - len(text[start:].lstrip())
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as error:
        is_cut = error.msg.startswith("Unterminated string") or UNENDED.fullmatch(text, error.pos)
        raise ValueError(f"{error}{CUT_OFF}" if is_cut else str(error)) from error
    return table(found, "the document")


@contextmanager
def in_line(place: int, expected: str) -> Iterator[None]:
    """A context for the code that parses one line of a file. If the code raises ValueError, the
    number of the line (`place`, from 1 on) and the `expected` form of a line are added to the
    error."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"line {place}: {error}; expected {expected}") from error


def line_at(text: str, position: int) -> int:
    """Returns the number of the line that contains the character at `position`, from 1 on."""
    return text.count("\n", 0, position) + 1


def number(value: object, what: str) -> float:
    """Converts a JSON number or a text to a number. Raises ValueError if `value` is not a number of
    at least 0. `what` is the name of the value in the error message.
    """
    try:
        found = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        found = math.nan
    if not 0 <= found < math.inf:
        raise ValueError(f"{what} is {str(value)[:40]!r}, must be a number from 0 on")
    return found


def optional(values: Json, key: str) -> float | None:
    """Returns the number at `key` in the JSON object `values`. Returns None if the key is missing
    or its value is empty.
    """
    return number(values[key], key) if values.get(key) not in (None, "") else None
