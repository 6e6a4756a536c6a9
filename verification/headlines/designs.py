"""Headline figures of a designed experiment: the error of the grey-box model, whose description is
calibrated, and the factors that matter in the measured data."""

from __future__ import annotations

from statistics import fmean

import numpy as np
from dfslab.models.learnt import TrainingRows, rows_of
from dfslab.result import Result
from dfslab.studies import crossval
from dfslab.studies.designs import importance

from verification import recordings
from verification.headlines.headline import Headlines
from verification.reproductions import kumar

# The name of the split that holds out the runs with many clients. Only one model is fitted for this
# split.
EXTRAPOLATED = "more clients"
# Number of runs from which the importance of factors is computed. With more runs, the computation
# takes more than a few seconds.
RANKED_RUNS = 120


def _results() -> list[Result]:
    """Returns all runs of the designed study of GlusterFS."""
    (subject,) = recordings.of_scenario(kumar.STUDY)
    return recordings.runs(kumar.STUDY, subject)


def _quiet(done: float, total: float, text: str, *remaining_s: float) -> None:
    """A report of progress that prints nothing."""


def calibrated() -> Headlines:
    """Returns the median error and the coverage of the grey-box model on runs with many clients.
    The runs with many clients are those with the larger half of the numbers of clients. The
    description of the model is calibrated on some of the other runs."""
    found = crossval.validate(
        _results(), ("greybox",), recordings.scenario(kumar.STUDY).run.seed, _quiet, (EXTRAPOLATED,)
    )
    score = found.scores[EXTRAPOLATED]["greybox"]
    return {
        f"median error, {EXTRAPOLATED} (%)": 100 * score.median_abs_error,
        f"coverage of intervals, {EXTRAPOLATED} (%)": 100 * score.coverage_90,
    }


def _part(count: int) -> TrainingRows:
    """Returns `count` training rows of the designed study, at even distances in the list of all
    rows."""
    rows = rows_of(_results())
    kept = np.linspace(0, len(rows.points) - 1, count).round().astype(int)
    points = [rows.points[at] for at in kept]
    return TrainingRows(points, rows.rates[kept], rows.groups[kept], rows.layouts[kept])


def measured_importance() -> Headlines:
    """Returns headline figures for each measure of importance that needs only the measured runs and
    no model. For each measure, the figures are the factor with the highest rank, the index of this
    factor, and the mean width of the intervals of all indices."""
    scenario = recordings.scenario(kumar.STUDY)
    found = importance.of_data(_part(RANKED_RUNS), scenario.run.seed)
    headlines: Headlines = {}
    for name, indices in found.items():
        first = max(indices, key=lambda factor: indices[factor].value)
        headlines[f"factor ranked first by {name}"] = first
        headlines[f"index of that factor by {name}"] = indices[first].value
        headlines[f"mean width of the intervals of {name}"] = fmean(
            (one.high or 0.0) - (one.low or 0.0) for one in indices.values()
        )
    return headlines
