"""Analyses a designed sweep: regression tables, slopes, importance of factors, validation of
models, and the next runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from dfslab.models.fit.demand import calibrate
from dfslab.models.learn.encoding import Encoding
from dfslab.models.learn.estimators import PaperLinear, adjusted, r_squared
from dfslab.models.learnt import LearntModel, TrainingRows, rows_of, some
from dfslab.result import Metric, Result
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies import crossval
from dfslab.studies.contract import Progress
from dfslab.studies.designs import design_plan, sensitivity
from dfslab.studies.designs.legal import DesignRow, Legal, legal
from dfslab.studies.designs.lessons import (
    FactorImportance,
    Learning,
    Noise,
    PaperCoefficient,
    PaperTable,
    Regime,
)
from dfslab.studies.designs.next import propose
from dfslab.studies.designs.slopes import encoded, operation_of, slopes

MODELS = ("greybox", "boosting", "gaussian", "linear", "mean", "serial", "ideal")
CURVES = ("greybox", "boosting", "linear")
BASE_ROWS = 32
REFITS = 6
TRAINING_SHARE = 0.75
# One testbed in HELD_OUT is held out; on it, the effect of permuting a factor is measured.
HELD_OUT = 4
# Number of legal configurations for which predicted rates are checked against physical limits.
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
        importance, regimes = _importance(scenario, allowed, rows, grey)
        answers = _answers(scenario, allowed, grey)
        # Saltelli's sampling needs a power of two as the number of rows.
        blocks = sensitivity.blocks(allowed, answers, BASE_ROWS, seed)
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
        importance=importance,
        regimes=regimes,
        blocks=blocks,
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
        p90_abs_error=float(np.quantile(errors, 0.9)),
    )


def seconds_of(measured: Sequence[Result]) -> float:
    """Seconds that the measurements took: the durations of the runs, and the estimated start
    time of each testbed."""
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
    """Kumar 2018's linear regression of each operation's throughput (MB/s) on the factors,
    neither of them log-transformed."""
    found = []
    operations = np.array([operation_of(point) for point in rows.points])
    for name in sorted(set(operations)):
        own = np.flatnonzero(operations == name)
        encoding, matrix = encoded(rows, own, "linear")
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
                        encoding.names,
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


def _points(scenario: Scenario, allowed: Legal, rows: Sequence[DesignRow]) -> list[Point]:
    found = []
    for row in rows:
        values = allowed.values(row)
        found.append(Point(scenario=scenario.with_values(values), labels=values))
    return found


def _answers(
    scenario: Scenario, allowed: Legal, model: LearntModel
) -> Callable[[list[DesignRow]], Any]:
    def answer(rows: list[DesignRow]) -> np.ndarray:
        distinct = list(dict.fromkeys(rows))
        logs = np.log(model.predict(_points(scenario, allowed, distinct)))
        known = dict(zip(distinct, logs, strict=True))
        return np.array([known[row] for row in rows])

    return answer


def _importance(
    scenario: Scenario, allowed: Legal, rows: TrainingRows, grey: LearntModel
) -> tuple[list[FactorImportance], list[Regime]]:
    """Returns (importance of each factor; importance under each regime).

    A factor's importance is computed twice: by the grey-box model over the legal set, and by the
    measured data alone.
    """
    seed = scenario.run.seed
    names = [factor.name for factor in allowed.factors]
    drawn = sensitivity.sample(allowed, BASE_ROWS, seed)
    answers = refitted(rows, grey, _points(scenario, allowed, drawn.rows), seed)
    found = sensitivity.indices(drawn, answers, names, seed)
    measures = _of_data(rows, seed)
    encoding = Encoding(grey.encoding.factors) if grey.encoding else Encoding(())
    matrix = encoding.matrix([point.labels for point in rows.points])
    observed = [factor.name for factor in encoding.factors]
    partners = sensitivity.moves_with(matrix, encoding.owner, observed)
    for one in found:
        one.measures = {
            name: table[one.factor] for name, table in measures.items() if one.factor in table
        }
        never = None if one.factor in observed else "nothing: it never varied"
        one.verdict = sensitivity.verdict(one, never or partners.get(one.factor))
    regimes = []
    for name, keep in _regimes(allowed):
        count = sum(map(keep, drawn.base))
        regimes.append(
            Regime(
                name=name,
                rows=count,
                importance=sensitivity.indices(drawn, answers, names, seed, keep),
            )
        )
    return found, regimes


def refitted(
    rows: TrainingRows, grey: LearntModel, points: Sequence[Point], seed: int
) -> list[np.ndarray]:
    """Predictions (log rate) at `points`: first by the model, then by models fitted again to
    bootstrap samples of testbeds."""
    requested, known = grey.matrix(points), grey.matrix(rows.points)
    target = np.log(rows.rates)
    answers = [np.log(grey.predict(points))]
    random = np.random.default_rng(seed)
    testbeds = np.unique(rows.groups)
    for _ in range(REFITS):
        drawn = random.choice(testbeds, len(testbeds))
        chosen = np.concatenate([np.flatnonzero(rows.groups == testbed) for testbed in drawn])
        answers.append(grey.estimator().fit(known[chosen], target[chosen]).predict(requested))
    return answers


def _of_data(rows: TrainingRows, seed: int) -> dict[str, dict[str, Metric]]:
    """Importance measure -> factor -> importance, computed from the measured data without the
    grey-box model. The measures are Kumar's VI, PAWN, RBD-FAST, permutation and SHAP."""
    boosted = LearntModel("boosting").fit_rows(rows, None, conformal=False)
    assert boosted.encoding is not None
    factors = boosted.encoding.factors
    names = [factor.name for factor in factors]
    levels = np.array(
        [
            [
                [str(level) for level in factor.levels].index(str(factor.level_of(point.labels)))
                for factor in factors
            ]
            for point in rows.points
        ]
    )
    matrix, target = boosted.matrix(rows.points), np.log(rows.rates)
    testbeds = np.unique(rows.groups)
    held = np.isin(
        rows.groups,
        np.random.default_rng(seed).choice(
            testbeds, max(1, len(testbeds) // HELD_OUT), replace=False
        ),
    )
    part = boosted.estimator().fit(matrix[~held], target[~held])
    owner = boosted.encoding.owner
    return {
        "VI of the paper": sensitivity.paper_importance(levels, rows.rates, names, seed),
        "PAWN": sensitivity.pawn(levels, target, names, seed),
        "RBD-FAST": sensitivity.rbd_fast(levels, target, names, seed),
        "permutation": sensitivity.permutation(
            part.predict, matrix[held], target[held], owner, names, seed
        ),
        "SHAP": sensitivity.shapley(
            boosted.estimator().fit(matrix, target), matrix, owner, names, seed
        ),
    }


def _regimes(allowed: Legal) -> list[tuple[str, Callable[[DesignRow], bool]]]:
    """The regimes (subsets of legal rows) under which importance is also computed, as (name,
    filter on rows). Each state of the page cache is a regime. Further regimes are a network
    slower than the disks, and disks slower than the network."""
    found: list[tuple[str, Callable[[DesignRow], bool]]] = []
    places = {key: i for i, one in enumerate(allowed.factors) for key in one.keys}
    cache = places.get("workload.cache")
    if cache is not None:
        names = [
            str(allowed.factors[cache].values(level)["workload.cache"])
            for level in allowed.factors[cache].levels
        ]
        found += [
            (f"cache {name}", partial(_is_at, cache, names, name)) for name in dict.fromkeys(names)
        ]
    link = next((i for key, i in places.items() if key.endswith("adapter.bandwidth")), None)
    disk = next((i for key, i in places.items() if key.endswith("disk.write_rate")), None)
    if link is not None and disk is not None:
        links, disks = allowed.factors[link].numbers, allowed.factors[disk].numbers
        if links and disks:
            found += [
                ("network slower than disk", lambda row: links[row[link]] < disks[row[disk]]),
                ("disk slower than network", lambda row: links[row[link]] >= disks[row[disk]]),
            ]
    return found


def _is_at(place: int, names: Sequence[str], wanted: str, row: DesignRow) -> bool:
    """Whether the level of a row's factor at index `place` has the name `wanted`."""
    return names[row[place]] == wanted


def _impossible(
    scenario: Scenario, allowed: Legal, rows: TrainingRows, grey: LearntModel, seed: int
) -> dict[str, float]:
    """Method -> share of a sample of legal rows whose predicted rate is impossible: at most
    zero, or above the line rate."""
    points = _points(scenario, allowed, allowed.sample(REQUESTED, np.random.default_rng(seed)))
    limits = np.exp(grey.priors.matrix(points)[:, 1]) * (1 + 1e-9)
    found = {}
    for name in ("greybox", "linear"):
        model = (
            grey if name == "greybox" else LearntModel(name).fit_rows(rows, None, conformal=False)
        )
        shown = model.predict(points)
        found[name] = float(np.mean((shown <= 0) | (shown > limits)))
    return found
