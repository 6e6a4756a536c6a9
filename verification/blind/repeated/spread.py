"""Computes from earlier campaigns how far measured rates are from predictions that use a
description alone. The result is one standard deviation for each size class (names without data,
small files, large files). `dfslab.models.fit.description_error` contains these standard deviations
as a constant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from dfslab import quantiles
from dfslab.method import CONFIDENCE
from dfslab.models.fit.demand import UNCALIBRATED_FREEDOM, uncalibrated
from dfslab.models.fit.description_error import size_class
from dfslab.models.tree.prediction import situation_of

from verification.blind.configuration import scenario_of
from verification.blind.figures import Judged
from verification.blind.machine import MachineProfile

# Standard deviations that are tried, in steps of 0.01.
TRIED = [step / 100 for step in range(301)]
POOLED_POINTS = 20
QUANTILE = quantiles.student(0.5 + CONFIDENCE / 2, UNCALIBRATED_FREEDOM)


@dataclass(frozen=True)
class Residual:
    """The error of one point. `log_error` is ln(predicted / measured). `variance` is the variance
    of this error that is due to the uncertainty of the description's constants, as their priors
    state it."""

    size_class: str
    testbed: str
    system: str
    log_error: float
    variance: float

    def is_inside(self, sd: float) -> bool:
        """Returns whether the measured rate is inside the 90 % interval if the description's own
        error has the standard deviation `sd`."""
        return abs(self.log_error) <= QUANTILE * math.sqrt(sd**2 + self.variance)


def residual(one: Judged, machine: MachineProfile) -> Residual:
    """Returns the error of a point, and the part of the error's variance that the priors of the
    constants explain."""
    situation = situation_of(scenario_of(one.predicted.point, machine))
    return Residual(
        size_class(situation),
        one.predicted.testbed,
        one.predicted.system,
        math.log(one.predicted.predicted_per_s / one.rate_per_s),
        uncalibrated(situation).parameter_variance(situation),
    )


def learnt_sd(found: Sequence[Residual], confidence: float = CONFIDENCE) -> float:
    """Returns the standard deviation of the description's own error. The returned value is the
    smallest value in TRIED with which the 90 % intervals of the predictions contain at least the
    share `confidence` of the measured rates. Returns the largest value of TRIED if none
    suffices."""
    return next(
        (sd for sd in TRIED if fmean(one.is_inside(sd) for one in found) >= confidence), TRIED[-1]
    )


def regularised_sd(own: Sequence[Residual], every: Sequence[Residual]) -> float:
    """Returns the standard deviation of the description's own error for the group `own` of all
    points `every`. The returned value is sqrt((n s^2 + m S^2) / (n + m)), where n is the number of
    points in `own`, m is POOLED_POINTS, s is `learnt_sd(own)` and S is `learnt_sd(every)`."""
    parts = len(own) * learnt_sd(own) ** 2 + POOLED_POINTS * learnt_sd(every) ** 2
    return math.sqrt(parts / (len(own) + POOLED_POINTS))


def held_out(found: Sequence[Residual]) -> Iterator[tuple[Residual, bool]]:
    """Yields (point, whether its measured rate is inside its interval). The width of the interval
    is `regularised_sd` of the points of other testbeds that have the same size class. If there are
    no such points, the point counts as outside."""
    for one in found:
        others = [other for other in found if other.testbed != one.testbed]
        own = [other for other in others if other.size_class == one.size_class]
        yield one, bool(own) and one.is_inside(regularised_sd(own, others))


def text(found: Sequence[Residual]) -> Iterator[str]:
    """Yields lines of text: first the computed standard deviation of each size class. Then follows
    the coverage on testbeds whose points were not used for the standard deviation."""
    yield "standard deviation of ln(predicted / measured) besides the priors of constants"
    for name in sorted({one.size_class for one in found}):
        own = [one for one in found if one.size_class == name]
        yield f"  {name:24} {len(own):4} points: {regularised_sd(own, found):.2f}"
    tested = list(held_out(found))
    yield f"  held-out testbeds inside: {fmean(inside for _, inside in tested):.0%}"
    for name in sorted({one.system for one in found}):
        own_tests = [inside for one, inside in tested if one.system == name]
        yield f"    {name:22} {len(own_tests):4} points: {fmean(own_tests):.0%}"
