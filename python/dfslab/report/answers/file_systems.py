"""States in one sentence which of several file systems is fastest, and by how much."""

from __future__ import annotations

from collections import Counter
from statistics import median

from dfslab.documents.table import number_text
from dfslab.method import MEASURE
from dfslab.report.answers.rates import by_configuration
from dfslab.studies.contract import FinishedRun
from dfslab.studies.systems import SystemsComparison, SystemsRow


def fastest(run: FinishedRun) -> str:
    """Returns a sentence on the fastest file system of a run. It is the file system with the
    highest rate in the largest number of workloads.

    For each other file system, the sentence states the ratio (rate of the fastest system) / (rate
    of the other system). It gives the median, the smallest and the largest ratio over the workloads
    that ran on both systems. Returns "" if the run does not compare file systems, or if no workload
    ran on two or more of them.
    """
    found = run.find(SystemsComparison)
    if found is None:
        return ""
    method = _method(found)
    rows = [_values(row) for row in found.rows if (row.measure, row.method) == ("rate", method)]
    rows = [row for row in rows if len(row) > 1]
    if not rows:
        return ""
    wins = Counter(max(row, key=lambda system: row[system]) for row in rows)
    best, won = wins.most_common(1)[0]
    factors = []
    for system in found.systems:
        ratios = [row[best] / row[system] for row in rows if best in row and system in row]
        if system != best and ratios:
            factors.append((median(ratios), min(ratios), max(ratios), system))
    parts = ", ".join(_factor(*one) for one in sorted(factors))
    rate = "measured rate" if method == MEASURE else f"rate that {method} predicts"
    text = f"By the {rate}, {best} is fastest in {won} of {len(rows)} workloads: {parts}"
    return f"{text} (median; smallest to largest).{_noise(run)}"


def _method(found: SystemsComparison) -> str:
    """Returns the method whose rates are compared: `measure` or, if nothing was measured, the first
    method with rates; "" if there is none."""
    methods = [row.method for row in found.rows if row.measure == "rate"]
    return MEASURE if MEASURE in methods else next(iter(methods), "")


def _values(row: SystemsRow) -> dict[str, float]:
    """Returns the rate per second on each file system for one workload."""
    return {system: one.value for system, one in row.values.items() if one.value > 0}


def _factor(middle: float, low: float, high: float, system: str) -> str:
    return f"{number_text(middle)} times {system} ({number_text(low)} to {number_text(high)})"


def _noise(run: FinishedRun) -> str:
    """Returns a sentence that each configuration was measured only once; "" if some configuration
    was measured more than once, or if nothing was measured."""
    repeated = [len(one.results) for one in by_configuration(run.of_method(MEASURE))]
    if not repeated or max(repeated) > 1:
        return ""
    return " Each configuration ran once, so small differences may be noise."
