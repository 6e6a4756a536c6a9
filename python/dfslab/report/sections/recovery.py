"""Renders the section on workload runs under faults: the rate around each fault, the recovery
time, and lost data."""

from __future__ import annotations

from markupsafe import Markup

from dfslab.documents.measured_load import FaultReport
from dfslab.documents.table import Tab, Table, TableCell, absent, count, heads, rate, seconds, words
from dfslab.report.charts import palette
from dfslab.report.charts.figure import Axis, Panel, Series, VerticalLine
from dfslab.report.charts.svg import figure
from dfslab.report.contract import PageSection
from dfslab.report.page_table import drawn, note
from dfslab.result import Result
from dfslab.studies.contract import FinishedRun

TITLE = "Faults under load"
ORDER = 28
EMPTY = "No fault was requested."
NOTE = (
    "Operations a second while clients ran; dotted lines are faults. Recovered is when half a "
    "second has four fifths of the rate before the fault again. Fewer counts operations below "
    "that rate until then. Every file whose last change was acknowledged is read back afterwards; "
    "a file is doubtful where it was not."
)
COLUMNS = heads(
    "configuration",
    "fault",
    "at",
    "before",
    "lowest",
    "silent",
    "recovered after",
    "fewer",
    "failed",
    left=["fault"],
)
AUDIT = ("files", "whole", "missing", "wrong", "unreadable", "doubtful")


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: a curve for each run with faults, and a table. None if no run had faults."""
    found = [
        (result, load.faults)
        for result in study.of_method("measure")
        if (load := result.load) and load.faults
    ]
    if not found:
        return None
    figures = [_figure(_title(study, result), faults) for result, faults in found]
    rows = [row for result, faults in found for row in _rows(_title(study, result), faults)]
    audits = [_audit(_title(study, result), faults) for result, faults in found]
    tables = drawn(Table("Recovery from faults", COLUMNS, rows))
    tables += drawn(Table("Files after the faults", heads("configuration", *AUDIT), audits))
    return note(NOTE) + Markup("").join(figures) + tables


def _title(study: FinishedRun, result: Result) -> str:
    return f"{study.name(result.labels)}, run {result.repetition + 1}"


def _figure(title: str, faults: FaultReport) -> Markup:
    line = Series(
        "",
        palette.SEQUENCE[0],
        [(place + 0.5) * faults.step_s for place in range(len(faults.rates_per_s))],
        faults.rates_per_s,
        line="solid",
        stepped=True,
    )
    vertical_lines = [VerticalLine(one.at_s, one.text()) for one in faults.done]
    return figure(
        [Panel("", [line], vertical_lines=vertical_lines)],
        Axis("time after the start", "s"),
        Axis("operations per second", "1/s", from_zero=True),
        f"rate under faults of {title}",
        title,
    )


def _rows(title: str, faults: FaultReport) -> list[list[TableCell]]:
    return [
        [
            words(title),
            words(one.fault),
            seconds(one.at_s),
            rate(one.before_per_s),
            rate(one.lowest_per_s),
            seconds(one.silent_s),
            seconds(one.recovered_after_s),
            _count(one.shortfall),
            _count(one.failed),
        ]
        for one in faults.recoveries
    ]


def _audit(title: str, faults: FaultReport) -> list[TableCell]:
    """Returns a table row: `title`, and then the number of files in each state of AUDIT, as found
    by the audit. The audit checks files whose last change was acknowledged. Without an audit, the
    row has dashes."""
    one = faults.audit
    if one is None:
        return [words(title), *(absent() for _ in AUDIT)]
    files = (one.files, one.whole, one.missing, one.wrong, one.unreadable, one.doubtful)
    return [words(title), *map(count, files)]


def _count(value: float | None) -> TableCell:
    return absent() if value is None else TableCell(value, f"{value:,.0f}")


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.THROUGHPUT)
