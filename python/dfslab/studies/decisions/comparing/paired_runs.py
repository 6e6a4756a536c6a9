"""Compares two runs. The effects are paired, have intervals, and are corrected for the number of
comparisons.

The effect on a metric at a configuration is the ratio of two geometric means: that of the second
run to that of the first run. Its variance is computed from the configuration's repetitions or
pooled over all configurations, whichever variance is larger. The reason is that few repetitions may
agree by chance. Holm's method keeps the probability of any false verdict below FALSE_SHARE.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dfslab import quantiles
from dfslab.documents.metrics import RATE, REGISTRY, parsed
from dfslab.method import CONFIDENCE
from dfslab.result import Result
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.studies.decisions.comparing.fail_rules import KEY, FailRule
from dfslab.studies.decisions.comparing.run_pairs import (
    IGNORED,
    TIMES,
    MetricPair,
    identity,
    pairing_of,
    varied_keys,
)
from dfslab.studies.decisions.reported.compared_runs import (
    ALONE,
    NOTHING_FOUND,
    P_VALUE,
    ComparedMetric,
    ComparedRuns,
    RunVerdict,
    size_text,
)

# Probability that the comparison of two equal runs reports any difference.
FALSE_SHARE = 0.002
# Probability with which a difference of the smallest detectable size is found.
POWER = 0.80
# Noise for which the detectable change is stated before two runs: of a quiet testbed, and of a
# machine that others use.
FORESEEN_NOISE = (0.01, 0.05)
# Smallest assumed standard deviation of a metric's natural logarithm, because clocks and counters
# are not more precise.
LEAST_LOG_SD = 0.001
_NOT_REPEATED = "no configuration was measured twice, so the noise is not known"


def compare_runs(
    before: Sequence[Result],
    after: Sequence[Result],
    names: tuple[str, str],
    rules: Sequence[FailRule] = (),
) -> ComparedRuns:
    """Compares the measurements of two runs, configuration by configuration.

    If no configuration was measured twice, the differences have no intervals, and no rule of
    --fail-if can be decided. Raises InputError if no configuration was measured in both runs, or if
    a rule cannot be decided or is about a metric that was not compared.
    """
    pairing = pairing_of(before, after, names)
    pairs = [pair for one in pairing.configurations for pair in one.metrics()]
    if not any(one.freedom for one in pairs):
        remedy = _how_to_repeat([*before, *after])
        if rules:
            allowed = f"cannot be decided: {_NOT_REPEATED}; {remedy}"
            raise InputError(KEY, ", ".join(one.text for one in rules), allowed)
        return _unrepeated(pairs, pairing.differs, names, remedy)
    pooled = _pooled(pairs)
    rows = _judged([_tested(one, pooled[one.metric], len(pairs)) for one in pairs])
    covered = [(rule, _covered(rule, rows)) for rule in rules]
    return ComparedRuns(
        before=names[0],
        after=names[1],
        rows=rows,
        noise=math.expm1(math.sqrt(pooled.get(RATE, max(pooled.values())))),
        differs=list(pairing.differs),
        failed=[text for rule, own in covered for text in _failing(rule, own)],
        undecided=[text for rule, own in covered for text in _undecided(rule, own)],
        notes=[
            f"Verdicts: the probability of any false one is {100 * FALSE_SHARE:g} % (Holm).",
            P_VALUE,
            ALONE,
        ],
    )


def _how_to_repeat(results: Sequence[Result]) -> str:
    """Returns what the user can do so that configurations are measured more than once."""
    if any(one.is_imported for one in results):
        return "`dfslab import FILE FILE` imports equal runs of a tool as repetitions"
    return "--set run.repetitions=3 repeats each"


def _unrepeated(
    pairs: Sequence[MetricPair], differs: Sequence[str], names: tuple[str, str], remedy: str
) -> ComparedRuns:
    """Returns the differences between two runs that measured each configuration once. Their noise
    is unknown, so they have no intervals and no verdicts."""
    rows = [
        ComparedMetric(
            configuration=one.configuration,
            metric=one.metric,
            unit=REGISTRY[parsed(one.metric).name].unit,
            before=math.exp(one.before[0]),
            after=math.exp(one.after[0]),
            change=math.expm1(one.effect),
            verdict="cannot tell",
        )
        for one in pairs
    ]
    stated = f"Differences without intervals or verdicts: {_NOT_REPEATED}; {remedy}."
    return ComparedRuns(
        before=names[0],
        after=names[1],
        rows=rows,
        noise=None,
        differs=list(differs),
        failed=[],
        notes=[stated],
    )


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
    for without in IGNORED:
        keys = varied_keys([one for own in points for one in own], without)
        names = [{identity(one, keys) for one in own} for own in points]
        if names[0] & names[1]:
            return
    allowed = f"has no configuration of {first.name}: their workloads differ"
    raise InputError("--against", second.name, allowed)


def _pooled(pairs: Sequence[MetricPair]) -> dict[str, float]:
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
    pair: MetricPair
    p_value: float
    half_width: float
    detectable: float


def _tested(pair: MetricPair, pooled: float, comparisons: int) -> _Tested:
    """Returns the p-value, the half-width of the interval and the smallest detectable relative
    change of one effect. They are computed from the variance of the pair's repetitions or from the
    pooled variance of the metric, whichever is larger."""
    freedom = max(1, pair.freedom)
    variance = max(pooled, pair.squares / pair.freedom if pair.freedom else 0.0)
    error = math.sqrt(variance * pair.per_run)
    return _Tested(
        pair,
        quantiles.student_beyond(pair.effect / error, freedom),
        quantiles.student(0.5 + CONFIDENCE / 2, freedom) * error,
        _detectable(error, freedom, comparisons),
    )


def _detectable(error: float, freedom: int, comparisons: int) -> float:
    """Returns the smallest relative change that is found with the probability POWER. `error`:
    standard error of the log effect. `freedom`: its degrees of freedom."""
    strict = quantiles.student(1 - FALSE_SHARE / (2 * comparisons), freedom)
    return math.expm1((strict + quantiles.student(POWER, freedom)) * error)


def foreseen(scenario: Scenario) -> str:
    """Returns a sentence on the changes that a comparison of two runs of a scenario will find,
    depending on the noise, which is unknown before the runs. Each configuration is assumed to have
    one operation."""
    repetitions = scenario.run.repetitions
    comparisons = len(scenario.points()) * (1 + len(TIMES))
    per_run = math.sqrt(2 / repetitions)
    found = [
        f"{size_text(_detectable(noise * per_run, 2 * repetitions - 2, comparisons))} if "
        f"repetitions differ by {100 * noise:g} %"
        for noise in FORESEEN_NOISE
    ]
    return (
        f"With {repetitions} repetitions and {comparisons} comparisons, the smallest change that "
        f"will be found with 80 % is one {', one '.join(found)}; --set run.repetitions=N lowers it."
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
                unit=REGISTRY[parsed(one.pair.metric).name].unit,
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


def _covered(rule: FailRule, rows: Sequence[ComparedMetric]) -> list[ComparedMetric]:
    """Returns the rows to which a rule applies. Raises InputError if there are none, because the
    rule could then never fail."""
    found = [one for one in rows if rule.covers(one.metric)]
    if not found:
        known = ", ".join(dict.fromkeys(one.name for one in rows))
        raise InputError(KEY, rule.text, f"is about nothing that was compared; compared: {known}")
    return found


def _failing(rule: FailRule, rows: Sequence[ComparedMetric]) -> list[str]:
    """Returns a sentence for each row that violates a rule, that is, for each row with a
    significant change beyond the rule's bound."""
    return [
        f"{rule.text}: {one.name} at {one.configuration} changed by {one.change_text}"
        for one in rows
        if one.is_found and rule.holds(one.metric, one.change)
    ]


def _undecided(rule: FailRule, rows: Sequence[ComparedMetric]) -> list[str]:
    """Returns at most one sentence: in how many rows a change as large as the rule's bound might
    not have been found."""
    sizes = [one.detectable for one in rows if not one.is_found and one.detectable is not None]
    blind = [size for size in sizes if size > abs(rule.bound)]
    if not blind:
        return []
    worst = max(blind)
    found = f", but one {size_text(worst)} would" if worst <= NOTHING_FOUND else ""
    return [
        f"{rule.text}: in {len(blind)} of {len(rows)} comparisons a change of that size might not "
        f"be found{found}; measure more repetitions (run.repetitions)."
    ]
