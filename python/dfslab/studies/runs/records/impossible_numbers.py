"""Finds numbers of a stored result that no measurement and no model can give: numbers that are not
finite, and counts, sizes and times below 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel

from dfslab.result import Result

# Fields of a measured run that may be below 0: differences of clocks, and times relative to the
# common start of the clients.
SIGNED = frozenset({"clock_offset_s", "clock_drift_s", "first_start_s", "at_s"})
# Histograms are judged together with the times that were computed from them.
SKIPPED = frozenset({"histograms", "response_histograms", "late_histogram"})


def of_result(result: Result) -> Iterator[str]:
    """Yields one line for each impossible number: its key, its value, and what is allowed."""
    for key, metric in result.metrics.items():
        yield from _of(f"metrics.{key}", key, metric.value)
        # A bound of a metric may be missing or below 0, but not infinite.
        for name, bound in (("low", metric.low), ("high", metric.high)):
            if bound is not None and not math.isfinite(bound):
                yield f"metrics.{key}.{name} = {bound}: must be finite"
    yield from _of("load", "load", result.load)
    yield from _of("program", "program", result.program)


def _of(place: str, name: str, value: object) -> Iterator[str]:
    """Yields the impossible numbers in a value. `place`: the path of its key, with dots. `name`:
    the last field name in this path."""
    if isinstance(value, BaseModel):
        for field, inner in value:
            if field not in SKIPPED:
                yield from _of(f"{place}.{field}", field, inner)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _of(f"{place}.{key}", name, inner)
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{place} = {value}: must be finite"
    elif isinstance(value, float | int) and value < 0 and name not in SIGNED:
        yield f"{place} = {value:g}: must be at least 0"
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, inner in enumerate(value):
            yield from _of(f"{place}.{index}", name, inner)
