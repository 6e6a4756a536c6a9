"""Reads the tables of public measurements. Computes the kinds of figures that several tables have:
medians, ratios and coverages."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from math import exp, log
from statistics import median

from verification.figures import Figure
from verification.recordings import path_of

Row = dict[str, str]


def rows(table: str) -> list[Row]:
    """Returns the rows of a table of verification/data, each as a dictionary from column to
    text."""
    with path_of(table).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def known(row: Row, column: str) -> float | None:
    """Returns the number in a column of a row, or None if the source does not give the number."""
    return float(row[column]) if row[column] else None


def factor(predicted: float, measured: float) -> float:
    """Returns max(predicted / measured, measured / predicted)."""
    return exp(abs(log(predicted / measured)))


def figure(table: str, bar: str, part: str, value: float, points: int) -> Figure:
    """Returns a figure of a table; `bar` is the name of its bar without "truth."."""
    return Figure("truth", table, f"truth.{bar}", part, float(value), points)


def error_figures(
    table: str, bar: str, part: str, errors: Sequence[float], baseline: Sequence[float]
) -> list[Figure]:
    """Returns two figures. The first is the median absolute error of predictions. The second is
    this error divided by the median absolute error of a baseline on the same rows."""
    assert len(errors) == len(baseline), "the baseline predicts the same rows"
    own, other = (median(map(abs, some)) for some in (errors, baseline))
    return [
        figure(table, bar, part, own, len(errors)),
        figure(table, "over-baseline", f"{bar}: {part}", own / other, len(errors)),
    ]


def factor_figures(
    table: str, bar: str, part: str, factors: Sequence[float], baseline: Sequence[float]
) -> list[Figure]:
    """Returns two figures. The first is the median factor f between predicted and measured values.
    The second is ln f divided by ln f of a baseline on the same rows."""
    assert len(factors) == len(baseline), "the baseline predicts the same rows"
    own, other = median(factors), median(baseline)
    return [
        figure(table, bar, part, own, len(factors)),
        figure(table, "over-baseline", f"{bar}: {part}", log(own) / log(other), len(factors)),
    ]
