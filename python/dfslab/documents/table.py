"""Tables and sections of a report, independent of whether they are shown in a terminal, a web page
or a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from html import escape
from typing import Literal

from dfslab.spec import units

Value = str | int | float | bool | None
Name = Callable[[Mapping[str, Value]], str]
DASH = "–"
# The text for a key that a configuration does not set.
UNSET = "not set"


class Tab(StrEnum):
    """A part of a report's web page: the first screen (`ANSWER`) or one of the tabs below it. Each
    section of the report is shown in one of these parts. The value is the title of the part.

    The parts are listed in their order on the page.
    """

    ANSWER = "Answer"
    LIMITS = "What limits"
    THROUGHPUT = "Throughput"
    LATENCY = "Latency"
    TIME = "Where time goes"
    WHAT_IF = "What if"
    MODELS = "Models and their errors"
    TRACE = "Trace"
    RAW = "Raw data and provenance"

    @property
    def anchor(self) -> str:
        """The id of the tab on the page; links refer to the tab as "#ID"."""
        return "tab-" + self.value.lower().replace(" ", "-")


# NARROW: width of a small terminal. BORDER: width of the margins of a column in a terminal table.
# Both are in characters.
NARROW, BORDER = 80, 3


@dataclass(frozen=True)
class Column:
    """The head of a table's column. `unit` is the SI unit of the column's values; it is empty for
    text and ratios. `wraps` states that the column has long texts, which may be broken into
    lines."""

    title: str
    align: Literal["left", "right"] = "right"
    unit: str = ""
    wraps: bool = False


@dataclass(frozen=True)
class TableCell:
    """One cell of a table. `value` is for programs (SI units; fractions for percentages), and
    `text` is for display.

    - `low`, `high`: the 90 % interval of the value, if it has one
    - `error`: the signed relative error of a prediction, shown after the text
    - `note`: a second, smaller line
    - `is_bar`: whether to draw a bar behind a fraction, where the medium can show it

    If `value` is a text that differs from `text`, then `text` is its short form.
    """

    value: Value
    text: str
    note: str = ""
    low: float | None = None
    high: float | None = None
    is_bar: bool = False
    error: float | None = None

    @property
    def line(self) -> str:
        """The first line of the cell: its text and, if there is one, its error."""
        return self.text if self.error is None else f"{self.text} {signed_text(self.error)}"


@dataclass(frozen=True)
class Table:
    """A titled table. `marked` has the indices of the rows whose configurations were not used in a
    fit, but held out to test it. If `folded` is not empty, the table is collapsed, and the text
    `folded` is shown in its place."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[TableCell]]
    notes: Sequence[str] = ()
    marked: frozenset[int] = frozenset()
    folded: str = ""

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows), self.title

    @property
    def terminal_width(self) -> int:
        """The width of the table in characters, in a terminal that is wide enough for all cells."""
        width = 1
        for number, column in enumerate(self.columns):
            texts = [column.title, *(one[number].line for one in self.rows)]
            texts += [one[number].note for one in self.rows]
            lines = [line for text in texts for line in text.splitlines()]
            width += BORDER + max(map(len, lines), default=0)
        return width

    def _repr_html_(self) -> str:
        """Returns the table as HTML for display in a notebook, with its title above and its notes
        below."""
        heads_row = "".join(f"<th>{escape(column.title)}</th>" for column in self.columns)
        rows = [
            "".join(f"<td>{escape(cell.line).replace(chr(10), '<br>')}</td>" for cell in row)
            for row in self.rows
        ]
        body = "".join(f"<tr>{cells}</tr>" for cells in [heads_row, *rows])
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<p><b>{escape(self.title)}</b></p><table>{body}</table>{notes}"


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of text between tables."""

    text: str


@dataclass(frozen=True)
class Section:
    """A titled part of a report. `empty` is the text that is shown when the section has no
    blocks.
    """

    name: str
    title: str
    order: int
    empty: str
    blocks: Sequence[Table | Paragraph] = field(default=())


def heads(
    first: str, *others: str, left: Iterable[str] = (), wrapped: Iterable[str] = ()
) -> list[Column]:
    """Returns the columns of a table with the titles `first` and `others`.

    The first column and the columns in `left` are for text. The columns in `wrapped` are for long
    texts, which may be broken into lines. All other columns are for numbers.
    """
    long = {*wrapped}
    words = {first, *left, *long}
    return [
        Column(title, "left" if title in words else "right", wraps=title in long)
        for title in (first, *others)
    ]


def words(text: str) -> TableCell:
    """Returns a cell of text."""
    return TableCell(text, text)


def absent() -> TableCell:
    """Returns a cell whose value is unknown, shown as a dash."""
    return TableCell(None, DASH)


def count(value: int) -> TableCell:
    """Returns a cell of a whole number."""
    return TableCell(value, f"{value:,}")


def number(value: float | None) -> TableCell:
    """Returns a cell of a number, shown as by `number_text`. None, NaN and infinity are shown as a
    dash."""
    return TableCell(value, number_text(value)) if _is_known(value) else absent()


def percent(value: float | None, is_bar: bool = False) -> TableCell:
    """Returns a cell that shows a fraction as a percentage. With `is_bar`, a bar is drawn behind
    the percentage. None, NaN and infinity are shown as a dash."""
    return TableCell(value, percent_text(value), is_bar=is_bar) if _is_known(value) else absent()


def signed(value: float | None) -> TableCell:
    """Returns a cell that shows a fraction as a percentage with a sign (0 has no sign). None, NaN
    and infinity are shown as a dash."""
    return TableCell(value, signed_text(value)) if _is_known(value) else absent()


def seconds(value_s: float | None) -> TableCell:
    """Returns a cell that shows a time in seconds with a unit prefix, for example in ms or µs.
    None, NaN and infinity are shown as a dash."""
    return TableCell(value_s, seconds_text(value_s)) if _is_known(value_s) else absent()


def rate(value_per_s: float | None) -> TableCell:
    """Returns a cell that shows a rate in 1/s as a number followed by "/s". None, NaN and infinity
    are shown as a dash."""
    if not _is_known(value_per_s):
        return absent()
    return TableCell(value_per_s, f"{number_text(value_per_s)}/s")


def quantity(value: float | None, unit: str) -> TableCell:
    """Returns a cell that shows a value in the SI unit `unit` with a unit prefix, for example in ms
    or MB. None, NaN and infinity are shown as a dash."""
    if value is None or not math.isfinite(value):
        return absent()
    return TableCell(value, units.text(value, unit, 3))


def estimate(value: float, low: float | None, high: float | None, digits: str = "") -> TableCell:
    """Returns a cell that shows a value with its interval, such as 1.20 (1.10–1.30). Without `low`
    or `high`, only the value is shown. `digits` is the format of the numbers; its default is the
    format of the function `number`."""

    def text(one: float) -> str:
        return format(one, digits) if digits else number_text(one)

    if low is None or high is None:
        return TableCell(value, text(value))
    return TableCell(value, f"{text(value)} ({text(low)}–{text(high)})", low=low, high=high)


def number_text(value: float | None) -> str:
    """Returns a number as text: with three significant digits below 1,000, and as a whole number
    with thousands separators from 1,000 on. None, NaN and infinity become a dash."""
    if value is None or not math.isfinite(value):
        return DASH
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def percent_text(value: float | None) -> str:
    """Returns a fraction as a percentage. Percentages from 1,000 % on have no decimals. None, NaN
    and infinity become a dash.
    """
    if value is None or not math.isfinite(value):
        return DASH
    return f"{value:,.0%}" if abs(value) >= 10 else f"{value:.1%}"


def signed_text(value: float | None) -> str:
    """Returns a fraction as a percentage with a sign (0 has no sign). Percentages from 1,000 % on
    have no decimals. None, NaN and infinity become a dash."""
    if value is None or not math.isfinite(value):
        return DASH
    text = f"{value:+,.0%}" if abs(value) >= 10 else f"{value:+.1%}"
    return "0.0%" if text in ("+0.0%", "-0.0%") else text


def seconds_text(value_s: float | None) -> str:
    """Returns a time in seconds as text with three digits and a prefix, such as "12.3 ms". None,
    NaN and infinity become a dash.
    """
    if value_s is None or not math.isfinite(value_s):
        return DASH
    return units.text(value_s, "s", 3).replace(" us", " µs")


def _is_known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def labels_text(labels: Mapping[str, Value]) -> str:
    """Returns the varied keys of a configuration with their values as short text, such as
    "sequential_read, 1 MiB, 4 clients"."""
    return ", ".join(
        str(value) if isinstance(value, str) else _with_key(key.rsplit(".", 1)[-1], value)
        for key, value in labels.items()
    )


def naming(configurations: Iterable[Mapping[str, Value]]) -> Name:
    """Returns a function that converts a configuration to its name. A configuration is a mapping
    from the varied keys to their values.

    A name omits the keys that have a single value in all given configurations, and the keys whose
    value follows from the value of an earlier key. For example, the size of a file may follow from
    the number of clients. If two configurations would then have the same name, names contain all
    keys.
    """
    every = [dict(one) for one in configurations]
    values: dict[str, list[str]] = {}
    for labels in every:
        for key, value in labels.items():
            values.setdefault(key, []).append(str(value))
    omitted = _following(every) | {
        key for key, found in values.items() if len(found) == len(every) and len(set(found)) == 1
    }

    def kept(labels: Mapping[str, Value]) -> dict[str, Value]:
        return {key: value for key, value in labels.items() if key not in omitted}

    if len({str(kept(one)) for one in every}) < len({str(one) for one in every}):
        omitted = frozenset()
    return lambda labels: labels_text(kept(labels) or labels) or "the only configuration"


def _following(configurations: Sequence[Mapping[str, Value]]) -> frozenset[str]:
    """Returns the keys whose value follows from the value of an earlier key that is kept. A key is
    kept if some configuration has it without the earlier key, or if its value is always the
    same."""
    keys = list(dict.fromkeys(key for one in configurations for key in one))
    found: set[str] = set()
    for place in reversed(range(len(keys))):
        later = keys[place]
        for earlier in keys[:place]:
            pairs = {(str(one.get(earlier)), str(one.get(later))) for one in configurations}
            values = {value for _, value in pairs}
            covered = all(earlier in one for one in configurations if later in one)
            if covered and len(values) > 1 and len(pairs) == len({key for key, _ in pairs}):
                found.add(later)
                break
    return frozenset(found)


def shared_text(
    group: Sequence[Mapping[str, Value]], configurations: Sequence[Mapping[str, Value]]
) -> str:
    """Returns a text that states how the configurations in `group` differ from all others in
    `configurations`. No other configuration fits the text.

    A key distinguishes the group if it has fewer values within the group than in `configurations`.
    The text lists the distinguishing keys with their values in the group, without those keys that
    the other keys make unnecessary. If other configurations
    have these values, too, or if the group lacks a combination of the values, the values of further
    keys follow in brackets, such as "clients 1; clients 2 (file size 4 KiB)". If no keys
    distinguish the group, the text names each configuration. If the group contains all
    configurations, the text says this, such as "all 3 configurations".
    """
    count = f"{len(group)} configurations" if len(group) > 1 else ""
    if len(group) == len(configurations):
        return f"all {count}" if count else "the only configuration"
    keys = list(dict.fromkeys(key for labels in configurations for key in labels))
    found = _difference(group, configurations, keys)
    if not found:
        return "; ".join(labels_text(labels) or "no key varied" for labels in group)
    return found + (f" ({count})" if count else "")


def _difference(
    group: Sequence[Mapping[str, Value]],
    configurations: Sequence[Mapping[str, Value]],
    keys: Sequence[str],
) -> str:
    """Returns the values of `keys` in `group` as text, if these values distinguish `group` from all
    other configurations; otherwise ""."""
    own = {key: list(dict.fromkeys(_value_text(one, key) for one in group)) for key in keys}
    every = {key: {_value_text(one, key) for one in configurations} for key in keys}
    narrow = [key for key in keys if len(own[key]) < len(every[key])]
    if _is_exact(group, configurations, narrow):
        # Keys that only some configurations set say the least, so they are left out first. Then
        # follow the keys with the most values, and of these the last.
        order = sorted(
            narrow, key=lambda one: (UNSET not in own[one], -len(own[one]), -narrow.index(one))
        )
        for key in order:
            fewer = [one for one in narrow if one != key]
            if _is_exact(group, configurations, fewer):
                narrow = fewer
        return "; ".join(f"{_words_of(key)} {', '.join(own[key])}" for key in narrow)
    varied = [key for key in keys if len(every[key]) > 1]
    if not varied:
        return ""
    first = min(varied, key=lambda key: (len(own[key]), len(every[key])))
    whole, parts = [], []
    for value in own[first]:
        chosen, others = (
            [one for one in some if _value_text(one, first) == value]
            for some in (group, configurations)
        )
        if len(chosen) == len(others):
            whole.append(value)
            continue
        further = _difference(chosen, others, [key for key in keys if key != first])
        if not further:
            return ""
        parts.append(f"{_words_of(first)} {value} ({further})")
    found = [f"{_words_of(first)} {', '.join(whole)}"] if whole else []
    return "; ".join([*found, *parts])


def _is_exact(
    group: Sequence[Mapping[str, Value]],
    configurations: Sequence[Mapping[str, Value]],
    keys: Sequence[str],
) -> bool:
    """Returns whether the values of `keys` in `group` fit no other configuration, and `group` has
    each combination of these values."""
    own = {key: {_value_text(one, key) for one in group} for key in keys}
    fitting = sum(all(_value_text(one, key) in own[key] for key in keys) for one in configurations)
    combinations = {tuple(_value_text(one, key) for key in keys) for one in group}
    is_product = len(combinations) == math.prod(len(values) for values in own.values())
    return bool(keys) and fitting == len(group) and is_product


def _value_text(labels: Mapping[str, Value], key: str) -> str:
    return str(labels[key]) if key in labels else UNSET


def _words_of(key: str) -> str:
    return key.rsplit(".", 1)[-1].replace("_", " ")


def _with_key(key: str, value: Value) -> str:
    if key == "clients":
        return "1 client" if value == 1 else f"{value} clients"
    return f"{key.replace('_', ' ')} {value}"
