"""Headline figures of models that are fitted to the runs of the designed study: the errors of the
models on held-out layouts, and the factors with the highest ranks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from dfslab.models.learnt import LearntModel, TrainingRows, rows_of
from dfslab.spec.scenario import Point
from dfslab.studies.designs import importance, sensitivity, variance
from dfslab.studies.designs.legal import legal
from sklearn.model_selection import GroupKFold

from verification import recordings
from verification.headlines.headline import Headlines
from verification.reproductions import kumar


def greybox() -> Headlines:
    """Returns two headline figures of the uncalibrated grey-box model on held-out layouts: its
    median error, and the coverage of its intervals."""
    model, requested, measured = _of_fold("greybox")
    low, high = model.intervals(requested).T
    return {
        "kumar.greybox-error": _median_error(model, requested, measured),
        "kumar.greybox-coverage": float(np.mean((low <= measured) & (measured <= high))),
    }


def boosting() -> Headlines:
    """Returns the headline figure of the boosting model, its median error on held-out layouts. The
    same layouts are held out for the grey-box model."""
    model, requested, measured = _of_fold("boosting")
    return {"median error of boosting": _median_error(model, requested, measured)}


def _of_fold(name: str) -> tuple[LearntModel, list[Point], np.ndarray]:
    """Fits a model to all but one fold of the layouts. Returns (fitted model, points of the
    left-out fold, measured rates of these points in bytes per second)."""
    rows = _rows()
    known, requested = next(GroupKFold(kumar.FOLDS).split(rows.rates, groups=rows.layouts))
    part = TrainingRows(
        [rows.points[i] for i in known], rows.rates[known], rows.groups[known], rows.layouts[known]
    )
    model = LearntModel(name).fit_rows(part, None, conformal=name == "greybox")
    return model, [rows.points[i] for i in requested], rows.rates[requested]


def _median_error(model: LearntModel, requested: Sequence[Point], measured: np.ndarray) -> float:
    return float(np.median(np.abs(model.predict(requested) / measured - 1)))


def _rows() -> TrainingRows:
    """Returns all runs of the designed study as training rows."""
    (subject,) = recordings.of_scenario(kumar.STUDY)
    return rows_of(recordings.runs(kumar.STUDY, subject))


def ranked_factors() -> Headlines:
    """Returns headline figures of the grey-box model's sensitivity indices. The indices are
    computed over the legal combinations of factors. The figures are the factors with the highest
    ranks, the index of the first factor, the mean width of the intervals, and the number of factors
    that matter."""
    scenario, rows = recordings.scenario(kumar.STUDY), _rows()
    allowed, seed = legal(scenario), scenario.run.seed
    names = [factor.name for factor in allowed.factors]
    drawn = variance.sample(allowed, importance.BASE_ROWS, importance.PAIR_ROWS, seed)
    grey = LearntModel("greybox").fit_rows(rows, None, conformal=False)
    answers = importance.refitted(scenario, allowed, rows, grey, drawn.rows)
    found = variance.indices(drawn, answers, names, seed).factors
    ranked = sorted(found, key=lambda one: -one.total.value)
    verdicts = [sensitivity.verdict(one, None) for one in ranked]
    widths = [(one.total.high or 0.0) - (one.total.low or 0.0) for one in ranked]
    return {
        "factor ranked first": ranked[0].factor,
        "factors ranked first to third": ", ".join(one.factor for one in ranked[:3]),
        "total index of the first factor": ranked[0].total.value,
        "mean width of the total indices": float(np.mean(widths)),
        "factors that matter": float(verdicts.count("matters")),
    }
