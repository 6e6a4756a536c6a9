"""Plausibility rules that fire if the repetitions have a trend over time, or if the best repetition
was selected."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from dfslab.documents.evidence import Evidence
from dfslab.spec import units
from dfslab.studies.checks import rule
from dfslab.studies.checks.rule import Rule

NAMES = ("repetitions_trend", "best_of_many")
# Probability of a false alarm of the trend rule. Of the series of repetitions without a trend,
# about one in a thousand is therefore reported.
TREND_ERROR = 0.001
# A trend over repetitions is ignored if it is a relative change of less than this fraction, because
# such a trend changes no conclusion.
TREND_CHANGE = 0.1
BEST_CHANGE = 0.05
LEAST = 3
# Largest relative difference between a stated result and the result of the best run at which the
# two count as equal. Equal results may differ because results are printed with four digits.
EQUAL = 1e-3


def kendall(values: Sequence[float]) -> tuple[float, float]:
    """Tests whether values in the order of time have a trend (Mann-Kendall test). Returns
    (Kendall's tau, p-value). The p-value is the probability that tau is at least as far from 0, on
    either side, if there is no trend.

    The p-value follows from the exact distribution of the number of inversions. A tie counts as
    half an inversion. If the number of inversions is not whole, it is rounded towards no trend.
    """
    n = len(values)
    pairs = [(a, b) for i, a in enumerate(values) for b in values[i + 1 :]]
    score = sum((b > a) - (b < a) for a, b in pairs)
    counts = [1]
    for size in range(2, n + 1):
        counts = [
            sum(counts[k - j] for j in range(size) if 0 <= k - j < len(counts))
            for k in range(len(counts) + size - 1)
        ]
    most = n * (n - 1) // 2
    inversions = math.ceil((most - abs(score)) / 2)
    tail = sum(counts[: inversions + 1]) / math.factorial(n)
    return score / max(1, most), min(1.0, 2 * tail)


def _values(one: Evidence) -> tuple[Sequence[float], str]:
    found = one.repetitions
    return (found.throughputs, "B/s") if found.throughputs else (found.rates, "1/s")


def _trend(one: Evidence) -> str | None:
    values, unit = _values(one)
    if len(values) < LEAST or min(values) <= 0:
        return None
    tau, probability = kendall(values)
    third = max(1, len(values) // 3)
    first, last = statistics.mean(values[:third]), statistics.mean(values[-third:])
    if probability > TREND_ERROR or abs(last / first - 1) <= TREND_CHANGE:
        return None
    return (
        f"from {units.text(first, unit, 4)} to {units.text(last, unit, 4)} over {len(values)} "
        f"runs (tau {tau:+.2f}, probability without a trend {probability:.1g})"
    )


def _best(one: Evidence) -> str | None:
    values, unit = _values(one)
    stated = one.speed.throughput if unit == "B/s" else one.speed.rate
    if len(values) < LEAST or stated is None or min(values) <= 0:
        return None
    best, usual = max(values), statistics.median(values)
    if abs(stated / best - 1) > EQUAL or best / usual - 1 <= BEST_CHANGE:
        return None
    shown = units.text(usual, unit, 4)
    return f"{units.text(stated, unit, 4)} is the best of {len(values)} runs; the median is {shown}"


make = rule.table(
    Rule(
        "repetitions_trend",
        "Runs that change with time are no repetitions: caches fill, media age, neighbours move.",
        "Randomise the order, restore the state before each run, and go on until it is stable.",
        _trend,
    ),
    Rule(
        "best_of_many",
        "The best of many runs grows with their number; it is no expected figure.",
        "State the median with its interval.",
        _best,
    ),
).__getitem__
