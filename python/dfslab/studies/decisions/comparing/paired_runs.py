"""Compares two runs. The effects are paired, have intervals, and are corrected for the number of
comparisons.

The effect on a metric at a configuration is the ratio of two geometric means: that of the second
run to that of the first run. Its variance is computed from the configuration's repetitions or
pooled over all configurations, whichever variance is larger. The reason is that few repetitions may
agree by chance. The degrees of freedom of a pooled variance are those of Satterthwaite (Biometrics
Bulletin 2(6), 1946): configurations whose noise differs have fewer.

Holm's method with weights keeps the probability of any false verdict below FALSE_SHARE. Rates and
times have half of this probability each, because a scenario has one rate but several times, which
mostly follow from the rate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np

from dfslab import quantiles
from dfslab.documents.metrics import RATE, REGISTRY, parsed
from dfslab.method import CONFIDENCE
from dfslab.result import Result
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.studies.decisions.comparing.disturbances import disturbances
from dfslab.studies.decisions.comparing.fail_rules import KEY, FailRule
from dfslab.studies.decisions.comparing.run_pairs import MetricPair, check_points, pairing_of
from dfslab.studies.decisions.reported.compared_runs import (
    ALONE,
    FOUND,
    NOTHING_FOUND,
    P_VALUE,
    SMALL_CHANGE,
    ComparedMetric,
    ComparedRuns,
    RunVerdict,
    size_text,
)
from dfslab.studies.runs import store
from dfslab.studies.runs.progress_kept import unfinished_in

# Probability that the comparison of two equal runs reports any difference.
FALSE_SHARE = 0.002
# Probability with which a difference of the smallest detectable size is found.
POWER = 0.80
# Two usual values of the noise, as fractions: that of a quiet testbed, and that of a machine that
# other users load. Before two runs, the detectable change is stated for both values.
FORESEEN_NOISE = (0.01, 0.05)
# Smallest assumed standard deviation of a metric's natural logarithm, because clocks and counters
# are not more precise.
LEAST_LOG_SD = 0.001
# Largest number of repetitions that a sentence names as necessary. More repetitions are hardly
# possible, so the noise must be reduced instead.
MOST_REPETITIONS = 1000
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
        unrepeated = _unrepeated(pairs, pairing.differs, names, remedy)
        return unrepeated.model_copy(update={"disturbed": disturbances(before, after)})
    pooled, weights = pooled_noise(pairs), comparison_weights(pairs)
    rows = judged(pairs)
    covered = [(rule, _covered(rule, rows)) for rule in rules]
    noise_sd = pooled[RATE].sd if RATE in pooled else max(one.sd for one in pooled.values())
    return ComparedRuns(
        before=names[0],
        after=names[1],
        rows=rows,
        noise=math.expm1(noise_sd),
        needed=repetitions_for(noise_sd, weights[RATE]) if RATE in pooled else None,
        disturbed=disturbances(before, after),
        differs=list(pairing.differs),
        failed=[text for rule, own in covered for text in _failing(rule, own)],
        undecided=[text for rule, own in covered for text in _undecided(rule, own)],
        notes=[
            f"Verdicts: the probability of any false one is {100 * FALSE_SHARE:g} % (Holm).",
            P_VALUE,
            ALONE,
        ],
    )


def compare_folders(
    before: Path, after: Path, names: tuple[str, str], rules: Sequence[FailRule] = ()
) -> ComparedRuns:
    """Compares the measurements of the runs in two run folders as `compare_runs` does. The first
    notes name the runs that are unfinished. `names`: the names of the runs in the answer.

    Raises InputError if a folder is no run folder.
    """
    for folder in (before, after):
        store.check_folder(folder)
    found = compare_runs(store.results_of(before), store.results_of(after), names, rules)
    states = zip(names, map(unfinished_in, (before, after)), strict=True)
    stated = [f"{name}: {one.sentence}." for name, one in states if one is not None]
    return found.model_copy(update={"notes": [*stated, *found.notes]})


def _how_to_repeat(results: Sequence[Result]) -> str:
    """Returns what the user can do so that configurations are measured more than once."""
    if any(one.is_imported for one in results):
        return (
            "measure both systems several times, import all files of the first into one run "
            "(`dfslab import A1 A2 …`) and all files of the second into another "
            "(`dfslab import B1 B2 …`), and compare these two runs"
        )
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
    - No configuration is in both scenarios.
    - The configurations in both scenarios have different operations."""
    for scenario in (first, second):
        if "measure" not in scenario.run.methods:
            allowed = 'must contain "measure", because two measured runs are compared'
            raise InputError("run.methods", ", ".join(scenario.run.methods), allowed)
        if scenario.run.repetitions < 2:
            allowed = f"must be 2 or more in {scenario.name}, so that noise is known"
            raise InputError("run.repetitions", scenario.run.repetitions, allowed)
    check_points(*[(one.points(), one.name) for one in (first, second)])


@dataclass(frozen=True)
class PooledNoise:
    """The variance of the natural logarithms of a metric's repetitions, pooled over all
    configurations, and its degrees of freedom."""

    variance: float
    freedom: float

    @property
    def sd(self) -> float:
        return math.sqrt(self.variance)


def pooled_noise(pairs: Sequence[MetricPair]) -> dict[str, PooledNoise]:
    """Returns a dictionary from each metric to its pooled variance."""
    found = {}
    for metric in {one.metric for one in pairs}:
        own = [one for one in pairs if one.metric == metric and one.freedom]
        squares = sum(one.squares for one in own)
        spread = sum(one.squares**2 / one.freedom for one in own)
        variance = squares / sum(one.freedom for one in own) if own else 0.0
        freedom = squares**2 / spread if spread else sum(one.freedom for one in own)
        found[metric] = PooledNoise(max(variance, LEAST_LOG_SD**2), max(1.0, freedom))
    return found


def comparison_weights(pairs: Sequence[MetricPair]) -> dict[str, float]:
    """Returns a dictionary from each metric to the share of FALSE_SHARE that one comparison of the
    metric has. Together, all comparisons have the share 1. The comparisons of rates share one half
    equally, those of times the other half."""
    families = Counter(one.metric == RATE for one in pairs)
    return {one.metric: 1 / (len(families) * families[one.metric == RATE]) for one in pairs}


@dataclass(frozen=True)
class _Tested:
    pair: MetricPair
    weight: float
    p_value: float
    half_width: float
    detectable: float


def _tested(pair: MetricPair, pooled: PooledNoise, weight: float) -> _Tested:
    """Returns the p-value, the half-width of the interval and the smallest detectable relative
    change of one effect. All three are computed from the variance of the pair's repetitions or from
    the pooled variance of the metric, whichever is larger."""
    variance, freedom = pooled.variance, pooled.freedom
    if pair.freedom and pair.squares / pair.freedom > variance:
        variance, freedom = pair.squares / pair.freedom, float(pair.freedom)
    error = math.sqrt(variance * pair.per_run)
    return _Tested(
        pair,
        weight,
        quantiles.student_beyond(pair.effect / error, freedom),
        quantiles.student(0.5 + CONFIDENCE / 2, freedom) * error,
        _detectable(error, freedom, weight),
    )


def _detectable(error: float, freedom: float, weight: float) -> float:
    """Returns the smallest relative change that is found with the probability POWER. `error`:
    standard error of the log effect. `freedom`: its degrees of freedom. `weight`: the comparison's
    share of FALSE_SHARE."""
    strict = quantiles.student(1 - weight * FALSE_SHARE / 2, freedom)
    return math.expm1((strict + quantiles.student(POWER, freedom)) * error)


def repetitions_for(noise_sd: float, weight: float) -> int | None:
    """Returns the number of repetitions in each run with which a change of SMALL_CHANGE is found
    with the probability FOUND; None if it is above MOST_REPETITIONS. `noise_sd`: standard deviation
    of the natural logarithm of a repetition. `weight`: as in `_detectable`."""
    low, high = 1, MOST_REPETITIONS
    if not _finds(high, noise_sd, weight):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _finds(middle, noise_sd, weight) else (middle, high)
    return high


def _finds(repetitions: int, noise_sd: float, weight: float) -> bool:
    """Returns whether a change of SMALL_CHANGE is found with the probability FOUND. The statistic
    has a noncentral t distribution, which is approximated by a normal one (Abramowitz and Stegun
    26.7.10)."""
    freedom = 2 * repetitions - 2
    expected = math.log1p(SMALL_CHANGE) / (noise_sd * math.sqrt(2 / repetitions))
    strict = quantiles.student(1 - weight * FALSE_SHARE / 2, freedom)
    excess = expected - strict * (1 - 1 / (4 * freedom))
    return NormalDist().cdf(excess / math.sqrt(1 + strict**2 / (2 * freedom))) >= FOUND


def foreseen(scenario: Scenario) -> str:
    """Returns sentences on the changes of a rate that a comparison of two runs of a scenario will
    find, depending on the noise, which is unknown before the runs."""
    repetitions, rates = scenario.run.repetitions, len(scenario.points())
    weight, per_run = 1 / (2 * rates), math.sqrt(2 / repetitions)
    found = [
        f"{size_text(_detectable(noise * per_run, 2 * repetitions - 2, weight))} if "
        f"repetitions differ by {100 * noise:g} %"
        for noise in FORESEEN_NOISE
    ]
    needed = [
        str(repetitions_for(noise, weight) or f"over {MOST_REPETITIONS}")
        for noise in FORESEEN_NOISE
    ]
    return (
        f"With {repetitions} repetitions and {rates} compared rates, the smallest change of a rate "
        f"that will be found with {100 * POWER:g} % is one {', one '.join(found)}. A change of "
        f"{100 * SMALL_CHANGE:g} % is found in {100 * FOUND:g} of 100 comparisons with "
        f"{' or '.join(needed)} repetitions: --set run.repetitions=N."
    )


def judged(pairs: Sequence[MetricPair]) -> list[ComparedMetric]:
    """Returns the rows of the comparison, with p-values adjusted by Holm's step-down method with
    weights (Scandinavian Journal of Statistics 6(2), 1979). At least one metric was measured
    twice."""
    pooled, weights = pooled_noise(pairs), comparison_weights(pairs)
    tested = [_tested(one, pooled[one.metric], weights[one.metric]) for one in pairs]
    ordered = sorted(tested, key=lambda one: one.p_value / one.weight)
    rows, largest = [], 0.0
    for place, one in enumerate(ordered):
        remaining = sum(other.weight for other in ordered[place:])
        largest = max(largest, min(1.0, one.p_value / one.weight * remaining))
        effect = one.pair.effect
        # An interval without zero suggests a difference, although it may be a chance find among all
        # compared metrics. Neither a difference nor its absence can be stated.
        is_suggested = abs(effect) > one.half_width
        verdict: RunVerdict = "no difference found"
        if one.detectable > 1 or is_suggested:
            verdict = "cannot tell"
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
