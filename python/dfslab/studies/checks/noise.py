"""The differences between equal runs, and the smallest difference that a given number of runs can
detect.

Rates differ by factors, so all computations use their logarithms. The smallest detectable
difference is computed for a two-sided test at 5 % with a power of 80 % (Cohen 1988, section 2.4,
with Student's t).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from pydantic import BaseModel

from dfslab import quantiles
from dfslab.documents import metrics
from dfslab.documents.table import Table, TableCell, count, heads, labels_text, percent, words
from dfslab.method import MEASURE
from dfslab.result import Result

SIGNIFICANCE, POWER = 0.05, 0.8
# Two equal runs differ by less than `NoiseFloor.spread` with this probability. For normally
# distributed noise, nine tenths of the pairs of runs differ by less than 1.645 × sqrt(2) standard
# deviations (half of the pairs by less than 0.6745 × sqrt(2)).
COVERED = 0.9


class NoiseFloor(BaseModel):
    """The noise of one configuration's rate.

    `runs`: number of runs, or of pairs of runs. `spread`: two equal runs differ by less than this
    fraction in nine of ten cases. `detectable`: smallest difference, as a fraction, that a
    comparison of two such series of runs detects with a probability of 80 %. `bias`: mean relative
    difference of the second run of an A/A pair from the first run, with its 95 % interval; None if
    no pairs were made.
    """

    labels: dict[str, str]
    runs: int
    spread: float
    detectable: float
    bias: float | None = None
    bias_low: float | None = None
    bias_high: float | None = None

    @property
    def is_biased(self) -> bool:
        """Whether the second run of a pair differs systematically from the first, that is, whether
        the interval of the bias does not contain 0. False if no pairs were made."""
        if self.bias_low is None or self.bias_high is None:
            return False
        return not self.bias_low <= 0 <= self.bias_high


def of_repetitions(results: Sequence[Result]) -> list[NoiseFloor]:
    """Returns the noise of every configuration that was run more than once. All configurations have
    the same spread, which is estimated from all of them together, because two or three runs of one
    configuration are too few for an estimate."""
    groups = {name: own for name, own in _rates(results).items() if len(own) > 1}
    freedom = sum(len(own) - 1 for own in groups.values())
    if not freedom:
        return []
    logs = [[math.log(rate) for rate in own] for own in groups.values()]
    squares = sum((len(own) - 1) * statistics.variance(own) for own in logs)
    sd = math.sqrt(squares / freedom)
    labels = {one.point_id: one for one in results}
    return [
        NoiseFloor(
            labels={key: str(value) for key, value in labels[name].labels.items()},
            runs=len(own),
            spread=_spread(sd, freedom),
            detectable=_detectable(sd * math.sqrt(2 / len(own)), freedom),
        )
        for name, own in groups.items()
    ]


def of_pairs(results: Sequence[Result]) -> list[NoiseFloor]:
    """Returns the noise of every configuration from A/A pairs, that is, pairs of consecutive runs
    of the same configuration. A configuration with fewer than two pairs is left out.

    The runs of a pair are minutes apart, so a slow drift of the machine does not affect their
    difference.
    """
    labels = {one.point_id: one for one in results}
    found = []
    for name, rates in _rates(results).items():
        pairs = list(zip(rates[::2], rates[1::2], strict=False))
        if len(pairs) < 2:
            continue
        differences = [math.log(second / first) for first, second in pairs]
        sd, mean = statistics.stdev(differences), statistics.mean(differences)
        freedom, error = len(pairs) - 1, statistics.stdev(differences) / math.sqrt(len(pairs))
        half = _student(1 - SIGNIFICANCE / 2, freedom) * error
        found.append(
            NoiseFloor(
                labels={key: str(value) for key, value in labels[name].labels.items()},
                runs=len(pairs),
                spread=_spread(sd / math.sqrt(2), freedom),
                detectable=_detectable(error, freedom),
                bias=math.expm1(mean),
                bias_low=math.expm1(mean - half),
                bias_high=math.expm1(mean + half),
            )
        )
    return found


def _rates(results: Sequence[Result]) -> dict[str, list[float]]:
    """Returns a dictionary from the id of each configuration to the rates of its complete
    measurements, in the order of time."""
    groups: dict[str, list[float]] = {}
    whole = [
        one
        for one in results
        if one.method == MEASURE and one.complete and one.metrics.get(metrics.RATE) is not None
    ]
    for one in sorted(whole, key=lambda one: (one.provenance.started, one.repetition)):
        rate = one.value(metrics.RATE)
        if rate > 0:
            groups.setdefault(one.point_id, []).append(rate)
    return groups


def _student(probability: float, freedom: int) -> float:
    return float(quantiles.student(probability, freedom))


def _spread(sd: float, freedom: int) -> float:
    return math.expm1(_student((1 + COVERED) / 2, freedom) * math.sqrt(2) * sd)


def _detectable(error: float, freedom: int) -> float:
    both = _student(1 - SIGNIFICANCE / 2, freedom) + _student(POWER, freedom)
    return math.expm1(both * error)


def _named(group: Sequence[NoiseFloor]) -> str:
    """Returns the text that names the row of a group: its configuration or, if the group has
    several, the number of its configurations."""
    if len(group) > 1:
        return f"each of {len(group)} configurations"
    return labels_text(dict(group[0].labels)) or "all"


def noise_table(found: Sequence[NoiseFloor]) -> Table:
    """Returns a table of noise, with one row for all configurations that have the same values.

    The columns are the number of runs, the spread between the runs, the smallest difference that
    can be detected, and, if runs were made in pairs, the bias between the two runs of a pair.
    """
    has_pairs = any(one.bias is not None for one in found)
    rows: list[Sequence[TableCell]] = []
    groups: dict[str, list[NoiseFloor]] = {}
    for one in found:
        groups.setdefault(one.model_dump_json(exclude={"labels"}), []).append(one)
    for group in groups.values():
        one = group[0]
        row = [words(_named(group)), count(one.runs)]
        row += [percent(one.spread), percent(one.detectable)]
        rows.append((*row, _bias(one)) if has_pairs else row)
    runs = "pairs" if has_pairs else "runs"
    columns = heads(
        "configuration", runs, "noise", "detectable", *(["second ÷ first"] if has_pairs else [])
    )
    notes = [
        "noise: two equal runs differ by less in nine of ten cases",
        "detectable: the smallest difference that a comparison of as many runs shows, at 5 % with "
        "a power of 80 %",
    ]
    return Table("Noise floor of the rate", columns, rows, notes)


def _bias(one: NoiseFloor) -> TableCell:
    if one.bias is None or one.bias_low is None or one.bias_high is None:
        return words("")
    interval = f"{one.bias_low:+.1%} to {one.bias_high:+.1%}"
    verdict = ": biased" if one.is_biased else ""
    return TableCell(
        one.bias, f"{one.bias:+.1%} ({interval}){verdict}", "", one.bias_low, one.bias_high
    )
