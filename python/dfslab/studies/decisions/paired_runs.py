"""Compares two runs. The effects are paired, have intervals, and are corrected for the number of
comparisons.

The effect on a metric at a configuration is the ratio of two geometric means: that of the second
run to that of the first run. Its variance is computed from the configuration's repetitions or
pooled over all configurations, whichever variance is larger. The reason is that few repetitions may
agree by chance. Holm's method keeps the probability of any false verdict below FALSE_SHARE.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import BaseModel

from dfslab import quantiles
from dfslab.documents.metrics import LATENCY, RATE, is_time, parsed, time_name
from dfslab.documents.table import Column, Table, TableCell, labels_text, number_text, words
from dfslab.method import CONFIDENCE
from dfslab.result import Result
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.studies.decisions.fail_rules import FailRule

RunVerdict = Literal["higher", "lower", "no difference found", "cannot tell"]
# Probability that the comparison of two equal runs reports any difference.
FALSE_SHARE = 0.002
# Probability with which a difference of the smallest detectable size is found.
POWER = 0.80
# Limit of the smallest detectable relative change (the median over all metrics and configurations).
# If a comparison finds no difference and the limit is exceeded, the comparison is inconclusive.
NOTHING_FOUND = 1.0
# Smallest assumed standard deviation of a metric's natural logarithm, because clocks and counters
# are not more precise.
LEAST_LOG_SD = 0.001
_NOT_REPEATED = "no configuration was measured twice, so the noise is not known"
# The statistics of an operation's time that are compared.
TIMES = frozenset(time_name(LATENCY, one) for one in ("mean", "p50", "p90", "p99"))
# Beginnings of varied keys that are ignored when configurations of two runs are paired. At first,
# all varied keys must be equal. If this yields no pair, keys that begin with "file_system." or
# "deployment." are ignored.
_IGNORED: tuple[tuple[str, ...], ...] = ((), ("file_system.", "deployment."))


class ComparedMetric(BaseModel):
    """One metric at one configuration in two runs. `change`: value after / value before - 1, with
    its 90 % interval.

    `adjusted`: p-value, corrected for the number of comparisons between the two runs. `detectable`:
    the smallest relative change that would be found with a probability of 80 %. Both, and the
    interval, are None if nothing was measured twice.
    """

    configuration: str
    metric: str
    before: float
    after: float
    change: float
    low: float | None = None
    high: float | None = None
    adjusted: float | None = None
    detectable: float | None = None
    verdict: RunVerdict


class ComparedRuns(BaseModel):
    """The comparison of two runs. `noise`: relative standard deviation of the rate between
    repetitions; if no rate was compared, the relative standard deviation of the noisiest metric.
    None if nothing was measured twice. `failed`: one sentence for each violation of a rule of
    --fail-if."""

    before: str
    after: str
    rows: list[ComparedMetric]
    noise: float | None
    failed: list[str]
    notes: list[str]

    def sentences(self) -> list[str]:
        """The comparison in sentences: what differs, and what size of difference would have been
        found."""
        found = [one for one in self.rows if one.verdict in ("higher", "lower")]
        if self.noise is None:
            return [f"{_largest(self.rows)} The noise is not known."]
        known = [one.detectable for one in self.rows if one.detectable is not None]
        smallest = float(np.median(known))
        power = (
            f"Repeated rates differ by {_percent(self.noise)}; a change of {_percent(smallest)} "
            "would be found with 80 %."
        )
        if not found and smallest > NOTHING_FOUND:
            head = (
                f"Inconclusive: in {len(self.rows)} comparisons no difference stood out from noise."
            )
            power = (
                f"Repeated rates differ by {_percent(self.noise)}, and only a change by more than "
                f"a factor of {1 + NOTHING_FOUND:g} would be found; measure more repetitions "
                "(run.repetitions)."
            )
        elif not found:
            head = f"No difference found in {len(self.rows)} comparisons."
        else:
            largest = max(found, key=lambda one: abs(math.log1p(one.change)))
            head = (
                f"{len(found)} of {len(self.rows)} comparisons differ; most: {largest.metric} at "
                f"{largest.configuration}, {_signed(largest.change)}."
            )
        return [head, power, *(f"Fails: {rule}" for rule in self.failed)]

    def table(self) -> Table:
        """Returns a table with one row for each metric and configuration, significant differences
        first."""
        columns = [
            Column("configuration", "left"),
            Column("metric", "left"),
            Column("change (90 %)"),
        ]
        columns += [Column("p, adjusted"), Column("verdict", "left")]
        ordered = sorted(self.rows, key=lambda one: one.adjusted or 0.0)
        rows = [
            (
                words(one.configuration),
                words(one.metric),
                TableCell(one.change, _change_text(one), low=one.low, high=one.high),
                TableCell(one.adjusted, number_text(one.adjusted)),
                words(one.verdict),
            )
            for one in ordered
        ]
        return Table(f"{self.after} compared with {self.before}", columns, rows, self.notes)


def _change_text(one: ComparedMetric) -> str:
    """Returns a change with its interval as text; without an interval, the values before and
    after."""
    if one.low is None or one.high is None:
        return f"{_signed(one.change)} ({number_text(one.before)} to {number_text(one.after)})"
    return f"{_signed(one.change)} ({_signed(one.low)} to {_signed(one.high)})"


def _largest(rows: Sequence[ComparedMetric]) -> str:
    """Returns a sentence with the largest change."""
    largest = max(rows, key=lambda one: abs(math.log1p(one.change)))
    return (
        f"The largest of {len(rows)} differences: {largest.metric} at {largest.configuration}, "
        f"{_signed(largest.change)}."
    )


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def _signed(share: float) -> str:
    return f"{share:+.1%}".replace("%", " %")


@dataclass(frozen=True)
class _Pair:
    """The values of one metric at one configuration in both runs: the natural logarithm of each
    repetition before and after."""

    configuration: str
    metric: str
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def freedom(self) -> int:
        return len(self.before) + len(self.after) - 2

    @property
    def squares(self) -> float:
        return sum(len(one) * float(np.var(one)) for one in (self.before, self.after))

    @property
    def effect(self) -> float:
        return float(np.mean(self.after) - np.mean(self.before))

    @property
    def per_run(self) -> float:
        """Returns 1 / (repetitions before) + 1 / (repetitions after). The variance of the log
        effect is this sum times the variance of a single repetition."""
        return 1 / len(self.before) + 1 / len(self.after)


def compare_runs(
    before: Sequence[Result],
    after: Sequence[Result],
    names: tuple[str, str],
    rules: Sequence[FailRule] = (),
) -> ComparedRuns:
    """Compares the measurements of two runs, configuration by configuration.

    If no configuration was measured twice, the differences have no intervals, and no rule of
    --fail-if can be decided. Raises InputError if no configuration was measured in both runs, or if
    there are rules that cannot be decided.
    """
    pairs = _pairs(before, after)
    if not pairs:
        raise InputError("B", names[1], f"has no measured configuration of {names[0]}")
    if not any(one.freedom for one in pairs):
        if rules:
            allowed = f"cannot be decided: {_NOT_REPEATED}; {_how_to_repeat([*before, *after])}"
            raise InputError("--fail-if", ", ".join(one.text for one in rules), allowed)
        return _unrepeated(pairs, names, _how_to_repeat([*before, *after]))
    pooled = _pooled(pairs)
    rows = _judged([_tested(one, pooled[one.metric], len(pairs)) for one in pairs])
    return ComparedRuns(
        before=names[0],
        after=names[1],
        rows=rows,
        noise=math.expm1(math.sqrt(pooled.get(RATE, max(pooled.values())))),
        failed=[text for rule in rules for text in _failing(rule, rows)],
        notes=[f"Verdicts: the probability of any false one is {_percent(FALSE_SHARE)} (Holm)."],
    )


def _how_to_repeat(results: Sequence[Result]) -> str:
    """Returns what the user can do so that configurations are measured more than once."""
    if any(one.is_imported for one in results):
        return "`dfslab import FILE FILE` imports equal runs of a tool as repetitions"
    return "--set run.repetitions=3 repeats each"


def _unrepeated(pairs: Sequence[_Pair], names: tuple[str, str], remedy: str) -> ComparedRuns:
    """Returns the differences between two runs that measured each configuration once. Their noise
    is unknown, so they have no intervals and no verdicts."""
    rows = [
        ComparedMetric(
            configuration=one.configuration,
            metric=one.metric,
            before=math.exp(one.before[0]),
            after=math.exp(one.after[0]),
            change=math.expm1(one.effect),
            verdict="cannot tell",
        )
        for one in pairs
    ]
    stated = f"Differences without intervals or verdicts: {_NOT_REPEATED}; {remedy}."
    return ComparedRuns(
        before=names[0], after=names[1], rows=rows, noise=None, failed=[], notes=[stated]
    )


def _pairs(before: Sequence[Result], after: Sequence[Result]) -> list[_Pair]:
    """Returns one pair for every metric and configuration that both runs measured. If no
    configuration is in both runs, those that differ only in the file system or the deployment are
    paired."""
    for without in _IGNORED:
        first, second = (_logs(results, without) for results in (before, after))
        found = [
            _Pair(configuration, metric, values, second[configuration, metric])
            for (configuration, metric), values in first.items()
            if (configuration, metric) in second
        ]
        if found:
            return found
    return []


def check_comparable(first: Scenario, second: Scenario) -> None:
    """Checks that the runs of two scenarios can be compared. Raises InputError in these cases:
    - A scenario does not measure.
    - A scenario measures each configuration only once, so that the noise is unknown.
    - No configuration is in both scenarios."""
    for scenario in (first, second):
        if "measure" not in scenario.run.methods:
            allowed = 'must contain "measure", because two measured runs are compared'
            raise InputError("run.methods", ", ".join(scenario.run.methods), allowed)
        if scenario.run.repetitions < 2:
            allowed = f"must be 2 or more in {scenario.name}, so that noise is known"
            raise InputError("run.repetitions", scenario.run.repetitions, allowed)
    points = [scenario.points() for scenario in (first, second)]
    for without in _IGNORED:
        names = [{_name(one.labels, without) for one in own} for own in points]
        if names[0] & names[1]:
            return
    allowed = f"has no configuration of {first.name}: sweeps must vary the same keys"
    raise InputError("--against", second.name, allowed)


def _name(labels: Mapping[str, LevelValue], without: tuple[str, ...]) -> str:
    """Returns the name of a configuration. Varied keys that begin with one of the texts in
    `without` are left out of the name."""
    kept = {key: value for key, value in labels.items() if not key.startswith(without)}
    return labels_text(kept) or "the only configuration"


def _logs(
    results: Sequence[Result], without: tuple[str, ...]
) -> dict[tuple[str, str], tuple[float, ...]]:
    found: dict[tuple[str, str], list[float]] = {}
    for one in results:
        if one.method != "measure" or not one.complete:
            continue
        name = _name(one.labels, without)
        for metric, value in _compared(one).items():
            if value > 0:
                found.setdefault((name, metric), []).append(math.log(value))
    return {key: tuple(values) for key, values in found.items()}


def _compared(result: Result) -> Mapping[str, float]:
    """Returns the metrics of a result that are compared: the rate, and the times of each
    operation."""
    found = {RATE: result.value()} if RATE in result.metrics else {}
    for text, metric in result.metrics.items():
        if is_time(text) and parsed(text).name in TIMES:
            found[text] = metric.value
    return found


def _pooled(pairs: Sequence[_Pair]) -> dict[str, float]:
    """Returns a dictionary from each metric to the variance of the natural logarithms of its
    repetitions, pooled over all configurations."""
    found = {}
    for metric in {one.metric for one in pairs}:
        own = [one for one in pairs if one.metric == metric]
        freedom = sum(one.freedom for one in own)
        variance = sum(one.squares for one in own) / freedom if freedom else 0.0
        found[metric] = max(variance, LEAST_LOG_SD**2)
    return found


@dataclass(frozen=True)
class _Tested:
    pair: _Pair
    p_value: float
    half_width: float
    detectable: float


def _tested(pair: _Pair, pooled: float, comparisons: int) -> _Tested:
    """Returns the p-value, the half-width of the interval and the smallest detectable relative
    change of one effect. They are computed from the variance of the pair's repetitions or from the
    pooled variance of the metric, whichever is larger."""
    freedom = max(1, pair.freedom)
    variance = max(pooled, pair.squares / pair.freedom if pair.freedom else 0.0)
    error = math.sqrt(variance * pair.per_run)
    strict = quantiles.student(1 - FALSE_SHARE / (2 * comparisons), freedom)
    return _Tested(
        pair,
        quantiles.student_beyond(pair.effect / error, freedom),
        quantiles.student(0.5 + CONFIDENCE / 2, freedom) * error,
        math.expm1((strict + quantiles.student(POWER, freedom)) * error),
    )


def _judged(tested: Sequence[_Tested]) -> list[ComparedMetric]:
    """Returns the rows of the comparison, with p-values adjusted by Holm's step-down method."""
    ordered = sorted(tested, key=lambda one: one.p_value)
    rows, largest = [], 0.0
    for place, one in enumerate(ordered):
        largest = max(largest, min(1.0, one.p_value * (len(ordered) - place)))
        effect = one.pair.effect
        verdict: RunVerdict = "cannot tell" if one.detectable > 1 else "no difference found"
        if largest <= FALSE_SHARE:
            verdict = "higher" if effect > 0 else "lower"
        rows.append(
            ComparedMetric(
                configuration=one.pair.configuration,
                metric=one.pair.metric,
                before=math.exp(float(np.mean(one.pair.before))),
                after=math.exp(float(np.mean(one.pair.after))),
                change=math.expm1(effect),
                low=math.expm1(effect - one.half_width),
                high=math.expm1(effect + one.half_width),
                adjusted=largest,
                detectable=one.detectable,
                verdict=verdict,
            )
        )
    return rows


def _failing(rule: FailRule, rows: Sequence[ComparedMetric]) -> list[str]:
    """Returns a sentence for each row that violates a rule, that is, for each row with a
    significant change beyond the rule's bound."""
    return [
        f"{rule.text}: {one.metric} at {one.configuration} changed by {_signed(one.change)}"
        for one in rows
        if one.verdict in ("higher", "lower") and rule.holds(one.metric, one.change)
    ]
