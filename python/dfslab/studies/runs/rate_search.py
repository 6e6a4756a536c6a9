"""Searches for the highest rate that meets a latency objective, and records the throughput-latency
curve up to its knee."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from dfslab import quantiles
from dfslab.method import CONFIDENCE
from dfslab.spec.search import Search, objective

# A run is saturated if its last operation starts later than scheduled by more than this fraction of
# the schedule's length.
BEHIND = 0.05
FEWEST_RUNS = 2
# Rates that are probed to complete the curve, as shares of the lowest rate that failed the
# objective.
SHARES = (0.3, 0.45, 0.6, 0.75, 0.9)
# Whether the response time at a rate is within the limit of the search's objective. "unclear": the
# limit is inside the interval of the response time.
RateVerdict = Literal["meets", "fails", "unclear"]


@dataclass(frozen=True)
class RateRun:
    """One run at an offered rate. All rates are per second, all times are in seconds.

    `rate_per_s`: achieved rate. `value_s`: the response-time statistic that the objective limits.
    `offered_per_s`: rate of the run's schedule. It differs by some per cent from the requested rate
    if the schedule has only a few hundred random arrivals. `span_s`: length of the schedule.
    `behind_s`: actual minus scheduled start of the last operation.
    """

    rate_per_s: float
    value_s: float
    response_s_mean: float
    offered_per_s: float
    span_s: float
    behind_s: float = 0.0
    complete: bool = True

    @property
    def kept_up(self) -> bool:
        """Whether the run is complete and its last operation started with at most the allowed
        lag."""
        return self.complete and self.behind_s <= BEHIND * self.span_s


@dataclass(frozen=True)
class RateRow:
    """The mean values of all runs at one requested rate, as a row of the JSON document.

    `offered_per_s`: the requested rate. `scheduled_per_s`: the rate of the random schedules.
    `value_s`: the response-time statistic that the objective limits; its interval is None for a
    single run. `behind_share`: the largest lag of a run divided by the length of its schedule; this
    is a maximum, not a mean. The lag of a run is the actual minus the scheduled start of its last
    operation.
    """

    offered_per_s: float
    verdict: RateVerdict
    runs: int
    rate_per_s: float
    scheduled_per_s: float
    behind_share: float
    response_s_mean: float
    value_s: float
    value_s_low: float | None
    value_s_high: float | None
    saturated: bool


@dataclass(frozen=True)
class Knee:
    """The knee of the throughput-latency curve: the probed rate at which the power is largest, and
    the probed rates next to it (`low`, `high`), all per second.

    Power is rate / mean response time (Kleinrock 1979, ICC).
    """

    rate_per_s: float
    low: float
    high: float


@dataclass(frozen=True)
class SearchDocument:
    """The result of a search as JSON: the bounds of the highest rate that meets the objective, the
    knee and the curve."""

    objective: str
    meets_per_s: float | None
    fails_per_s: float | None
    knee: Knee | None
    curve: list[RateRow]


Probe = Callable[[float, int], RateRun]


@dataclass
class RateRuns:
    """All runs at one requested rate. `verdict`: whether the rate meets the objective."""

    offered_per_s: float
    runs: list[RateRun] = field(default_factory=list)
    verdict: RateVerdict = "unclear"

    @property
    def saturated(self) -> bool:
        """Whether at least one run was incomplete, or lagged its schedule by more than the allowed
        share.

        The response times of a run that lags its schedule depend on the length of the run.
        """
        return not all(run.kept_up for run in self.runs)

    def interval(self) -> tuple[float, float, float]:
        """Returns (mean, low, high) of the response-time statistic that the objective limits, in
        seconds.

        `low` and `high` bound the 90 % interval over the runs (Student's t on logarithms). The
        interval is unbounded for a single run.
        """
        logs = [math.log(max(1e-9, run.value_s)) for run in self.runs]
        mean = sum(logs) / len(logs)
        if len(logs) < FEWEST_RUNS:
            return math.exp(mean), 0.0, math.inf
        square = sum((one - mean) ** 2 for one in logs) / (len(logs) - 1)
        half = quantiles.student((1 + CONFIDENCE) / 2, len(logs) - 1) * math.sqrt(
            square / len(logs)
        )
        return math.exp(mean), math.exp(mean - half), math.exp(mean + half)

    def row(self) -> RateRow:
        """Returns the runs at this rate as a row of the table.

        The row has no interval if there was only one run.
        """
        value, low, high = self.interval()
        several = len(self.runs) >= FEWEST_RUNS
        return RateRow(
            offered_per_s=self.offered_per_s,
            verdict=self.verdict,
            runs=len(self.runs),
            rate_per_s=_mean([run.rate_per_s for run in self.runs]),
            scheduled_per_s=_mean([run.offered_per_s for run in self.runs]),
            behind_share=max(run.behind_s / max(1e-9, run.span_s) for run in self.runs),
            response_s_mean=_mean([run.response_s_mean for run in self.runs]),
            value_s=value,
            value_s_low=low if several else None,
            value_s_high=high if several else None,
            saturated=self.saturated,
        )


@dataclass
class SearchOutcome:
    """Bounds of the highest rate that meets the objective, and the knee of the curve.

    `meets_per_s`: highest rate that significantly meets the objective; None if no such rate was
    found. `fails_per_s`: lowest rate that significantly fails; None if none was found. Rates
    between these bounds are unclear. `knee`: None if the knee lies outside the probed rates.
    """

    objective: str
    meets_per_s: float | None
    fails_per_s: float | None
    rates: list[RateRuns]
    knee: Knee | None

    def document(self) -> SearchDocument:
        """The result as the JSON of `dfslab search`."""
        return SearchDocument(
            objective=self.objective,
            meets_per_s=self.meets_per_s,
            fails_per_s=self.fails_per_s,
            knee=self.knee,
            curve=[rate.row() for rate in self.rates],
        )


def search(
    settings: Search, probe: Probe, note: Callable[[str], object] = lambda text: None
) -> SearchOutcome:
    """Searches for the highest rate that meets the objective, in four phases. First, the rate is
    doubled until it does not meet the objective. Second, the gap below that rate is bisected
    geometrically. Third, if no rate has significantly failed the objective, higher rates are probed
    until one fails. Fourth, further rates are probed to complete the curve.

    `probe(rate, number)` runs the workload once at `rate` per second; `number` differs for every
    run. `note` receives a line of text about every rate.
    """
    limit_s = objective(settings.objective).limit_s
    rates: dict[float, RateRuns] = {}

    def judged(offered: float, most: int) -> RateRuns:
        rate = rates.setdefault(offered, RateRuns(offered))
        while rate.verdict == "unclear" and len(rate.runs) < most:
            note(f"{offered:.4g} a second, run {len(rate.runs) + 1}")
            rate.runs.append(probe(offered, sum(len(one.runs) for one in rates.values())))
            rate.verdict = _verdict(rate, limit_s)
        return rate

    offered = settings.lowest
    while judged(offered, settings.repeats).verdict == "meets" and offered < settings.highest:
        offered = min(2 * offered, settings.highest)
    while (gap := _gap(rates)) is not None and gap[1] > gap[0] * (1 + settings.precision):
        judged(math.sqrt(gap[0] * gap[1]), settings.repeats)
    # An unclear rate does not end the search; only a higher rate that significantly fails does.
    while _bounds(rates)[1] is None and (top := max(rates)) < settings.highest:
        judged(min(top * (1 + 2 * settings.precision), settings.highest), settings.repeats)
    fails = _bounds(rates)[1]
    if fails is not None:
        for share in SHARES:
            judged(share * fails, FEWEST_RUNS)
    curve = sorted(rates.values(), key=lambda rate: rate.offered_per_s)
    return SearchOutcome(settings.objective, *_bounds(rates), curve, knee(curve))


def _verdict(rate: RateRuns, limit_s: float) -> RateVerdict:
    if rate.saturated:
        return "fails"
    _, low, high = rate.interval()
    if len(rate.runs) < FEWEST_RUNS or low <= limit_s < high:
        return "unclear"
    return "meets" if high <= limit_s else "fails"


def _gap(rates: dict[float, RateRuns]) -> tuple[float, float] | None:
    """Returns the two rates between which the search bisects: the highest rate that meets the
    objective, and the next higher probed rate.

    Returns None if no rate meets the objective, or if no higher rate was probed.
    """
    meets = [rate.offered_per_s for rate in rates.values() if rate.verdict == "meets"]
    if not meets:
        return None
    above = [offered for offered in rates if offered > max(meets)]
    return (max(meets), min(above)) if above else None


def _bounds(rates: dict[float, RateRuns]) -> tuple[float | None, float | None]:
    """Returns (meets, fails). `fails`: the lowest rate that significantly fails the objective.
    `meets`: the highest rate below `fails` that significantly meets it. A value is None if there is
    no such rate."""
    fails = min((r.offered_per_s for r in rates.values() if r.verdict == "fails"), default=None)
    below = math.inf if fails is None else fails
    good = [r.offered_per_s for r in rates.values() if r.verdict == "meets"]
    return max((rate for rate in good if rate < below), default=None), fails


def knee(curve: Sequence[RateRuns]) -> Knee | None:
    """Returns the probed rate with the largest power (rate / mean response time), and the next
    lower and next higher probed rates.

    Returns None if the rate with the largest power is the lowest or highest probed rate, because
    the knee may then lie outside the curve.
    """
    powers = [
        _mean([run.rate_per_s for run in rate.runs])
        / max(1e-9, _mean([run.response_s_mean for run in rate.runs]))
        for rate in curve
    ]
    place = max(range(len(powers)), key=powers.__getitem__, default=0)
    if not 0 < place < len(curve) - 1:
        return None
    low, here, high = (curve[place + step].offered_per_s for step in (-1, 0, 1))
    return Knee(here, low, high)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
