"""The gain of a change: a ratio of two predicted rates with an interval. A gain also has the
probability that the ratio is above 1, and a word for its certainty."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist, pvariance
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from dfslab.documents.answers import Sureness
from dfslab.quantiles import CONFIDENCE_SDS
from dfslab.spec.hardware.uncertainty import factor_of

if TYPE_CHECKING:
    from dfslab.arrays import Floats

# What the predictions of a gain are calibrated on: a measured run, or only the description.
Basis = Literal["run", "description"]
# Least probabilities that a statement is right, if its certainty is `Sureness.HIGH`, `MEDIUM` or
# `LOW`. Below LOW, nothing can be stated (`UNDECIDED`).
HIGH, MEDIUM, LOW = 0.95, 0.85, 0.70
# Limits for reporting no gain. If a predicted gain changes the rate by less than the fraction
# NO_GAIN, "no gain" is reported. These words state that the true gain changes the rate by less than
# the fraction SMALL.
NO_GAIN, SMALL = 0.02, 0.10
# Least ratio of the gain of a combined change to the largest gain among its single changes. A
# combined change with a smaller ratio is not named.
WORTH_JOINING = 1.05
# Limits above which a gain is doubted. They apply to the spread of the gain's 90 % interval that
# uncertain hardware alone causes: a factor of DOUBTED_FACTOR, or the fraction DOUBTED_SHARE of the
# predicted log gain. Spreads below the fraction SMALL are ignored. The certainty of a doubted gain
# is at most `LOW`: its direction may be right, but decisions depend on its size.
DOUBTED_FACTOR, DOUBTED_SHARE = 2.0, 0.5
# Largest ratio of the bounds of an interval that states the size of a gain. A wider interval states
# only that the gain is above its lower bound or below its upper bound.
WIDEST = 100.0
# Smallest factor that is printed without decimals. The inverse of this value is the smallest factor
# that two decimals can show.
WHOLE_FROM = 100.0
# Because of noise, the natural logarithm of a measured gain may exceed the physically possible
# value by this amount.
TOLERANCE = 0.05


def sureness_words(statement: str) -> str:
    """Returns the sentence that explains the words for certainty. `statement`: the condition whose
    probability the words describe."""
    high, medium, low = (f"{100 * limit:.0f} %" for limit in (HIGH, MEDIUM, LOW))
    return (
        f"Certainty: {Sureness.HIGH} if {statement} with a probability of {high} and more, "
        f"{Sureness.MEDIUM} from {medium}, {Sureness.LOW} from {low}, else {Sureness.UNDECIDED}."
    )


def certainty_text(word: str) -> str:
    """Returns a word for certainty with what it describes, such as "certainty: low". Every
    sentence names the certainty in this way, because "low" after a gain reads as the size of the
    gain. "cannot tell" needs no name."""
    return word if word == Sureness.UNDECIDED else f"certainty: {word}"


WORDS = sureness_words("the statement (gain, loss, no gain) is right")
# The reasons why a word is lower than the probability of the statement alone would give: DOUBT and
# LEARNT_ELSEWHERE.
DOUBT = "uncertain hardware"
LOWERED = (
    f'Words with "{DOUBT}" are at most low, whatever the probability: the stated uncertainty of '
    "hardware leaves the size of the gain open."
)
LEARNT_ELSEWHERE = "error learnt elsewhere"
CAPPED = (
    f'Words with "{LEARNT_ELSEWHERE}" are at most medium: the error of a gain was not learnt from '
    "carried-out changes of such operations (data or metadata) on this file system. Runs before "
    "and after the change settle it; on a testbed, `dfslab advise SCENARIO --verify 3` makes them."
)
WIDE = (
    f"Bounds that differ by more than a factor of {WIDEST:.0f} leave the size of a gain open. Such "
    "a gain is at least its lower bound (a loss at most its upper bound), or nothing is known."
)
NONE = (
    f"No gain: a change of less than {100 * NO_GAIN:.0f} % is predicted, and the certainty is that "
    f"of the true gain being within ± {100 * SMALL:.0f} %."
)
NOISE = (
    "An interval is for a measured gain, with the noise of runs. The certainty is of the true "
    "gain, without this noise, so an interval may be wider than the statement: it may include 1 "
    f"for a gain of high certainty, or exceed ± {100 * SMALL:.0f} % for no gain."
)


def legend(gains: Iterable[GainEstimate]) -> list[str]:
    """Returns the sentences that explain the words for the certainty of `gains`. Sentences on rules
    that apply to none of the gains are left out; without gains, the list is empty."""
    shown = list(gains)
    found = [WORDS] if shown else []
    if any(one.is_none and one.is_stated for one in shown):
        found.append(NONE)
    if any(one.is_lowered for one in shown):
        found.append(LOWERED)
    if any(one.is_capped for one in shown):
        found.append(CAPPED)
    if any(one.is_wide for one in shown):
        found.append(WIDE)
    if any(
        one.is_stated and (one.high > 1 + SMALL or one.low < 1 - SMALL)
        if one.is_none
        else one.sureness is Sureness.HIGH and one.low < 1 < one.high
        for one in shown
    ):
        found.append(NOISE)
    return found


def probability_text(right: float) -> str:
    """Returns a probability in whole per cent. The probability is rounded down, because a
    rounded-up value could reach the limit of a word (see `sureness`) that the probability itself
    does not reach."""
    return f"{math.floor(100 * right)} %"


class GainEstimate(BaseModel):
    """The factor by which a change multiplies a rate, with its 90 % interval.

    `probability`: probability that the factor is above 1. `sd`: standard deviation of the factor's
    natural logarithm. `low`, `high`: bounds of the factor that a measurement of the change would
    show. These bounds include the noise of this measurement; `probability` and `sd` do not include
    it. `hardware_sd`: the part of `sd` that is due to uncertain values of the hardware.
    `is_learnt_here`: whether the error of such a gain was learnt from changes that were measured on
    the same file system.
    """

    gain: float
    low: float
    high: float
    probability: float
    sd: float
    hardware_sd: float = 0.0
    is_learnt_here: bool = True

    @property
    def is_doubted(self) -> bool:
        """Whether the size of the gain is uncertain because of uncertain hardware."""
        share = max(DOUBTED_SHARE * abs(math.log(self.gain)), math.log1p(SMALL))
        return math.log(factor_of(self.hardware_sd)) > min(math.log(DOUBTED_FACTOR), share)

    @property
    def is_wide(self) -> bool:
        """Whether the interval is so wide that it does not state the size of the gain."""
        return self.high > WIDEST * self.low

    @property
    def certain_gain(self) -> float:
        """The gain by which changes are ranked. If the interval is wide, it is the bound of the
        interval that is closer to 1; otherwise it is the predicted gain."""
        if not self.is_wide:
            return self.gain
        return min(max(1.0, self.low), self.high)

    @property
    def is_none(self) -> bool:
        """Whether the predicted gain changes the rate by less than NO_GAIN, so that it is reported
        as "no gain"."""
        return abs(math.log(self.gain)) < NO_GAIN

    @property
    def right(self) -> float:
        """Returns the probability that the reported statement is right. If a gain is predicted, the
        statement is its direction (faster or slower). If no gain is predicted, the statement is
        that the rate changes by less than the fraction SMALL."""
        if not self.is_none:
            return max(self.probability, 1 - self.probability)
        centre, bound = math.log(self.gain), math.log1p(SMALL)
        normal = NormalDist(centre, self.sd)
        return normal.cdf(bound) - normal.cdf(-bound)

    @property
    def sureness(self) -> Sureness:
        """The certainty of the reported statement, as a word. The word is `UNDECIDED` if a wide
        interval includes 1. The word is at most `LOW` if uncertain values of the hardware decide
        the gain (`is_doubted`), and at most `MEDIUM` if the gain's error was learnt on other file
        systems only."""
        if self.is_undecided:
            return Sureness.UNDECIDED
        if self.is_lowered:
            return Sureness.LOW
        return Sureness.MEDIUM if self.is_capped else sureness(self.right)

    @property
    def is_undecided(self) -> bool:
        """Whether the interval is so wide that not even the direction of the gain is stated."""
        return self.is_wide and self.low <= 1 <= self.high

    @property
    def is_capped(self) -> bool:
        """Whether the word is `MEDIUM` instead of `HIGH` because the error of such a gain was
        learnt on other file systems only."""
        would_be_high = sureness(self.right) is Sureness.HIGH and not self.is_doubted
        return would_be_high and not self.is_undecided and not self.is_learnt_here

    @property
    def is_as_sure_as_possible(self) -> bool:
        """Whether no gain on this file system can have a word of higher certainty."""
        return self.sureness is Sureness.HIGH or self.is_capped

    @property
    def is_lowered(self) -> bool:
        """Whether the word for the certainty is lower than the probability alone would give,
        because uncertain values of the hardware decide the gain."""
        return self.is_doubted and sureness(self.right) in (Sureness.HIGH, Sureness.MEDIUM)

    @property
    def is_stated(self) -> bool:
        """Whether anything is stated on the gain; otherwise, the word is `UNDECIDED`."""
        return self.sureness is not Sureness.UNDECIDED

    @property
    def judgement(self) -> str:
        """The gain, its interval and its certainty in words. Every command and page judges a change
        by these words."""
        interval = f"90 %: {factor_text(self.low)} to {factor_text(self.high)}"
        if self.sureness is Sureness.UNDECIDED:
            return f"{self.sureness} (predicted × {factor_text(self.gain)}, {interval})"
        what = "no gain" if self.is_none else self.size
        return f"{what} ({interval}), {certainty_text(self.reasoned)}"

    @property
    def size(self) -> str:
        """The size of the gain in words: "× 1.50", or "at least × 2.00" if the interval is wide."""
        if not self.is_wide:
            return f"× {factor_text(self.gain)}"
        bound = "at least" if self.gain > 1 else "at most"
        return f"{bound} × {factor_text(self.certain_gain)}"

    @property
    def cell_text(self) -> str:
        """The gain and its interval for a cell of a table."""
        low, high = factor_text(self.low), factor_text(self.high)
        return f"× {factor_text(self.gain)} ({low}–{high})"

    @property
    def statement(self) -> str:
        """The certainty of the reported statement, such as "high certainty of a gain"; only
        "cannot tell" if nothing can be stated. The noun is next to the word, because "gain: low"
        reads as a small gain."""
        if self.sureness is Sureness.UNDECIDED:
            return self.sureness.value
        what = "no gain" if self.is_none else "a gain" if self.gain > 1 else "a loss"
        reason = self.reasoned.removeprefix(self.sureness)
        return f"{self.sureness} certainty of {what}{reason}"

    @property
    def reasoned(self) -> str:
        """The word for the certainty, with the reason if the word is lowered."""
        if self.is_capped:
            return f"{self.sureness} ({LEARNT_ELSEWHERE})"
        return f"{self.sureness} ({DOUBT})" if self.is_lowered else self.sureness


def factor_text(factor: float) -> str:
    """Returns a factor as text with two decimals. A factor of 100 or more has none, and a factor
    below 0.01 has one significant digit."""
    if factor >= WHOLE_FROM:
        return f"{factor:,.0f}"
    return f"{factor:.2f}" if factor * WHOLE_FROM >= 1 else f"{factor:.1g}"


def sureness(right: float) -> Sureness:
    """Returns the word for a probability that a statement is right."""
    if right >= HIGH:
        return Sureness.HIGH
    if right >= MEDIUM:
        return Sureness.MEDIUM
    return Sureness.LOW if right >= LOW else Sureness.UNDECIDED


def gain_of(
    ratios: Floats,
    sds: Sequence[float],
    possible: tuple[float, float] = (-math.inf, math.inf),
    noise_sd: float = 0.0,
) -> GainEstimate:
    """Returns the gain from `ratios` of the rates predicted after and before a change. The first
    ratio is for the estimated constants of the model, the other ratios are for constants drawn at
    random.

    `sds`: standard deviations of independent errors of the log gain, such as the model's error for
    this kind of change and the noise of repetitions. At least one is above 0. `possible`: bounds of
    the true log gain; the interval may exceed them only by the noise. `noise_sd`: standard
    deviation of the noise in the log gain of a future measurement; it widens the interval only.
    """
    logs = [math.log(ratio) for ratio in ratios]
    drawn = pvariance(logs[1:]) if len(logs) > 1 else 0.0
    sd = math.sqrt(drawn + sum(one**2 for one in sds))
    centre = float(logs[0])
    half_width = CONFIDENCE_SDS * math.hypot(sd, noise_sd)
    slack = min(max(TOLERANCE, CONFIDENCE_SDS * noise_sd), half_width)
    return GainEstimate(
        gain=math.exp(centre),
        low=math.exp(min(centre - slack, max(centre - half_width, possible[0] - slack))),
        high=math.exp(max(centre + slack, min(centre + half_width, possible[1] + slack))),
        probability=NormalDist().cdf(centre / sd),
        sd=sd,
    )
