"""Cross-validates models. Each fold holds out whole configurations with all their repetitions, and
every model is fitted again to the remaining configurations.

Results of one deployment are correlated. Therefore some splits hold out all results of some layouts
(numbers of nodes and file system parameters), of some hardware rates, or of the largest numbers of
servers or clients. A further split holds out single results at random. It only serves to compute
the leakage gap: how much smaller the errors on random results are than the errors on held-out
layouts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from pydantic import BaseModel, JsonValue

from dfslab import discover
from dfslab.documents.metrics import LATENCY, operations_with
from dfslab.documents.table import Table
from dfslab.method import RunFailed, predictions
from dfslab.models.learn.encoding import layout_key
from dfslab.result import Result
from dfslab.spec.design import number
from dfslab.spec.scenario import Point
from dfslab.studies.compare import ComparedPoint, ErrorScore, compare, score_table, scores
from dfslab.studies.contract import FinishedRun, Needs, Progress, Study, StudyResult
from dfslab.studies.runs.stages import Stage

NAMES = ("crossval",)
VALIDATED = ("sequence", "regression", "mean")
# Each fold is the set of the indices of its held-out results.
Folds = list[set[int]]
LEAVE_OUT = 4
# Numbers of the learning curve. One of every HELD_OUT testbeds is held out. Models are trained on
# CURVE_STEPS training sets of growing size.
HELD_OUT, CURVE_STEPS = 4, 4
# The criteria by which results are held out, in the order of evaluation.
SPLITS = ("random rows", "layout", "rate", "more servers", "more clients")


class CrossValidated(StudyResult):
    """The score of each method on configurations that were held out. Each configuration is held out
    once."""

    study = "crossval"

    scores: dict[str, ErrorScore]

    def tables(self, run: FinishedRun) -> list[Table]:
        """A table with the errors of every method; an empty list if there are no scores."""
        title = "Errors in cross-validation over whole configurations"
        return [score_table(title, self.scores)] if self.scores else []

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """Returns the scores as JSON, by the name of the method."""
        scores: dict[str, JsonValue] = {
            name: one.model_dump(mode="json") for name, one in self.scores.items()
        }
        return {"cross_validated": scores}


class CrossValidationStudy(Study[CrossValidated]):
    """Predicts every configuration with models that were fitted without this configuration. The
    configurations are divided into folds. Each fold in turn is held out, and models that were
    fitted to the other folds predict the held-out fold."""

    name = "crossval"
    result = CrossValidated
    needs = Needs(measured=True, models=True)
    order = 40
    stage: Stage = "cross_validating"

    def run(self, run: FinishedRun, progress: Progress) -> CrossValidated:
        """Returns the scores of the methods in VALIDATED, which are fast enough to be fitted again
        for each fold."""
        progress(0, 1, "cross-validating")
        scores = crossval(
            run.of_method("measure"),
            [name for name in run.methods if name in VALIDATED],
            run.scenario.judge.folds,
            run.scenario.run.seed,
            progress,
        )
        return CrossValidated(scores=scores)


def make(name: str) -> CrossValidationStudy:
    """Returns the study `crossval`; study discovery calls this function with the study's name."""
    return CrossValidationStudy()


class Validation(BaseModel):
    """The scores of each model for every split. A split is a way to choose the held-out results.

    `scores[split][model]` is the score of a model. `rows[split]` has the compared configurations of
    the split, with their signed errors.
    """

    scores: dict[str, dict[str, ErrorScore]]
    rows: dict[str, list[ComparedPoint]]

    @property
    def leakage(self) -> dict[str, tuple[float, float]]:
        """Returns, for each method, the pair (median |error| on random rows, median |error| on
        held-out layouts), as fractions. The leakage gap is the second value minus the first: the
        score on random rows is too optimistic by this difference."""
        rows, layouts = (self.scores.get(name, {}) for name in ("random rows", "layout"))
        return {
            name: (rows[name].median_abs_error, layouts[name].median_abs_error)
            for name in layouts
            if name in rows
        }


class LearningCurvePoint(BaseModel):
    """One point of a learning curve: the errors on held-out testbeds and the cost of the training
    data.

    `seconds`: time that measuring the training data took. `testbeds`, `configurations`: numbers of
    testbeds and of configurations in the training data. `median_abs_error`: the median absolute
    error of each model, as a fraction.
    """

    seconds: float
    testbeds: int
    configurations: int
    median_abs_error: dict[str, float]


def folds_of(results: Sequence[Result], count: int, seed: int) -> list[set[str]]:
    """Divides the configurations into folds. There are `count` folds, or one for each configuration
    if there are fewer configurations. Returns the point ids of each fold.

    The configurations of every type of operation are spread evenly over the folds.
    """
    kinds: dict[str, list[str]] = {}
    for result in results:
        kind = ",".join(sorted(operations_with(result.metrics, LATENCY)))
        ids = kinds.setdefault(kind, [])
        if result.point_id not in ids:
            ids.append(result.point_id)
    order = random.Random(seed)
    dealt: list[str] = []
    for kind in sorted(kinds):
        ids = sorted(kinds[kind])
        order.shuffle(ids)
        dealt += ids
    folds = [set(dealt[start::count]) for start in range(count)]
    return [fold for fold in folds if fold]


def crossval(
    results: Sequence[Result], models: Sequence[str], folds: int, seed: int, report: Progress
) -> dict[str, ErrorScore]:
    """The score of each model on held-out configurations, with `folds` folds.

    Models that cannot be fitted are omitted; the result is empty if there are fewer than two folds.
    """
    measured = [result for result in results if result.method == "measure" and result.complete]
    parts = folds_of(measured, folds, seed)
    if len(parts) < 2:
        return {}
    numbered = [{i for i, r in enumerate(measured) if r.point_id in part} for part in parts]
    return scored(measured, models, numbered, "configurations", report)[0]


def scored(
    measured: Sequence[Result], models: Sequence[str], folds: Folds, what: str, report: Progress
) -> tuple[dict[str, ErrorScore], list[ComparedPoint]]:
    """Returns (scores, compared rows). The scores are those of each model over the folds. The rows
    have the predictions of all models. Models that cannot be fitted are omitted. `what`: name of
    the split, for progress reports."""
    found: dict[str, ErrorScore] = {}
    rows: list[ComparedPoint] = []
    for place, name in enumerate(models):
        report(place, len(models), f"cross-validating {name}: {what}")
        try:
            own = _one(measured, name, folds)
        except RunFailed as error:
            # Either a fold has too few training data, or the model predicts no held-out
            # configuration. The model gets no score.
            report(place, len(models), f"{name} is not cross-validated: {error}")
            continue
        found |= scores(own)
        rows += own
    return found, rows


def _one(measured: Sequence[Result], name: str, folds: Folds) -> list[ComparedPoint]:
    rows: list[ComparedPoint] = []
    for fold in folds:
        training = [result for i, result in enumerate(measured) if i not in fold]
        left_out = [measured[i] for i in sorted(fold)]
        model = discover.model(name)
        model.fit(training)
        points = list({result.point_id: result.point for result in left_out}.values())
        rows += compare([*left_out, *predictions(model, points)]).rows
    if not any(name in row.errors for row in rows):
        raise RunFailed(f"{name}: predicted none of the left-out configurations")
    return rows


def validate(
    results: Sequence[Result],
    models: Sequence[str],
    seed: int,
    report: Progress,
    wanted: Sequence[str] = SPLITS,
) -> Validation:
    """Returns the scores of each model for the splits `wanted` (names in SPLITS). A split holds out
    random results, whole layouts, hardware rates, or the largest numbers of servers or clients.

    The scores of a split do not depend on which other splits are evaluated.
    """
    measured = [result for result in results if result.method == "measure" and result.complete]
    found = Validation(scores={}, rows={})
    for what, folds in splits(measured, seed):
        if folds and what in wanted:
            found.scores[what], found.rows[what] = scored(measured, models, folds, what, report)
    return found


def splits(measured: Sequence[Result], seed: int) -> Iterator[tuple[str, Folds]]:
    """Yields (name of the split, folds) for every split. The list of folds is empty if the data
    cannot be split in this way, for example because all results have the same layout."""
    order = list(range(len(measured)))
    random.Random(seed).shuffle(order)
    yield "random rows", [set(order[start::LEAVE_OUT]) for start in range(LEAVE_OUT)]
    yield "layout", _grouped([layout_key(result.point) for result in measured], seed)
    yield "rate", _grouped([_rates(result.point) for result in measured], seed)
    for what, suffix in (("servers", "server.count"), ("clients", "workload.clients")):
        yield f"more {what}", _larger(measured, suffix)


def _rates(point: Point) -> str:
    kinds = ("bandwidth", "read_rate", "write_rate")
    return str(sorted((k, str(v)) for k, v in point.labels.items() if k.endswith(kinds)))


def _grouped(keys: Sequence[str], seed: int) -> Folds:
    """Returns folds of results. Results with equal keys are in the same fold. `keys`: one key for
    each result.

    Returns an empty list if all results have the same key.
    """
    groups = sorted(set(keys))
    random.Random(seed).shuffle(groups)
    count = min(LEAVE_OUT, len(groups))
    if count < 2:
        return []
    fold_of = {group: place % count for place, group in enumerate(groups)}
    return [{i for i, key in enumerate(keys) if fold_of[key] == f} for f in range(count)]


def _larger(measured: Sequence[Result], suffix: str) -> Folds:
    """Returns a single fold, which tests extrapolation to more servers or clients. The size of a
    result is the largest value of its scenario keys that end in `suffix`. The fold has the results
    whose size is more than half of the largest size in the run. Returns an empty list if no result
    or every result would be in the fold."""
    sizes = [
        max(
            (
                float(number(v))
                for k, v in r.labels.items()
                if k.endswith(suffix) and not isinstance(number(v), str)
            ),
            default=0.0,
        )
        for r in measured
    ]
    half = max(sizes, default=0.0) / 2
    fold = {i for i, size in enumerate(sizes) if size > half}
    return [fold] if 0 < len(fold) < len(measured) else []


def learning_curve(
    results: Sequence[Result],
    models: Sequence[str],
    cost_s: Callable[[Sequence[Result]], float],
    seed: int,
    report: Progress,
    steps: int = CURVE_STEPS,
) -> list[LearningCurvePoint]:
    """Returns the points of a learning curve. The curve has the errors on held-out testbeds for
    training sets of growing size. A training set has all results of its testbeds. Testbeds are
    added to the sets in the order in which they ran.

    `cost_s` returns the seconds that measuring the given results took. `steps`: number of training
    sets.
    """
    measured = [result for result in results if result.method == "measure" and result.complete]
    measured.sort(key=lambda result: result.provenance.started)
    testbeds = list(dict.fromkeys(testbed_of(result.point) for result in measured))
    judged = set(random.Random(seed).sample(testbeds, max(1, len(testbeds) // HELD_OUT)))
    left = [testbed for testbed in testbeds if testbed not in judged]
    found = []
    for step in range(1, steps + 1):
        known = set(left[: max(2, len(left) * step // steps)])
        training = [r for r in measured if testbed_of(r.point) in known]
        kept = [r for r in measured if testbed_of(r.point) in known | judged]
        fold = {i for i, r in enumerate(kept) if testbed_of(r.point) in judged}
        named, _ = scored(kept, models, [fold], f"{len(known)} testbeds", report)
        found.append(
            LearningCurvePoint(
                seconds=cost_s(training),
                testbeds=len(known),
                configurations=len({r.point_id for r in training}),
                median_abs_error={name: score.median_abs_error for name, score in named.items()},
            )
        )
    return found


def testbed_of(point: Point) -> str:
    """A text that identifies the testbed of a configuration: its deployment and file system."""
    return point.testbed
