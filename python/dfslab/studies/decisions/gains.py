"""The gain of a change: a paired ratio with an interval, the probability that it is above 1, and a
word for how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, pvariance
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from dfslab.method import CONFIDENCE

if TYPE_CHECKING:
    from dfslab.arrays import Floats

Sureness = Literal["high", "medium", "low", "cannot tell"]
# Probability that a statement is right, from which a word holds.
HIGH, MEDIUM, LOW = 0.95, 0.85, 0.70
# A predicted gain below this share either way is called none: the statement is then that the gain
# is below SMALL either way.
NO_GAIN, SMALL = 0.02, 0.10
# How far a measured gain may be outside what is physically possible, for noise.
TOLERANCE = 0.05
WORDS = (
    "How sure: high if the statement (gain, loss, none) is right with a probability of 95 % and "
    "more, medium from 85 %, low from 70 %, else cannot tell."
)


class GainEstimate(BaseModel):
    """The factor by which a change multiplies a rate, with its 90 % interval.

    `probability`: that the gain is above 1. `sd`: standard deviation of the gain's logarithm.
    """

    gain: float
    low: float
    high: float
    probability: float
    sd: float

    @property
    def is_none(self) -> bool:
        """Whether the predicted gain is too small to act on."""
        return abs(math.log(self.gain)) < NO_GAIN

    @property
    def right(self) -> float:
        """The probability that the statement is right: that the sign of the gain is, or, where no
        gain is predicted, that it is below SMALL either way."""
        if not self.is_none:
            return max(self.probability, 1 - self.probability)
        centre, bound = math.log(self.gain), math.log1p(SMALL)
        normal = NormalDist(centre, self.sd)
        return normal.cdf(bound) - normal.cdf(-bound)

    @property
    def sureness(self) -> Sureness:
        """How sure the statement is, in a word."""
        return sureness(self.right)


def sureness(right: float) -> Sureness:
    """The word for a probability that a statement is right."""
    if right >= HIGH:
        return "high"
    if right >= MEDIUM:
        return "medium"
    return "low" if right >= LOW else "cannot tell"


def gain_of(
    ratios: Floats, sds: Sequence[float], possible: tuple[float, float] = (-math.inf, math.inf)
) -> GainEstimate:
    """The gain whose first ratio holds for the estimated constants, the others for drawn ones.

    `sds`: further independent standard deviations of the log gain, such as the error of the model
    for such a change and the noise of repetitions. At least one is above 0. `possible`: bounds of
    the log gain, beyond which only noise can take it.
    """
    logs = [math.log(ratio) for ratio in ratios]
    drawn = pvariance(logs[1:]) if len(logs) > 1 else 0.0
    sd = math.sqrt(drawn + sum(one**2 for one in sds))
    centre = float(logs[0])
    half_width = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) * sd
    slack = min(TOLERANCE, half_width)
    return GainEstimate(
        gain=math.exp(centre),
        low=math.exp(min(centre - slack, max(centre - half_width, possible[0] - slack))),
        high=math.exp(max(centre + slack, min(centre + half_width, possible[1] + slack))),
        probability=NormalDist().cdf(centre / sd),
        sd=sd,
    )
