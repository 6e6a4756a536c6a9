"""The measured gain of a change, with an interval: the mean ratio of the runs with the change to
the runs without it.

Each run with the change is paired with a neighbouring run without it, so slow drift of the machine
cancels. The natural logarithm of the ratio is computed for each pair. Two variances of the log
ratio are computed: one over the pairs of this change, and one over the pairs of all changes of the
trial. The larger variance is used, because a few pairs may agree by chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from pydantic import BaseModel

from dfslab import quantiles
from dfslab.method import CONFIDENCE
from dfslab.studies.decisions.comparing.paired_runs import LEAST_LOG_SD
from dfslab.studies.trials.trial_run import TrialRun

# Name of the unchanged configuration in a trial.
START = "start"


class MeasuredGain(BaseModel):
    """The factor by which a change multiplied the value of the goal, with its 90 % interval.

    `pairs`: number of pairs of runs. `sd`: standard deviation of the natural logarithm of `gain`.
    `low`, `high` and `sd` are None if nothing was measured twice, because the noise is then
    unknown.
    """

    gain: float
    pairs: int
    low: float | None = None
    high: float | None = None
    sd: float | None = None

    @property
    def text(self) -> str:
        """The gain with its interval as text, such as "× 1.32 (1.28–1.36)"."""
        if self.low is None or self.high is None:
            return f"× {self.gain:.2f} (1 pair)"
        return f"× {self.gain:.2f} ({self.low:.2f}–{self.high:.2f})"


def measured_gains(runs: Sequence[TrialRun]) -> dict[str, MeasuredGain]:
    """Returns the measured gain of each changed configuration. A configuration is left out if no
    round of the trial measured both this configuration and the unchanged configuration."""
    ratios = {name: found for name in _changed(runs) if (found := log_ratios(runs, name))}
    freedom = sum(len(one) - 1 for one in ratios.values())
    pooled = sum(_squares(one) for one in ratios.values()) / freedom if freedom else None
    return {name: _gain(one, pooled, freedom) for name, one in ratios.items()}


def log_ratios(runs: Sequence[TrialRun], configuration: str) -> list[float]:
    """Returns ln(value of a configuration / value of the unchanged configuration) for each round
    that measured both."""
    start = {one.turn: one.value for one in runs if one.configuration == START}
    return [
        math.log(one.value / start[one.turn])
        for one in runs
        if one.configuration == configuration and one.turn in start
    ]


def _changed(runs: Sequence[TrialRun]) -> list[str]:
    return [one for one in dict.fromkeys(run.configuration for run in runs) if one != START]


def _squares(values: Sequence[float]) -> float:
    mean = fmean(values)
    return sum((one - mean) ** 2 for one in values)


def _gain(ratios: Sequence[float], pooled: float | None, freedom: int) -> MeasuredGain:
    """Returns the gain of one configuration. `pooled`: variance of a log ratio over all
    configurations, with `freedom` degrees of freedom; None if nothing was measured twice."""
    centre, own = fmean(ratios), len(ratios) - 1
    if pooled is None:
        return MeasuredGain(gain=math.exp(centre), pairs=len(ratios))
    alone = _squares(ratios) / own if own else 0.0
    variance = max(alone, pooled, LEAST_LOG_SD**2)
    degrees = own if alone > pooled else freedom
    sd = math.sqrt(variance / len(ratios))
    half_width = quantiles.student(0.5 + CONFIDENCE / 2, degrees) * sd
    return MeasuredGain(
        gain=math.exp(centre),
        pairs=len(ratios),
        low=math.exp(centre - half_width),
        high=math.exp(centre + half_width),
        sd=sd,
    )
