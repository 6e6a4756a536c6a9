"""Analyses a designed sweep: regression tables, slopes, importance of factors, validation of
models, and the next runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from threadpoolctl import threadpool_limits

from dfslab.models.fit.demand import calibrate
from dfslab.models.learn.estimators import PaperLinear, adjusted, r_squared
from dfslab.models.learn.split_linear import layout_columns
from dfslab.models.learnt import LearntModel, TrainingRows, rows_of, some
from dfslab.quantiles import p90
from dfslab.result import Result
from dfslab.spec.scenario import Scenario
from dfslab.studies import crossval
from dfslab.studies.contract import Progress
from dfslab.studies.designs import design_plan, importance
from dfslab.studies.designs.legal import Legal, legal
from dfslab.studies.designs.lessons import Learning, Noise, PaperCoefficient, PaperTable
from dfslab.studies.designs.next import propose
from dfslab.studies.designs.slopes import encoded, operation_of, slopes

MODELS = ("greybox", "boosting", "gaussian", "linear", "linear-split", "mean", "serial", "ideal")
CURVES = ("greybox", "boosting", "linear")
TRAINING_SHARE = 0.75
# Number of randomly drawn legal configurations whose predicted rates are checked against physical
# limits.
REQUESTED = 120


def learn(scenario: Scenario, results: Sequence[Result], report: Progress) -> Learning:
    """Analyses the measured results of a scenario with a design.

    Raises RunFailed if there are too few results.
    """
    measured = [r for r in results if r.method == "measure" and r.complete and r.value() > 0]
    rows = rows_of(measured)
    allowed = legal(scenario)
    seed = scenario.run.seed
    report(1, 6, "validating")
    validation = crossval.validate(measured, MODELS, seed, report)
    report(2, 6, "learning curve")
    curve = crossval.learning_curve(measured, CURVES, seconds_of, seed, report)
    report(3, 6, "fitting the grey-box model")
    grey = LearntModel("greybox").fit_rows(rows, calibrate(some(measured)), conformal=False)
    report(4, 6, "importance")
    with threadpool_limits(limits=1):
        ranked = importance.importance(scenario, allowed, rows, grey)
    impossible = _impossible(scenario, allowed, rows, grey, seed)
    report(5, 6, "the next experiment")
    return Learning(
        runs=len(measured),
        configurations=len(rows.points),
        testbeds=len(set(rows.groups)),
        legal=allowed.size,
        box=allowed.box,
        measured_s=seconds_of(measured),
        predicted_s=_predicted_s(measured),
        regressions=paper_tables(rows, seed),
        slopes=slopes(rows),
        importance=ranked.factors,
        regimes=ranked.regimes,
        blocks=ranked.blocks,
        first_order_sum=ranked.first_order_sum,
        importance_refused=ranked.refusal,
        validation=validation,
        curve=curve,
        impossible=impossible,
        noise=noise(measured),
        proposals=propose(scenario, allowed, rows),
    )


def noise(measured: Sequence[Result]) -> Noise | None:
    """The spread between repetitions of the same configuration; None if no configuration was
    repeated."""
    groups: dict[str, list[float]] = {}
    for result in measured:
        groups.setdefault(result.point_id, []).append(result.value())
    errors = [
        abs(one / other - 1.0)
        for values in groups.values()
        for one, other in permutations(values, 2)
    ]
    if not errors:
        return None
    return Noise(
        configurations=sum(len(values) > 1 for values in groups.values()),
        median_abs_error=float(np.median(errors)),
        p90_abs_error=p90(errors),
    )


def seconds_of(measured: Sequence[Result]) -> float:
    """Returns the time that the measurements took, in seconds. The time is the sum of the runs'
    durations, an overhead RUN_S for each run, and the estimated start time of each testbed."""
    testbeds = {crossval.testbed_of(result.point): result.point.scenario for result in measured}
    runs = sum(
        (result.load.wall_s if result.load else 0.0) + design_plan.RUN_S for result in measured
    )
    return runs + sum(design_plan.testbed_cost_s(one) for one in testbeds.values())


def _predicted_s(measured: Sequence[Result]) -> float:
    testbeds = {crossval.testbed_of(result.point): result.point.scenario for result in measured}
    runs = sum(design_plan.run_cost_s(result.point.scenario) for result in measured)
    return runs + sum(design_plan.testbed_cost_s(one) for one in testbeds.values())


def paper_tables(rows: TrainingRows, seed: int) -> list[PaperTable]:
    """Returns Kumar 2018's linear regression of each operation's throughput (MB/s) on the factors
    of the paper's first model: hardware, layout and size of the data. Nothing is log-transformed.
    Operations with too few runs for the regression are omitted."""
    found = []
    operations = np.array([operation_of(point) for point in rows.points])
    for name in sorted(set(operations)):
        own = np.flatnonzero(operations == name)
        encoding, every = encoded(rows, own, "linear")
        kept = layout_columns(encoding, rows.points[0].scenario.file_system.name)
        matrix = every[:, kept]
        if len(own) < 2 * matrix.shape[1]:
            continue
        rates = rows.rates[own] / 1e6
        model = PaperLinear().fit(matrix, rates)
        found.append(
            PaperTable(
                operation=name,
                rows=len(own),
                constant=model.intercept_,
                coefficients=[
                    PaperCoefficient(
                        name=n, value=float(v), standard_error=float(e), effect=float(f)
                    )
                    for n, v, e, f in zip(
                        [encoding.names[column] for column in kept],
                        model.coef_,
                        model.standard_error_,
                        model.effects,
                        strict=True,
                    )
                    if np.isfinite(e)
                ],
                adjusted_r_squared=adjusted(model.r_squared_, len(own), matrix.shape[1]),
                validation=_hold_out(matrix, rates, seed),
                negative_share=float((model.predict(matrix) < 0).mean()),
            )
        )
    return found


def _hold_out(matrix: np.ndarray, rates: np.ndarray, seed: int) -> float:
    """R² of the paper's regression on a random quarter of the rows that was not used in the fit,
    as in Kumar 2018."""
    order = np.random.default_rng(seed).permutation(len(rates))
    cut = int(TRAINING_SHARE * len(rates))
    model = PaperLinear().fit(matrix[order[:cut]], rates[order[:cut]])
    return r_squared(rates[order[cut:]], model.predict(matrix[order[cut:]]))


def _impossible(
    scenario: Scenario, allowed: Legal, rows: TrainingRows, grey: LearntModel, seed: int
) -> dict[str, float]:
    """Returns the fraction of impossible predictions of each method for a sample of legal rows. A
    predicted rate is impossible if it is not above 0, or if it is above the line rate."""
    points = importance.points_of(
        scenario, allowed, allowed.sample(REQUESTED, np.random.default_rng(seed))
    )
    limits = np.exp(grey.priors.matrix(points)[:, 1]) * (1 + 1e-9)
    found = {}
    for name in ("greybox", "linear", "linear-split"):
        model = (
            grey if name == "greybox" else LearntModel(name).fit_rows(rows, None, conformal=False)
        )
        shown = model.predict(points)
        found[name] = float(np.mean((shown <= 0) | (shown > limits)))
    return found
