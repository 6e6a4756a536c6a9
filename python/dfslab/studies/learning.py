"""What a designed sweep teaches: tables, signs, importance, validation, and what to run next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from pydantic import BaseModel
from scipy import stats
from threadpoolctl import threadpool_limits

from dfslab.method import CONFIDENCE
from dfslab.models.demand import calibrate
from dfslab.models.encoding import Encoding, factors_of
from dfslab.models.estimators import PaperLinear, adjusted, r_squared
from dfslab.models.learnt import Learnt, Rows, rows_of, some
from dfslab.result import Metric, Result
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies import crossval, design, sensitivity
from dfslab.studies.crossval import Validation
from dfslab.studies.legal import Legal, Row, legal
from dfslab.studies.next import Proposal, propose
from dfslab.studies.sensitivity import Importance, Regime

Report = Callable[..., Any]
MODELS = ("greybox", "boosting", "gaussian", "linear", "mean", "serial", "ideal")
CURVES = ("greybox", "boosting", "linear")
BASE_ROWS = 32
REFITS = 6
TRAINING_SHARE = 0.75


class Coefficient(BaseModel):
    """One row of the paper's Table 5; `effect` is over the factor's whole range, MB/s."""

    name: str
    value: float
    standard_error: float
    effect: float


class PaperTable(BaseModel):
    """Multiple linear regression of one operation's MB/s (Kumar 2018, Tables 5 and 6).

    `validation` is R² on a random quarter that was left out, as in the paper, replicates together.
    """

    operation: str
    rows: int
    constant: float
    coefficients: list[Coefficient]
    adjusted_r_squared: float
    validation: float
    negative_share: float


class Sign(BaseModel):
    """A direction that the paper found, and the slope of log rate per doubling found here."""

    claim: str
    operation: str
    slope: Metric
    expected: str
    verdict: str


class Learning(BaseModel):
    """Everything that a sweep over declared factors says."""

    runs: int
    configurations: int
    beds: int
    legal: int
    box: int
    measured_s: float
    predicted_s: float
    tables: list[PaperTable]
    signs: list[Sign]
    importance: list[Importance]
    regimes: list[Regime]
    blocks: dict[str, tuple[Metric, Metric]]
    validation: Validation
    curve: list[crossval.Learnt]
    impossible: dict[str, float]
    proposals: list[Proposal]


def learn(scenario: Scenario, results: Sequence[Result], report: Report) -> Learning:
    """Study measured results of a scenario with a design. RunFailed when there are too few."""
    measured = [r for r in results if r.method == "measure" and r.complete and r.value() > 0]
    rows = rows_of(measured)
    allowed = legal(scenario)
    seed = scenario.run.seed
    report(1, 6, "validating")
    validation = crossval.validate(measured, MODELS, seed, report)
    report(2, 6, "learning curve")
    curve = crossval.learning_curve(measured, CURVES, seconds_of, seed, report)
    report(3, 6, "fitting the grey-box model")
    grey = Learnt("greybox").fit_rows(rows, calibrate(some(measured)), conformal=False)
    report(4, 6, "importance")
    with threadpool_limits(limits=1):
        importance, regimes = _importance(scenario, allowed, rows, grey)
        answers = _answers(scenario, allowed, grey)
        # Saltelli's samples come in powers of two.
        blocks = sensitivity.blocks(allowed, answers, BASE_ROWS, seed)
    report(5, 6, "the next experiment")
    return Learning(
        runs=len(measured), configurations=len(rows.points), beds=len(set(rows.groups)),
        legal=allowed.size, box=allowed.box, measured_s=seconds_of(measured),
        predicted_s=_predicted_s(measured), tables=paper_tables(rows, seed),
        signs=signs(rows), importance=importance, regimes=regimes, blocks=blocks,
        validation=validation, curve=curve,
        impossible=_impossible(scenario, allowed, rows, grey, seed),
        proposals=propose(scenario, allowed, rows),
    )  # fmt: skip


def seconds_of(measured: Sequence[Result]) -> float:
    """How long results took to measure: their runs, and a start for each bed (as planned)."""
    beds = {crossval._bed(result.point): result.point.scenario for result in measured}
    runs = sum(float(result.detail.get("wall_s") or 0.0) + design.RUN_S for result in measured)
    return runs + sum(design.bed_cost_s(one) for one in beds.values())


def _predicted_s(measured: Sequence[Result]) -> float:
    beds = {crossval._bed(result.point): result.point.scenario for result in measured}
    runs = sum(design.run_cost_s(result.point.scenario) for result in measured)
    return runs + sum(design.bed_cost_s(one) for one in beds.values())


def operation_of(point: Point) -> str:
    """The workload as people call it."""
    return point.scenario.workload.name.replace("_", " ")


def paper_tables(rows: Rows, seed: int) -> list[PaperTable]:
    """The paper's regression of every operation, in MB/s over plain factors."""
    found = []
    operations = np.array([operation_of(point) for point in rows.points])
    for name in sorted(set(operations)):
        own = np.flatnonzero(operations == name)
        encoding, matrix = _encoded(rows, own, "linear")
        if len(own) < 2 * matrix.shape[1]:
            continue
        rates = rows.rates[own] / 1e6
        model = PaperLinear().fit(matrix, rates)
        found.append(PaperTable(
            operation=name, rows=len(own), constant=model.intercept_,
            coefficients=[
                Coefficient(name=n, value=float(v), standard_error=float(e), effect=float(f))
                for n, v, e, f in zip(encoding.names, model.coef_, model.standard_error_,
                                      model.effects, strict=True) if np.isfinite(e)
            ],
            adjusted_r_squared=adjusted(model.r_squared_, len(own), matrix.shape[1]),
            validation=_hold_out(matrix, rates, seed),
            negative_share=float((model.predict(matrix) < 0).mean()),
        ))  # fmt: skip
    return found


def _encoded(rows: Rows, own: np.ndarray, scale: str) -> tuple[Encoding, np.ndarray]:
    """Columns of the factors that vary among some rows; rates and sizes in 10^6 where linear."""
    points = [rows.points[i] for i in own]
    encoding = Encoding(factors_of(points), scale)
    matrix = encoding.matrix([point.labels for point in points])
    if scale == "linear":
        matrix = np.where(np.abs(matrix).max(axis=0) > 1e4, matrix / 1e6, matrix)
    return encoding, matrix


def _hold_out(matrix: np.ndarray, rates: np.ndarray, seed: int) -> float:
    """R² on a random quarter, learnt on the others: the paper's cross validation."""
    order = np.random.default_rng(seed).permutation(len(rates))
    cut = int(TRAINING_SHARE * len(rates))
    model = PaperLinear().fit(matrix[order[:cut]], rates[order[:cut]])
    return r_squared(rates[order[cut:]], model.predict(matrix[order[cut:]]))


# (claim, factor, expected sign, operations it holds for, what is added to the slope).
CLAIMS = (
    ("more network, faster", "network", "+", ("read", "write"), 0.0),
    ("more copies, slower writes", "copies", "-", ("write",), 0.0),
    ("more copies, slower reads", "copies", "-", ("read",), 0.0),
    ("more clients, slower (all together)", "clients", "-", ("read", "write"), 0.0),
    ("more clients, slower (each of them)", "clients", "-", ("read", "write"), -1.0),
    ("more servers, faster", "servers", "+", ("read", "write"), 0.0),
    ("larger blocks, faster", "block_size", "+", ("read", "write"), 0.0),
    ("faster disks to read, no effect", "disk_read", "0", ("read",), 0.0),
    ("faster disks to write, no effect", "disk_write", "0", ("write",), 0.0),
)


def signs(rows: Rows) -> list[Sign]:
    """The paper's directions beside the slopes of a log-linear regression of each operation."""
    found = []
    operations = np.array([operation_of(point) for point in rows.points])
    for name in sorted(set(operations)):
        own = np.flatnonzero(operations == name)
        encoding, matrix = _encoded(rows, own, "log")
        if len(own) < 2 * matrix.shape[1]:
            continue
        model = PaperLinear().fit(matrix, np.log2(rows.rates[own]))
        reach = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(own) - matrix.shape[1] - 1))
        for claim, factor, expected, holds_for, added in CLAIMS:
            if factor in encoding.names and any(part in name for part in holds_for):
                at = encoding.names.index(factor)
                slope, error = float(model.coef_[at]), float(model.standard_error_[at])
                if np.isfinite(error):
                    low, high = slope + added - reach * error, slope + added + reach * error
                    found.append(Sign(
                        claim=claim, operation=name, expected=expected,
                        slope=Metric(value=slope + added, low=low, high=high),
                        verdict=_agrees(expected, low, high),
                    ))  # fmt: skip
    return found


def _agrees(expected: str, low: float, high: float) -> str:
    seen = "+" if low > 0 else "-" if high < 0 else "0"
    if seen == "0":
        return "as in the paper" if expected == "0" else "not told from no effect"
    return "as in the paper" if seen == expected else "otherwise than in the paper"


def _points(scenario: Scenario, allowed: Legal, rows: Sequence[Row]) -> list[Point]:
    found = []
    for row in rows:
        values = allowed.values(row)
        found.append(Point(scenario=scenario.with_values(values), labels=values))
    return found


def _answers(scenario: Scenario, allowed: Legal, model: Learnt) -> Callable[[list[Row]], Any]:
    def answer(rows: list[Row]) -> np.ndarray:
        distinct = list(dict.fromkeys(rows))
        logs = np.log(model.predict(_points(scenario, allowed, distinct)))
        known = dict(zip(distinct, logs, strict=True))
        return np.array([known[row] for row in rows])

    return answer


def _importance(
    scenario: Scenario, allowed: Legal, rows: Rows, grey: Learnt
) -> tuple[list[Importance], list[Regime]]:
    """Indices of the grey-box model over the legal set, measures of the data alone, regimes."""
    seed = scenario.run.seed
    names = [factor.name for factor in allowed.factors]
    drawn = sensitivity.sample(allowed, BASE_ROWS, seed)
    answers = _refitted(rows, grey, _points(scenario, allowed, drawn.rows), seed)
    found = sensitivity.indices(drawn, answers, names, seed)
    measures = _of_data(rows, seed)
    encoding = Encoding(grey.encoding.factors) if grey.encoding else Encoding(())
    matrix = encoding.matrix([point.labels for point in rows.points])
    seen = [factor.name for factor in encoding.factors]
    partners = sensitivity.moves_with(matrix, encoding.owner, seen)
    for one in found:
        one.measures = {name: table[one.factor] for name, table in measures.items()
                        if one.factor in table}  # fmt: skip
        never = None if one.factor in seen else "nothing: it never varied"
        one.verdict = sensitivity.verdict(one, never or partners.get(one.factor))
    regimes = []
    for name, keep in _regimes(allowed):
        count = sum(map(keep, drawn.base))
        regimes.append(Regime(name=name, rows=count, importance=sensitivity.indices(
            drawn, answers, names, seed, keep)))  # fmt: skip
    return found, regimes


def _refitted(rows: Rows, grey: Learnt, points: Sequence[Point], seed: int) -> list[np.ndarray]:
    """Answers of the model, then of the same model learnt from beds drawn again."""
    asked, known = grey.matrix(points), grey.matrix(rows.points)
    target = np.log(rows.rates)
    answers = [np.log(grey.predict(points))]
    random = np.random.default_rng(seed)
    beds = np.unique(rows.groups)
    for _ in range(REFITS):
        drawn = random.choice(beds, len(beds))
        chosen = np.concatenate([np.flatnonzero(rows.groups == bed) for bed in drawn])
        answers.append(grey.estimator().fit(known[chosen], target[chosen]).predict(asked))
    return answers


def _of_data(rows: Rows, seed: int) -> dict[str, dict[str, Metric]]:
    """What the runs say by themselves: the paper's VI, PAWN, RBD-FAST, permutation, SHAP."""
    boosted = Learnt("boosting").fit_rows(rows, None, conformal=False)
    assert boosted.encoding is not None
    factors = boosted.encoding.factors
    names = [factor.name for factor in factors]
    levels = np.array([
        [[str(level) for level in factor.levels].index(str(factor.level_of(point.labels)))
         for factor in factors] for point in rows.points
    ])  # fmt: skip
    matrix, target = boosted.matrix(rows.points), np.log(rows.rates)
    beds = np.unique(rows.groups)
    held = np.isin(rows.groups, np.random.default_rng(seed).choice(beds, max(1, len(beds) // 4),
                                                                   replace=False))  # fmt: skip
    part = boosted.estimator().fit(matrix[~held], target[~held])
    owner = boosted.encoding.owner
    return {
        "VI of the paper": sensitivity.paper_importance(levels, rows.rates, names, seed),
        "PAWN": sensitivity.pawn(levels, target, names, seed),
        "RBD-FAST": sensitivity.rbd_fast(levels, target, names, seed),
        "permutation": sensitivity.permutation(part.predict, matrix[held], target[held], owner,
                                               names, seed),
        "SHAP": sensitivity.shapley(boosted.estimator().fit(matrix, target), matrix, owner, names,
                                    seed),
    }  # fmt: skip


def _regimes(allowed: Legal) -> list[tuple[str, Callable[[Row], bool]]]:
    """Direct and cached; network slower than disks and the reverse."""
    found: list[tuple[str, Callable[[Row], bool]]] = []
    places = {key: i for i, one in enumerate(allowed.factors) for key in one.keys}
    cache = places.get("workload.cache")
    if cache is not None:
        names = [str(allowed.factors[cache].values(level)["workload.cache"])
                 for level in allowed.factors[cache].levels]  # fmt: skip
        found += [(f"cache {name}", partial(_is_at, cache, names, name))
                  for name in dict.fromkeys(names)]  # fmt: skip
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


def _is_at(place: int, names: Sequence[str], wanted: str, row: Row) -> bool:
    """Whether a row's level at a place has that name."""
    return names[row[place]] == wanted


def _impossible(
    scenario: Scenario, allowed: Legal, rows: Rows, grey: Learnt, seed: int
) -> dict[str, float]:
    """Share of legal rows where a model predicts a negative rate, or one above the line rate."""
    points = _points(scenario, allowed, allowed.sample(120, np.random.default_rng(seed)))
    limits = np.exp(grey.priors.matrix(points)[:, 1]) * (1 + 1e-9)
    found = {}
    for name in ("greybox", "linear"):
        model = grey if name == "greybox" else Learnt(name).fit_rows(rows, None, conformal=False)
        shown = model.predict(points)
        found[name] = float(np.mean((shown <= 0) | (shown > limits)))
    return found
