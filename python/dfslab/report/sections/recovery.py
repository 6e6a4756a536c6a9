"""Loads under faults: the rate around each fault, the time to recover, what was lost."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from dfslab.report.plot import SEQUENCE, axis, chart, heading, words
from dfslab.report.table import DASH, note, number, seconds, table
from dfslab.result import Result
from dfslab.studies.contract import FinishedRun

TITLE = "Faults under load"
ORDER = 28
EMPTY = "No fault was asked for."
NOTE = (
    "Operations a second while clients ran; dotted lines are faults. Recovered is when half a "
    "second has four fifths of the rate before the fault again. Fewer counts operations below "
    "that rate until then. Every file whose last change was acknowledged is read back afterwards; "
    "a file is doubtful where it was not."
)
HEAD = [
    "configuration",
    "fault",
    "at",
    "before",
    "lowest",
    "silent",
    "recovered after",
    "fewer",
    "failed",
]
AUDIT = ("files", "whole", "missing", "wrong", "unreadable", "doubtful")


def render(study: FinishedRun) -> Markup | None:
    """A curve for each run with faults, and a table."""
    found = [result for result in study.of_method("measure") if result.detail.get("faults")]
    if not found:
        return None
    figures = [_figure(study, result) for result in found]
    rows = [row for result in found for row in _rows(study, result)]
    audits = [_audit(study, result) for result in found]
    tables = table(HEAD, rows, texts=2) + table(["configuration", *AUDIT], audits)
    return note(NOTE) + Markup("").join(figures) + tables


def _title(study: FinishedRun, result: Result) -> str:
    return f"{study.name(result.labels)}, run {result.repetition + 1}"


def _figure(study: FinishedRun, result: Result) -> Markup:
    told = result.detail["faults"]
    step_s = told["step_s"]
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": "operations per second",
        "x": [(place + 0.5) * step_s for place in range(len(told["rates_per_s"]))],
        "y": told["rates_per_s"],
        "line": {"color": SEQUENCE[0], "width": 2, "shape": "hvh"},
    }
    shapes = [
        {
            "type": "line",
            "x0": one["at_s"],
            "x1": one["at_s"],
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "line": {"color": SEQUENCE[1], "dash": "dot", "width": 1.5},
        }
        for one in told["done"]
    ]
    marks = [
        # Neighbours' words stand below each other.
        {
            "x": one["at_s"],
            "yref": "paper",
            "y": 1 - 0.12 * (turn % 2),
            "text": words(_fault(one)),
            "showarrow": False,
            "xanchor": "left",
            "yanchor": "top",
        }
        for turn, one in enumerate(told["done"])
    ]
    title = _title(study, result)
    layout = {
        "title": heading(title),
        "xaxis": axis("seconds after the start"),
        "yaxis": axis("operations per second", rangemode="tozero"),
        "shapes": shapes,
        "annotations": marks,
        "height": 260,
        "showlegend": False,
    }
    return chart([line], layout, f"rate under faults of {title}")


def _fault(one: dict[str, Any]) -> str:
    return f"{one['action']} {one['target']}"


def _rows(study: FinishedRun, result: Result) -> list[list[str]]:
    told = result.detail["faults"]

    def row(seen: dict[str, Any]) -> list[str]:
        return [
            _title(study, result),
            seen["fault"],
            seconds(seen["at_s"]),
            _rate(seen["before_per_s"]),
            _rate(seen["lowest_per_s"]),
            seconds(seen["silent_s"]),
            seconds(seen["recovered_after_s"]),
            _count(seen["shortfall"]),
            _count(seen["failed"]),
        ]

    return [row(seen) for seen in told["recoveries"]]


def _audit(study: FinishedRun, result: Result) -> list[str]:
    audit = result.detail["faults"]["audit"] or {}
    return [_title(study, result), *(_count(audit.get(key)) for key in AUDIT)]


def _rate(value: float | None) -> str:
    return DASH if value is None else f"{number(value)}/s"


def _count(value: float | None) -> str:
    return DASH if value is None else f"{value:,.0f}"
