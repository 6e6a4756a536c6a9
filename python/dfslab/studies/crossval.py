"""Cross-validation over whole configurations: replicates never split, every model refitted."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from dfslab import discover
from dfslab.method import RunFailed
from dfslab.result import Result
from dfslab.studies.compare import Row, Score, compare, scores

Report = Callable[..., Any]


def folds_of(results: Sequence[Result], count: int, seed: int) -> list[set[str]]:
    """Point ids of each fold; every kind of operation is spread over all folds."""
    kinds: dict[str, list[str]] = {}
    for result in results:
        kind = ",".join(sorted(k for k in result.metrics if k.startswith("latency_s_mean.")))
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
    results: Sequence[Result], models: Sequence[str], folds: int, seed: int, report: Report
) -> dict[str, Score]:
    """Score of each model on configurations it was not fitted on; who cannot fit is left out."""
    measured = [result for result in results if result.method == "measure" and result.complete]
    parts = folds_of(measured, folds, seed)
    if len(parts) < 2:
        return {}
    found = {}
    for number, name in enumerate(models):
        report(number, len(models), f"cross-validating {name}")
        try:
            found[name] = _one(measured, name, parts)
        except RunFailed as error:
            # Too few configurations in a fold for this model: no score is better than a wrong one.
            report(number, len(models), f"{name} is not cross-validated: {error}")
    return found


def _one(measured: Sequence[Result], name: str, parts: Sequence[set[str]]) -> Score:
    rows: list[Row] = []
    for fold in parts:
        training = [result for result in measured if result.point_id not in fold]
        left_out = [result for result in measured if result.point_id in fold]
        model: Any = discover.method(name)
        model.fit(training)
        points = {result.point_id: result.point for result in left_out}
        predicted = [model.run(point) for point in points.values()]
        rows += compare([*left_out, *predicted]).rows
    found = scores(rows)
    if name not in found:
        raise RunFailed(f"{name}: predicted none of the left-out configurations")
    return found[name]
