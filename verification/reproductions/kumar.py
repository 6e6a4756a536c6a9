"""Computes figures (errors, coverages and noise) for the experiment of Kumar 2018 from recordings.
Some recordings are of a designed study of a real GlusterFS. The other recordings are of a program
that runs in iterations. The time of an iteration is predicted by a model that was fitted to plain
reads and writes only."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from dfslab.models.learnt import LearntModel, Priors, TrainingRows, rows_of
from dfslab.models.sequence import SequenceModel
from dfslab.result import Result
from dfslab.studies import crossval
from dfslab.studies.designs import learning
from dfslab.studies.runs.means import geometric_mean
from sklearn.model_selection import GroupKFold

from verification import recordings
from verification.figures import Figure

STUDY, PROGRAM = "kumar-glusterfs", "kumar-application"
# Number of folds into which the layouts of the study are divided. Each fold is held out once.
FOLDS = 4
LAYOUTS = "layouts, nothing calibrated"


def subjects() -> list[str]:
    """Returns the name of every recording of the designed study and of the program."""
    return [one for name in (STUDY, PROGRAM) for one in recordings.of_scenario(name)]


def parts(subject: str) -> tuple[str, ...]:
    """Returns the names of the parts into which the figures of a recording are divided. Each part
    can be computed without the other parts."""
    return ("",) if subject.startswith(PROGRAM) else ("", LAYOUTS, *crossval.SPLITS)


def figures(subject: str) -> list[Figure]:
    """Returns all figures (errors, coverages and noise) that are computed from one recording."""
    return [one for part in parts(subject) for one in of_part(subject, part)]


def of_part(subject: str, part: str) -> list[Figure]:
    """Returns the figures of the recording `subject` that belong to `part` (see `parts`). The
    figures of part "" use all runs. The figures of every other part judge models on held-out runs.
    The part determines which runs are held out."""
    if subject.startswith(PROGRAM):
        return _of_program(subject)
    results = recordings.runs(STUDY, subject)
    if not part:
        return _of_runs(subject, results)
    return _of_layouts(subject, results) if part == LAYOUTS else _of_split(subject, results, part)


def _figure(subject: str, bar: str, part: str, value: float, points: int) -> Figure:
    return Figure("kumar", subject, f"kumar.{bar}", part, float(value), points)


def _of_runs(subject: str, results: Sequence[Result]) -> list[Figure]:
    """Returns two figures of a recording: the noise between repetitions, and the error of the
    uncalibrated sequence model."""
    rows = rows_of(results)
    alone = np.exp(Priors(None).matrix(rows.points)[:, 0]) / rows.rates - 1
    noise = learning.noise(results)
    assert noise is not None, "no configuration was run twice"
    return [
        _figure(subject, "noise", "", noise.median_abs_error, noise.configurations),
        _figure(subject, "description-error", "", np.median(np.abs(alone)), len(rows.points)),
    ]


def _of_layouts(subject: str, results: Sequence[Result]) -> list[Figure]:
    """Returns two figures of the grey-box model: its median error on held-out layouts, and the
    coverage of its intervals.

    The grey-box model adds a fitted correction to the rates of the sequence model. The sequence
    model is not calibrated here.
    """
    rows = rows_of(results)
    count = len(rows.points)
    off, held = np.zeros(count), np.zeros(count)
    for known, requested in GroupKFold(FOLDS).split(rows.rates, groups=rows.layouts):
        part = TrainingRows(
            [rows.points[i] for i in known],
            rows.rates[known],
            rows.groups[known],
            rows.layouts[known],
        )
        model = LearntModel("greybox").fit_rows(part, None)
        points = [rows.points[i] for i in requested]
        off[requested] = model.predict(points) / rows.rates[requested] - 1
        bounds = model.intervals(points)
        held[requested] = (bounds[:, 0] <= rows.rates[requested]) & (
            rows.rates[requested] <= bounds[:, 1]
        )
    return [
        _figure(subject, "greybox-error", LAYOUTS, np.median(np.abs(off)), count),
        _figure(subject, "greybox-coverage", LAYOUTS, held.mean(), count),
    ]


def _of_split(subject: str, results: Sequence[Result], split: str) -> list[Figure]:
    """Returns the errors of the grey-box model on held-out runs. `split` is the name of the runs
    that `dfslab learn` holds out: random rows, layouts, rates or larger scales."""
    seed = results[0].point.scenario.run.seed
    found = crossval.validate(results, ("greybox", "linear"), seed, _silent, (split,))
    scores = found.scores[split]
    grey, linear = scores["greybox"], scores["linear"]
    ratio = grey.median_abs_error / linear.median_abs_error
    return [
        _figure(subject, "greybox-error", split, grey.median_abs_error, grey.n),
        _figure(subject, "greybox-coverage", split, grey.coverage_90, grey.n),
        _figure(subject, "greybox-ratio", split, ratio, grey.n),
    ]


def _silent(*_: Any) -> None:
    """A progress callback that prints nothing."""


def _of_program(subject: str) -> list[Figure]:
    """Returns the errors of the predicted times of a program's iterations. The predicting model was
    fitted to plain reads and writes only."""
    results = recordings.runs(PROGRAM, subject)
    model = SequenceModel().fit([result for result in results if not result.point.held_out])
    rates: dict[str, list[float]] = {}
    points = {}
    for result in results:
        if result.point.held_out:
            points[result.point_id] = result.point
            rates.setdefault(result.point_id, []).append(result.value())
    measured = [geometric_mean(found).value for found in rates.values()]
    said = [model.run(points[point]).value() for point in rates]
    errors = [abs(a / b - 1) for a, b in zip(said, measured, strict=True)]
    every = list(combinations(range(len(said)), 2))
    right = [(said[a] - said[b]) * (measured[a] - measured[b]) > 0 for a, b in every]
    return [
        _figure(subject, "program-order", "", statistics.mean(right), len(every)),
        _figure(subject, "program-error", "", statistics.median(errors), len(errors)),
    ]
