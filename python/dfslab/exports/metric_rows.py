"""Converts results to rows of plain values for tabular formats, with one row for each metric."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from dfslab.documents import metrics
from dfslab.result import Metric, Result
from dfslab.studies.runs import completeness


class MetricRow(NamedTuple):
    """One metric of one result. `operation` is empty for metrics of the whole run.

    labels: the scenario keys that the run varies, with their values, as JSON.
    low, high: the 90 % interval of the value, if it has one.
    verified_bytes: the bytes of files that a measured run compared with what was written; 0 if it
        compared nothing. None if the result was not measured.
    """

    method: str
    point_id: str
    repetition: int
    labels: str
    complete: bool
    seed: int
    started: str
    software: str
    commit: str
    metric: str
    operation: str
    value: float
    low: float | None
    high: float | None
    verified_bytes: int | None


def rows(results: Sequence[Result]) -> list[MetricRow]:
    """Returns one row for each metric of each result, in the order of the results. A result without
    any metric gives a single row, with the metric `complete` and the value 0."""
    return [row for result in results for row in _rows(result)]


def _rows(result: Result) -> list[MetricRow]:
    origin = result.provenance
    labels = json.dumps(dict(result.labels), sort_keys=True)
    found = []
    # A result without any metric comes from a failed run. Such a result gets a row with the metric
    # `complete` = 0, so that the table shows the failure.
    given = result.metrics or {"complete": Metric(value=0.0)}
    for key, one in given.items():
        named = metrics.parsed(key)
        found.append(
            MetricRow(
                result.method,
                result.point_id,
                result.repetition,
                labels,
                completeness.is_whole(result),
                origin.seed,
                origin.started,
                origin.software,
                origin.commit,
                named.name,
                named.operation,
                one.value,
                one.low,
                one.high,
                None if result.load is None else result.load.verified_bytes,
            )
        )
    return found
