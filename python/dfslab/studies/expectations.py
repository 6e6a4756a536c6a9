"""What the description expects before anything is measured, as statements that a run can refute.

Wu 2013, section 4.1, does this in words: which operation dominates, which phase is flat and which
grows, which deployment takes longer. Here the uncalibrated model states them, so that no
measurement has shaped them, and the measured steps score each as a hit, a miss, or within noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dfslab.models.sequence import SequenceModel
from dfslab.result import Result
from dfslab.spec.scenario import Point

# Expected ratios nearer to 1 are called flat; nothing is said between FLAT and SEEN.
FLAT, SEEN = 1.15, 1.5
LEAST_NOISE = 0.10
# The keys that differ between neighbours, by the kind of statement that is made of them.
KINDS: Mapping[str, Callable[[str], bool]] = {
    "size": lambda key: key == "workload.file_size",
    "deployment": lambda key: key.startswith("deployment."),
    "count": lambda key: key in ("workload.clients", "workload.operations_per_client"),
}
# Of a longer row, the statements would grow with the square of its length; no shipped scenario
# has more than eleven configurations in one row.
NEAREST = 12
HIT, MISS, NOISE = "hit", "miss", "within noise"
OUTCOMES = (HIT, MISS, NOISE)
Steps = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class Statement:
    """`step` of `operation` at one point is `expected` times `other_step` at the other point."""

    kind: str
    operation: str
    step: str
    point_id: str
    other_id: str
    other_step: str
    expected: float

    @property
    def claim(self) -> str:
        """What it says of the ratio: "longer", "shorter" or "flat"."""
        if max(self.expected, 1 / self.expected) <= FLAT:
            return "flat"
        return "longer" if self.expected > 1 else "shorter"


@dataclass(frozen=True)
class Verdict:
    """A statement beside what was measured; `noise`: the ratio that repetitions differ by."""

    statement: Statement
    measured: float
    noise: float
    outcome: str


def expectations(points: Sequence[Point]) -> list[Statement]:
    """All that the uncalibrated description says of neighbouring points and of steps."""
    predicted = {
        point.id: {(s.operation, s.step): s.time_s_mean for s in SequenceModel().run(point).steps}
        for point in points
    }
    return [*_dominance(predicted), *_neighbours(points, predicted)]


def _dominance(predicted: Mapping[str, Steps]) -> Iterator[Statement]:
    """Which step of an operation takes longest, beside the next."""
    for point, steps in predicted.items():
        # A step is compared with those beside it, not with its own parts.
        for operation, outer in dict.fromkeys((o, s.rpartition("/")[0]) for o, s in steps):
            own = sorted(
                (
                    (t, s)
                    for (o, s), t in steps.items()
                    if (o, s.rpartition("/")[0]) == (operation, outer)
                ),
                reverse=True,
            )
            if len(own) > 1 and own[1][0] > 0 and own[0][0] / own[1][0] >= SEEN:
                yield Statement(
                    "dominates",
                    operation,
                    own[0][1],
                    point,
                    point,
                    own[1][1],
                    own[0][0] / own[1][0],
                )


def _neighbours(points: Sequence[Point], predicted: Mapping[str, Steps]) -> Iterator[Statement]:
    """Points that differ in one thing: the next size of a phase, or another deployment."""
    for kind, first, second in _pairs(points):
        for key, time in predicted[second.id].items():
            before = predicted[first.id].get(key, 0.0)
            if not before or not time:
                continue
            ratio = time / before
            if max(ratio, 1 / ratio) <= FLAT or max(ratio, 1 / ratio) >= SEEN:
                yield Statement(kind, key[0], key[1], second.id, first.id, key[1], ratio)


def _pairs(points: Sequence[Point]) -> Iterator[tuple[str, Point, Point]]:
    """(kind, point, later point) for points that differ in the keys of one kind only.

    Points that have all other keys in common stand in one row, so that no point is compared with
    every other one; in a long row each is compared with the next `NEAREST` ones.
    """
    found = []
    for kind, varies in KINDS.items():
        rows: dict[frozenset, list[int]] = {}
        for place, point in enumerate(points):
            others = frozenset(one for one in point.labels.items() if not varies(one[0]))
            rows.setdefault(others, []).append(place)
        for row in rows.values():
            for start, first in enumerate(row):
                found += [
                    (first, second, kind)
                    for second in row[start + 1 : start + 1 + NEAREST]
                    if points[first].labels != points[second].labels
                ]
    # In the order of the configurations, as they are reported.
    for first, second, kind in sorted(found):
        yield kind, points[first], points[second]


def score(statements: Sequence[Statement], results: Sequence[Result]) -> list[Verdict]:
    """Every statement whose points were measured, judged against the noise of repetitions."""
    logs: dict[tuple[str, str, str], list[float]] = {}
    for result in results:
        if result.method == "measure" and result.complete:
            for step in result.steps:
                if step.time_s_mean > 0:
                    key = (result.point.id, step.operation, step.step)
                    logs.setdefault(key, []).append(float(np.log(step.time_s_mean)))
    verdicts = []
    for one in statements:
        mine = logs.get((one.point_id, one.operation, one.step))
        other = logs.get((one.other_id, one.operation, one.other_step))
        if mine and other:
            verdicts.append(_judged(one, mine, other))
    return verdicts


def _judged(one: Statement, mine: Sequence[float], other: Sequence[float]) -> Verdict:
    log = float(np.mean(mine) - np.mean(other))
    errors = [
        np.var(values, ddof=1) / len(values) if len(values) > 1 else LEAST_NOISE**2
        for values in (mine, other)
    ]
    noise = max(LEAST_NOISE, 2 * float(np.sqrt(sum(errors))))
    flat = one.claim == "flat"
    if flat and abs(log) <= np.log(SEEN):
        outcome = HIT
    elif abs(log) <= noise:
        outcome = NOISE
    else:
        outcome = HIT if not flat and (log > 0) == (one.expected > 1) else MISS
    return Verdict(one, float(np.exp(log)), float(np.exp(noise)), outcome)


def tally(verdicts: Sequence[Verdict]) -> dict[str, dict[str, int]]:
    """Kind of statement -> how many hits, misses, and ones that the noise hides."""
    found: dict[str, dict[str, int]] = {}
    for verdict in verdicts:
        counts = found.setdefault(verdict.statement.kind, dict.fromkeys(OUTCOMES, 0))
        counts[verdict.outcome] += 1
    return found
