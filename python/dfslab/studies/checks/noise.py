"""The differences between equal runs, and the smallest difference that a given number of runs can
detect.

Rates differ by factors, so all computations use their logarithms. The smallest detectable
difference is computed for a two-sided test at 5 % with a power of 80 % (Cohen 1988, section 2.4,
with Student's t).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from dfslab import quantiles
from dfslab.documents import metrics
from dfslab.documents.table import (
    Table,
    TableCell,
    absent,
    count,
    heads,
    labels_text,
    percent,
    words,
)
from dfslab.method import MEASURE
from dfslab.result import Result
from dfslab.spec.design import LevelValue

SIGNIFICANCE, POWER = 0.05, 0.8
# Noise above which no conclusion is drawn. The number is a choice: with this noise, a gain of a
# quarter is within the noise of three repetitions.
TOO_NOISY = 0.2
# The probability that two equal runs differ by less than `NoiseFloor.spread`. For normally
# distributed noise, 90 % of the pairs of runs differ by less than 1.645 × sqrt(2) standard
# deviations, and 50 % by less than 0.6745 × sqrt(2) standard deviations.
COVERED = 0.9


class NoiseFloor(BaseModel):
    """The noise of one configuration's rate.

    - `runs`: number of runs, or of pairs of runs.
    - `noise`: standard deviation as `noise_of` defines it; None in records of earlier versions.
    - `spread`: two equal runs differ by less than this fraction in nine of ten cases.
    - `detectable`: smallest difference, as a fraction, that a comparison of two series of `runs`
      runs each detects with a probability of 80 %.
    - `bias`: mean relative difference of the second run of an A/A pair from the first run, with its
      95 % interval; None if no pairs were made.
    """

    labels: dict[str, str]
    runs: int
    noise: float | None = None
    spread: float
    detectable: float
    bias: float | None = None
    bias_low: float | None = None
    bias_high: float | None = None

    @property
    def is_biased(self) -> bool:
        """Whether the second run of a pair differs systematically from the first: true if the
        interval of the bias does not contain 0. False if no pairs were made."""
        if self.bias_low is None or self.bias_high is None:
            return False
        return not self.bias_low <= 0 <= self.bias_high


def noise_of(results: Sequence[Result], metric: str = metrics.RATE) -> float | None:
    """Returns the noise of a run as a fraction: the relative standard deviation between repetitions
    of one configuration. Returns None if no configuration was measured more than once.

    The repetitions of all configurations are pooled. A median over configurations would not show
    that the repetitions of a few configurations differ widely. Every page, command and study that
    states the noise of a run states this number.
    """
    known = pooled_sd(list(_values(results, metric).values()))
    return None if known is None else math.expm1(known[0])


def pooled_sd(groups: Sequence[Sequence[float]]) -> tuple[float, int] | None:
    """Returns (standard deviation, degrees of freedom) of the logarithms of repeated measurements,
    pooled over all groups. A group has the positive values of one configuration. The logarithms are
    natural. Returns None if every group has fewer than two values."""
    repeated = [own for own in groups if len(own) > 1]
    freedom = sum(len(own) - 1 for own in repeated)
    if not freedom:
        return None
    squares = [
        (len(own) - 1) * statistics.variance([math.log(value) for value in own]) for own in repeated
    ]
    return math.sqrt(math.fsum(squares) / freedom), freedom


def noisiest(results: Sequence[Result]) -> Mapping[str, LevelValue]:
    """Returns the labels (varied keys with their values) of the configuration whose repeated rates
    differ by the largest factor; an empty dictionary if no configuration was measured more than
    once."""
    factors = {name: max(own) / min(own) for name, own in _values(results, metrics.RATE).items()}
    worst = max(factors, key=lambda name: factors[name], default=None)
    return next((one.labels for one in results if one.point_id == worst), {})


def of_repetitions(results: Sequence[Result]) -> list[NoiseFloor]:
    """Returns the noise of every configuration that was run more than once. One standard deviation
    is estimated from all these configurations together and is used for each of them, because two or
    three runs of one configuration are too few for an estimate."""
    groups = {name: own for name, own in _values(results, metrics.RATE).items() if len(own) > 1}
    known = pooled_sd(list(groups.values()))
    if known is None:
        return []
    sd, freedom = known
    labels = {one.point_id: one for one in results}
    return [
        NoiseFloor(
            labels=_labels(labels[name]),
            runs=len(own),
            noise=math.expm1(sd),
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
    for name, rates in _values(results, metrics.RATE).items():
        pairs = list(zip(rates[::2], rates[1::2], strict=False))
        if len(pairs) < 2:
            continue
        differences = [math.log(second / first) for first, second in pairs]
        sd, mean = statistics.stdev(differences), statistics.mean(differences)
        freedom, error = len(pairs) - 1, statistics.stdev(differences) / math.sqrt(len(pairs))
        half = _student(1 - SIGNIFICANCE / 2, freedom) * error
        found.append(
            NoiseFloor(
                labels=_labels(labels[name]),
                runs=len(pairs),
                noise=math.expm1(sd / math.sqrt(2)),
                spread=_spread(sd / math.sqrt(2), freedom),
                detectable=_detectable(error, freedom),
                bias=math.expm1(mean),
                bias_low=math.expm1(mean - half),
                bias_high=math.expm1(mean + half),
            )
        )
    return found


def _labels(result: Result) -> dict[str, str]:
    return {key: str(value) for key, value in result.labels.items()}


def _values(results: Sequence[Result], metric: str) -> dict[str, list[float]]:
    """Returns the values of a metric by the id of the configuration. Only positive values of
    complete measurements are included, in the order of time."""
    groups: dict[str, list[float]] = {}
    whole = [
        one
        for one in results
        if one.method == MEASURE and one.complete and one.metrics.get(metric) is not None
    ]
    for one in sorted(whole, key=lambda one: (one.provenance.started, one.repetition)):
        value = one.value(metric)
        if value > 0:
            groups.setdefault(one.point_id, []).append(value)
    return groups


def _student(probability: float, freedom: int) -> float:
    return float(quantiles.student(probability, freedom))


def _spread(sd: float, freedom: int) -> float:
    return math.expm1(_student((1 + COVERED) / 2, freedom) * math.sqrt(2) * sd)


def _detectable(error: float, freedom: int) -> float:
    both = _student(1 - SIGNIFICANCE / 2, freedom) + _student(POWER, freedom)
    return math.expm1(both * error)


def _named(group: Sequence[NoiseFloor]) -> str:
    """Returns the text that names the row of a group. The text is the group's configuration if
    there is only one, otherwise the number of configurations."""
    if len(group) > 1:
        return f"each of {len(group)} configurations"
    return labels_text(dict(group[0].labels)) or "all"


def noise_table(found: Sequence[NoiseFloor]) -> Table:
    """Returns a table of noise, with one row for all configurations that have the same values.

    The columns are the number of runs, their noise, the spread between two runs, and the smallest
    difference that can be detected. If runs were made in pairs, a further column has the bias
    between the two runs of a pair.
    """
    has_pairs = any(one.bias is not None for one in found)
    rows: list[Sequence[TableCell]] = []
    groups: dict[str, list[NoiseFloor]] = {}
    for one in found:
        groups.setdefault(one.model_dump_json(exclude={"labels"}), []).append(one)
    for group in groups.values():
        one = group[0]
        row = [words(_named(group)), count(one.runs)]
        row += [absent() if one.noise is None else percent(one.noise)]
        row += [percent(one.spread), percent(one.detectable)]
        rows.append((*row, _bias(one)) if has_pairs else row)
    runs = "pairs" if has_pairs else "runs"
    columns = heads(
        "configuration",
        runs,
        "noise",
        "9 of 10 pairs",
        "detectable",
        *(["second ÷ first"] if has_pairs else []),
    )
    notes = [
        "noise: standard deviation between repetitions of one configuration",
        "9 of 10 pairs: two equal runs differ by less in nine of ten cases",
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
