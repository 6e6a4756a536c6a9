"""Predicts the points of an earlier campaign again with the present models, and reports which
groups of points contribute most to the error.

The points were drawn from a seed. Once the points have been measured, models may learn from the
measurements. So the present predictions are no blind result. Only a campaign with a new seed gives
a blind result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from dfslab.quantiles import p90

from verification.blind import frozen
from verification.blind.campaign import about_of
from verification.blind.figures import Judged, coverage, judged
from verification.blind.frozen import FrozenPrediction
from verification.blind.record import CampaignFiles
from verification.blind.repeated import breakdown, refit, spread
from verification.blind.repeated.breakdown import Repeated, moved_class
from verification.blind.repeated.contention import beside_others

NOTICE = (
    "NO BLIND RESULT: the measurements of these seeds were known when the models were last changed"
)
# Number of groups of points that the table of causes shows.
SHOWN = 12


def repeated(files: CampaignFiles) -> list[Repeated]:
    """Returns all measured points of a campaign with their present predictions. The predictions use
    the recorded configuration and the recorded profile of the machine. The file of the frozen
    predictions is not changed."""
    machine = about_of(files).machine
    found = []
    for one in judged(files):
        after = replace(one, predicted=frozen.predicted(one.predicted.point, machine))
        found.append(Repeated(one, after, beside_others(after, machine)))
    return found


def group_of(point: FrozenPrediction) -> str:
    """Returns the group of a point in the table of causes: file system, operation, size class,
    cache, and the predicted regime."""
    parts = point.system, point.operation, moved_class(point), point.cache, point.regime
    return " ".join(parts)


def text(campaigns: Sequence[CampaignFiles]) -> str:
    """Returns the report on earlier campaigns. The report has three parts:

    - the errors and the coverage of the frozen and of the present predictions, by kind of point
    - the constants that are fitted to the points
    - the groups of points that contribute most to the error of the present predictions
    """
    machines = [about_of(files).machine for files in campaigns]
    each = [repeated(files) for files in campaigns]
    found = [one for own in each for one in own]
    residuals = [
        spread.residual(one.after, machine)
        for machine, own in zip(machines, each, strict=True)
        for one in own
    ]
    observed = [
        refit.observation(one.after, machine)
        for machine, own in zip(machines, each, strict=True)
        for one in own
        if refit.is_fitted(one.after)
    ]
    names = ", ".join(files.recording for files in campaigns)
    lines = [
        f"{names}: {len(found)} points",
        NOTICE,
        "",
        *breakdown.text(found),
        "",
        *spread.text(residuals),
        "",
        *refit.text(observed),
        "",
        *_causes([one.after for one in found], group_of),
    ]
    return "\n".join(lines)


@dataclass(frozen=True)
class Contribution:
    """How much a group of points contributes to the error of all points. `median_without` and
    `p90_without` are the median and the 90 % quantile of |error| over all points if the errors of
    the group were zero. `bias` is the median of the group's signed errors. `inside` is the share of
    the group's points whose measured rate is inside the predicted interval."""

    group: str
    points: int
    bias: float
    inside: float
    median_without: float
    p90_without: float


def contributions(
    found: Sequence[Judged], group: Callable[[FrozenPrediction], str]
) -> list[Contribution]:
    """Returns the contribution of every group of points, beginning with the group that contributes
    most. The list is sorted by ascending `p90_without`, then by ascending `median_without`: if a
    group contributes much, the errors without it are small."""
    groups: dict[str, list[Judged]] = {}
    for one in found:
        groups.setdefault(group(one.predicted), []).append(one)
    rows = []
    for name, own in groups.items():
        errors = [0.0 if group(one.predicted) == name else abs(one.error) for one in found]
        rows.append(
            Contribution(
                group=name,
                points=len(own),
                bias=median(one.error for one in own),
                inside=coverage(own) or 0.0,
                median_without=median(errors),
                p90_without=p90(errors),
            )
        )
    return sorted(rows, key=lambda one: (one.p90_without, one.median_without, one.group))


def _causes(found: Sequence[Judged], group: Callable[[FrozenPrediction], str]) -> Iterator[str]:
    yield "groups that contribute most to p90: p90 and median of all points if a group had no error"
    for one in contributions(found, group)[:SHOWN]:
        yield (
            f"  {one.group:60} {one.points:3} points, bias {one.bias:+.0%}, inside {one.inside:.0%}"
            f": p90 {one.p90_without:.1%}, median {one.median_without:.1%}"
        )
