"""The assumption that reads find their data in memory, and configurations without it."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.models.tree.prediction import situation_of
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point

READ = "read"


def reads_all_warm(points: Sequence[Point]) -> bool:
    """Returns whether at least one configuration reads data, and all configurations that read data
    find the data in memory."""
    caches = {
        one.scenario.workload.cache for one in points if READ in situation_of(one.scenario).mix
    }
    return caches == {"warm"}


def cold_twin(point: Point) -> Point | None:
    """Returns a copy of the configuration `point` in which the data that is read is not in memory
    at the start. Returns None if `point` does not read data from memory, or if this copy is not
    allowed."""
    if point.scenario.workload.cache != "warm" or READ not in situation_of(point.scenario).mix:
        return None
    cold = point.scenario.with_values({"workload.cache": "cold"})
    try:
        check(cold)
        situation_of(cold)
    except InputError:
        return None
    return point.model_copy(update={"scenario": cold, "id": f"{point.id} cold"})
