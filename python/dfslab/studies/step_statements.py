"""Derives expectations from a file system's description, and scores them by measurements.

Wu 2013, section 4.1, states such expectations in words: which operation dominates, which phase is
constant or grows, which deployment is slower. Here, the uncalibrated model derives them, so they do
not depend on measurements. The measured step times score each expectation as a hit, a miss, or
within noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import JsonValue

from dfslab.documents.table import (
    Column,
    Paragraph,
    Section,
    Tab,
    Table,
    TableCell,
    count,
    heads,
    number,
    words,
)
from dfslab.models.sequence import SequenceModel
from dfslab.result import Result
from dfslab.spec.design import LevelValue
from dfslab.spec.scenario import Point
from dfslab.spec.steps.step_path import StepPath
from dfslab.spec.streams.stream import has_stream
from dfslab.studies.compare import Comparison
from dfslab.studies.contract import FinishedRun, Needs, Progress, Study, StudyResult

# An expected ratio of two times (the larger divided by the smaller) is called flat if it is at most
# FLAT. From a ratio between FLAT and MARKED, no expectation is derived, because such a ratio is too
# uncertain.
FLAT, MARKED = 1.15, 1.5
LEAST_NOISE = 0.10
StatementKind = Literal["dominates", "size", "deployment", "count"]
Outcome = Literal["hit", "miss", "within noise"]
# The kinds of expectations that compare two configurations. A kind's function takes a scenario key.
# It returns True if the compared configurations may differ in this key.
KINDS: Mapping[StatementKind, Callable[[str], bool]] = {
    "size": lambda key: key == "workload.file_size",
    "deployment": lambda key: key.startswith("deployment."),
    "count": lambda key: key in ("workload.clients", "workload.operations_per_client"),
}
# Each configuration is compared with at most this number of later configurations, because the
# number of pairs would otherwise grow quadratically. No shipped scenario reaches the limit: none
# varies one kind of key over more than eleven configurations.
NEAREST = 12
HIT: Outcome = "hit"
MISS: Outcome = "miss"
NOISE: Outcome = "within noise"
OUTCOMES = (HIT, MISS, NOISE)
StepSeconds = Mapping[tuple[str, StepPath], float]
NAMES = ("expectations",)
MOST_ROWS = 400
BASIS = (
    "Expectations that follow from the description before anything is measured: which step "
    "dominates, and which grows or stays flat with the size, the count and the deployment. A hit "
    "changed in the expected direction by more than the noise of the repetitions, a miss in the "
    "opposite direction. An expected flat step is a hit if it changed by at most a factor of 1.5, "
    "and a miss if it changed by more than that factor and the noise."
)
KIND_WORDS: Mapping[StatementKind, str] = {
    "dominates": "which step takes longest",
    "size": "from one size to another",
    "count": "from one count to another",
    "deployment": "from one deployment to another",
}


@dataclass(frozen=True)
class Statement:
    """One expectation about two step times: at the configuration `point_id`, the step `step` of
    `operation` takes `expected` times as long as the step `other_step` at the configuration
    `other_id`.

    `kind`: "dominates" or a key of KINDS.
    """

    kind: StatementKind
    operation: str
    step: StepPath
    point_id: str
    other_id: str
    other_step: StepPath
    expected: float

    @property
    def claim(self) -> Literal["longer", "shorter", "flat"]:
        """The expected ratio as a word: "longer", "shorter" or "flat"."""
        if max(self.expected, 1 / self.expected) <= FLAT:
            return "flat"
        return "longer" if self.expected > 1 else "shorter"


@dataclass(frozen=True)
class Verdict:
    """An expectation, the measured ratio of its two times, and the outcome.

    `noise`: the factor by which random errors can change the measured ratio: exp(max(LEAST_NOISE, 2
    x standard error of ln(ratio))).
    """

    statement: Statement
    measured: float
    noise: float
    outcome: Outcome


class Expected(StudyResult):
    """The study's result: a verdict on every expectation whose steps were measured."""

    study = "expectations"
    is_printed_by_run = False
    section_order = 46
    tab = Tab.MODELS
    title = "Expectations"
    empty = "Nothing was expected that the measured steps could refute."

    verdicts: list[Verdict]

    def tables(self, run: FinishedRun) -> list[Table]:
        """A table with the numbers of hits and misses for each kind of expectation."""
        columns = heads("expectation", *OUTCOMES, "hits")
        rows = []
        for kind, counts in tally(self.verdicts).items():
            share = counts[HIT] / sum(counts.values())
            shown = (count(counts[outcome]) for outcome in OUTCOMES)
            rows.append(
                (words(KIND_WORDS.get(kind, kind)), *shown, TableCell(share, f"{share:.0%}"))
            )
        return [Table("What the description expected before the run", columns, rows)]

    def section(self, run: FinishedRun) -> Section:
        """A section with tables of the hits, the misses and all expectations.

        The section is empty if there are no verdicts, if no model was compared with the
        measurements, or if the scenario declares a design of experiments.
        """
        blocks: list[Table | Paragraph] = []
        if self.verdicts and self._is_compared(run):
            blocks = [Paragraph(BASIS), *self.tables(run)]
            if missed := [one for one in self.verdicts if one.outcome == MISS]:
                blocks.append(_listed("misses", missed, run))
            blocks.append(_listed("expectations", self.verdicts, run))
        return Section(self.study, self.title, self.section_order or 0, self.empty, blocks)

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """Returns the number of verdicts with each outcome, for each kind of expectation. The
        document is empty if there are no verdicts, if no model was compared with the measurements,
        or if the scenario declares a design of experiments."""
        if not self.verdicts or not self._is_compared(run):
            return {}
        counts: dict[str, JsonValue] = {
            kind: dict(found.items()) for kind, found in tally(self.verdicts).items()
        }
        return {"expectations": counts}

    def _is_compared(self, run: FinishedRun) -> bool:
        return run.find(Comparison) is not None and not run.scenario.design.factor


def _listed(what: str, verdicts: Sequence[Verdict], run: FinishedRun) -> Table:
    labels = {point.id: point.labels for point in run.points}
    columns = [
        *(Column(name, "left") for name in ("operation", "step", "where", "other", "stated")),
        *(Column(name) for name in ("expected ratio", "measured ratio", "noise", "outcome")),
    ]
    rows = []
    for one in verdicts[:MOST_ROWS]:
        stated = one.statement
        where, other = (run.name(labels.get(id, {})) for id in (stated.point_id, stated.other_id))
        named = (stated.operation, str(stated.step), where)
        compared = str(stated.other_step) if stated.kind == "dominates" else other
        rows.append(
            (
                *map(words, (*named, compared, stated.claim)),
                number(stated.expected),
                number(one.measured),
                TableCell(one.noise, f"× ÷ {one.noise:.2f}"),
                words(one.outcome),
            )
        )
    shown = f"The first {MOST_ROWS} of" if len(verdicts) > MOST_ROWS else "All"
    return Table(what.capitalize(), columns, rows, folded=f"{shown} {len(verdicts)} {what}")


class ExpectationsStudy(Study[Expected]):
    """Compares the expectations that the file system's description implies with the measurements
    of a run."""

    name = "expectations"
    result = Expected
    needs = Needs(measured=True, models=True, design=False)
    order = 30

    def run(self, run: FinishedRun, progress: Progress) -> Expected:
        """The verdicts on all expectations about the configurations of the run."""
        return Expected(verdicts=score(expectations(run.points), run.settled))


def make(name: str) -> ExpectationsStudy:
    """Returns the study `expectations`; study discovery calls this function with the study's
    name."""
    return ExpectationsStudy()


def expectations(points: Sequence[Point]) -> list[Statement]:
    """Returns the expectations that the uncalibrated model derives. Some compare steps of one
    operation, others compare pairs of similar configurations. Configurations that run a program
    have none, because programs have no description."""
    points = [point for point in points if has_stream(point.scenario)]
    predicted = {
        point.id: {(s.operation, s.path): s.time_s_mean for s in SequenceModel().run(point).steps}
        for point in points
    }
    return [*_dominance(predicted), *_neighbours(points, predicted)]


def _dominance(predicted: Mapping[str, StepSeconds]) -> Iterator[Statement]:
    """Yields one expectation for each set of steps that have the same outer step: the longest step
    of the set takes longer than the second longest. A set is left out if the predicted ratio of
    these two times is below MARKED."""
    for point, steps in predicted.items():
        # A step is compared only with steps that have the same outer step, and not with its own
        # inner steps.
        for operation, outer in dict.fromkeys((o, s.parent) for o, s in steps):
            own = sorted(
                ((t, s) for (o, s), t in steps.items() if (o, s.parent) == (operation, outer)),
                reverse=True,
            )
            if len(own) > 1 and own[1][0] > 0 and own[0][0] / own[1][0] >= MARKED:
                yield Statement(
                    "dominates",
                    operation,
                    own[0][1],
                    point,
                    point,
                    own[1][1],
                    own[0][0] / own[1][0],
                )


def _neighbours(
    points: Sequence[Point], predicted: Mapping[str, StepSeconds]
) -> Iterator[Statement]:
    """Yields the expectations about pairs of configurations that differ only in keys of one kind,
    such as the file size. Each expectation compares the times of one step in the two
    configurations. A step is left out if the ratio of its larger to its smaller time is between
    FLAT and MARKED."""
    for kind, first, second in _pairs(points):
        for key, time in predicted[second.id].items():
            before = predicted[first.id].get(key, 0.0)
            if not before or not time:
                continue
            ratio = time / before
            if max(ratio, 1 / ratio) <= FLAT or max(ratio, 1 / ratio) >= MARKED:
                yield Statement(kind, key[0], key[1], second.id, first.id, key[1], ratio)


def _pairs(points: Sequence[Point]) -> Iterator[tuple[StatementKind, Point, Point]]:
    """Yields (kind, point, later point) for points that differ only in keys of one kind. The kinds
    are file size, deployment, and number of clients and operations.

    Points that agree in all other keys form a series. Each point is compared with the next
    `NEAREST` points of the same series.
    """
    found = []
    for kind, varies in KINDS.items():
        rows: dict[frozenset[tuple[str, LevelValue]], list[int]] = {}
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
    # The pairs are yielded in the order of the configurations.
    for first, second, kind in sorted(found):
        yield kind, points[first], points[second]


def score(statements: Sequence[Statement], results: Sequence[Result]) -> list[Verdict]:
    """Returns a verdict on each expectation whose steps were measured. The following rules are
    tried in this order.

    A "flat" expectation is a hit if the larger measured time is at most MARKED times the smaller.
    An expectation is "within noise" if the measured ratio differs from 1 by no more than the noise,
    which is estimated from repetitions. A "longer" or "shorter" expectation is a hit if the
    measured ratio is above or below 1, respectively. All other expectations are misses.
    """
    logs: dict[tuple[str, str, StepPath], list[float]] = {}
    for result in results:
        if result.method == "measure" and result.complete:
            for step in result.steps:
                if step.time_s_mean > 0:
                    key = (result.point.id, step.operation, step.path)
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
    if flat and abs(log) <= np.log(MARKED):
        outcome: Outcome = HIT
    elif abs(log) <= noise:
        outcome = NOISE
    else:
        outcome = HIT if not flat and (log > 0) == (one.expected > 1) else MISS
    return Verdict(one, float(np.exp(log)), float(np.exp(noise)), outcome)


def tally(verdicts: Sequence[Verdict]) -> dict[StatementKind, dict[Outcome, int]]:
    """Returns for each kind of expectation the number of verdicts with each outcome."""
    found: dict[StatementKind, dict[Outcome, int]] = {}
    for verdict in verdicts:
        counts = found.setdefault(verdict.statement.kind, dict.fromkeys(OUTCOMES, 0))
        counts[verdict.outcome] += 1
    return found
