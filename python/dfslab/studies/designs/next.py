"""Proposes the next experiments: the runs that reduce the uncertainty about a question's
configurations most, relative to their cost in seconds.

In a Gaussian process, a run of the configuration x reduces the variance of the rate of a
configuration q by cov(q, x)² / (var(x) + noise), whatever the run measures (Krause and Guestrin
2008). Runs are selected greedily by this reduction, averaged over the configurations q of the
question and divided by the cost of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dfslab.models.learnt import LearntModel, TrainingRows
from dfslab.spec.design import LevelValue
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies.designs import design_plan
from dfslab.studies.designs.legal import DesignRow, Legal
from dfslab.studies.designs.lessons import Proposal

CANDIDATES = 160
QUERIES = 60
# Number of random rows that are drawn to find one row that matches the question.
DRAWN = 40
PROPOSED = 3


def propose(
    scenario: Scenario,
    allowed: Legal,
    rows: TrainingRows,
    question: Mapping[str, LevelValue] | None = None,
    count: int = PROPOSED,
) -> list[Proposal]:
    """Proposes the most informative runs, in the order of a greedy selection.

    `question`: keys and values of a scenario. The proposed runs shall reduce the uncertainty about
    the legal configurations that have these values. Without a question, the runs shall reduce the
    uncertainty about all legal configurations. This also applies if no randomly drawn legal
    configuration has these values. `count`: number of runs.
    """
    random = np.random.default_rng(scenario.run.seed)
    model = LearntModel("gaussian").fit_rows(rows, None, conformal=False)
    queries = _matching(allowed, question or {}, random)
    candidates = allowed.sample(CANDIDATES, random)
    points = [_point(scenario, allowed, row) for row in [*queries, *candidates]]
    covariance, noise = posterior(model, points)
    costs = [
        design_plan.testbed_cost_s(point.scenario) + design_plan.run_cost_s(point.scenario)
        for point in points[len(queries) :]
    ]
    found = []
    for best, before, after in shrink(covariance, noise, len(queries), costs, count):
        labels = design_plan.labels(allowed, candidates[best])
        found.append(Proposal(labels=labels, seconds=costs[best], sd_before=before, sd_after=after))
    return found


def _matching(
    allowed: Legal, question: Mapping[str, LevelValue], random: np.random.Generator
) -> list[DesignRow]:
    drawn = allowed.sample(QUERIES if not question else DRAWN * QUERIES, random)
    kept = [
        row
        for row in drawn
        if all(allowed.values(row).get(key) == value for key, value in question.items())
    ]
    return (kept or drawn)[:QUERIES]


def _point(scenario: Scenario, allowed: Legal, row: DesignRow) -> Point:
    values = allowed.values(row)
    return Point(scenario=scenario.with_values(values), labels=values)


def posterior(model: LearntModel, points: Sequence[Point]) -> tuple[np.ndarray, float]:
    """Returns (covariance matrix, noise variance of one run). The matrix is that of the log rates
    at `points`, given all runs so far."""
    estimator = model.fitted
    process = estimator.process_
    shown = (model.matrix(points) - estimator.mean_) / estimator.scale_
    covariance = process.predict(shown, return_cov=True)[1]
    # scikit-learn has no public attribute for the scale of its targets.
    scale = float(np.ravel(process._y_train_std)[0]) ** 2  # noqa: SLF001
    noise = float(process.kernel_.k2.noise_level) * scale
    # The Gaussian process adds noise to every variance. The noise is subtracted, so that the result
    # has only the variance that runs can reduce.
    return covariance - noise * np.eye(len(points)), max(noise, 1e-9)


def shrink(
    covariance: np.ndarray, noise: float, queries: int, costs: Sequence[float], count: int
) -> list[tuple[int, float, float]]:
    """Selects `count` runs greedily. Returns (index of the candidate, standard deviation before,
    standard deviation after) for each selected run. The standard deviation is the root of the mean
    variance over the question's configurations.

    Each selected run maximises the reduction of this mean variance, divided by the run's cost in
    seconds (`costs`). In `covariance`, the first `queries` rows belong to the question's
    configurations, and the other rows to the candidates. `noise`: variance of one run.
    """
    covariance = covariance.copy()
    found = []
    for _ in range(count):
        own = np.maximum(np.diag(covariance)[queries:], 0.0) + noise
        taken = (covariance[:queries, queries:] ** 2).mean(axis=0) / own
        best = int(np.argmax(taken / np.asarray(costs)))
        before = float(np.sqrt(max(np.diag(covariance)[:queries].mean(), 0.0)))
        column = covariance[:, queries + best]
        covariance -= np.outer(column, column) / own[best]
        after = float(np.sqrt(max(np.diag(covariance)[:queries].mean(), 0.0)))
        found.append((best, before, after))
    return found
