"""States in one sentence which of several file systems is fastest, and by how much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

from dfslab.documents.table import number_text
from dfslab.method import MEASURE
from dfslab.report.answers.rates import by_configuration
from dfslab.result import Metric
from dfslab.studies.contract import FinishedRun
from dfslab.studies.systems import SystemsComparison, SystemsRow


def fastest(run: FinishedRun) -> str:
    """Returns a sentence on the fastest file system of a run. The fastest file system is the one
    that has the highest rate in the largest number of workloads.

    For each other file system, the sentence states the ratio (rate of the fastest system) / (rate
    of the other system). The sentence gives the median, the smallest and the largest ratio over the
    workloads that ran on both systems. Returns "" if the run does not compare file systems, or if
    no workload ran on two or more of them.
    """
    found = run.find(SystemsComparison)
    if found is None:
        return ""
    method = _method(found)
    rows = [_values(row) for row in _compared(found, method)]
    if not rows:
        return ""
    best, won = _most_wins(rows)
    factors = []
    for system in found.systems:
        ratios = [row[best] / row[system] for row in rows if best in row and system in row]
        if system != best and ratios:
            factors.append((median(ratios), min(ratios), max(ratios), system))
    parts = ", ".join(_factor(*one) for one in sorted(factors))
    rate = "measured rate" if method == MEASURE else f"rate that {method} predicts"
    text = f"By the {rate}, {best} is fastest in {won} of {len(rows)} workloads: {parts}"
    return f"{text} (median; smallest to largest).{_noise(run)}"


def beyond_noise(run: FinishedRun) -> str:
    """Returns a sentence on the measured differences between file systems that the noise does not
    explain. The sentence states in how many workloads the 90 % interval of the fastest file
    system's rate is above the intervals of all other file systems. Returns "" if the run does not
    compare file systems, or if the intervals overlap in all workloads."""
    found = run.find(SystemsComparison)
    rows = [] if found is None else _compared(found, MEASURE)
    if found is None or not rows:
        return ""
    best, _ = _most_wins([_values(row) for row in rows])
    parts = []
    for system in found.systems:
        both = [row.values for row in rows if best in row.values and system in row.values]
        apart = sum(_is_above(values[best], values[system]) for values in both)
        if system != best and apart:
            parts.append(f"{system} in {apart} of {len(both)} workloads")
    if not parts:
        return ""
    return f"Beyond the noise (90 % intervals apart), {best} is faster than {', '.join(parts)}."


def _is_above(one: Metric, other: Metric) -> bool:
    return one.low is not None and other.high is not None and one.low > other.high


def _compared(found: SystemsComparison, method: str) -> list[SystemsRow]:
    """Returns the rows with the rates of one method on two or more file systems."""
    rows = [row for row in found.rows if (row.measure, row.method) == ("rate", method)]
    return [row for row in rows if len(_values(row)) > 1]


def _most_wins(rows: Sequence[Mapping[str, float]]) -> tuple[str, int]:
    """Returns (file system that is fastest in most rows, number of these rows)."""
    wins = Counter(max(row, key=lambda system: row[system]) for row in rows)
    return wins.most_common(1)[0]


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
