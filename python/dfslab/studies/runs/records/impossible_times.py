"""Finds times of a stored result that contradict the histograms or the summaries in the same
result.

The load generator computes each quantile and mean from the histogram that the result stores. A
quantile is therefore inside one bucket, so the width of this bucket is the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from dfslab import histogram_buckets
from dfslab.documents import metrics
from dfslab.documents.load_report import Summary
from dfslab.documents.measured_load import Buckets, MeasuredLoad, MeasuredPhase

# The probability of each quantile among the metrics.
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
# Stored times are whole nanoseconds that were converted to seconds. This many nanoseconds cover the
# rounding of the conversion.
ROUNDING_NS = 0.5
# Relative rounding error of times that are computed from sums of doubles.
ROUNDING = 1e-9


def of_load(values: Mapping[str, float], load: MeasuredLoad) -> Iterator[str]:
    """Yields each contradiction between the metrics `values` of a run and its histograms. A metric
    is judged only if the run has a histogram of it."""
    for kind, field, histograms in (
        (metrics.LATENCY, "histograms", load.histograms),
        (metrics.RESPONSE, "response_histograms", load.response_histograms),
    ):
        for operation, buckets in histograms.items():
            place = f"load.{field}.{operation}"
            yield from _of_counts(place, buckets, load, operation)
            if sum(count for _, count in buckets):
                yield from _of_metrics(values, kind, operation, buckets)


def of_phase(phase: MeasuredPhase) -> Iterator[str]:
    """Yields each contradiction in the summaries of a phase's latencies."""
    for operation, one in phase.latency.items():
        place = f"load.phases.{phase.name}.latency.{operation}"
        counted = phase.operations.get(operation)
        if counted is not None and counted.count != one.count:
            yield f"{place}.count = {one.count}: must be {counted.count}, the operations counted"
        if one.count:
            yield from _of_summary(place, one)


def _of_counts(place: str, buckets: Buckets, load: MeasuredLoad, operation: str) -> Iterator[str]:
    lows = [low_ns for low_ns, _ in buckets]
    if any(low_ns < 0 or count < 0 for low_ns, count in buckets) or lows != sorted(set(lows)):
        yield f"{place}: its buckets must ascend, and have no negative number"
    counted = load.operations.get(operation)
    number = sum(count for _, count in buckets)
    if counted is not None and counted.count != number:
        yield f"{place}: has {number} times, but load.operations counts {counted.count} operations"


def _of_metrics(
    values: Mapping[str, float], kind: str, operation: str, buckets: Buckets
) -> Iterator[str]:
    """Yields each metric of one operation that is outside the bounds its histogram allows."""
    mean = metrics.key(kind, metrics.MEAN, operation)
    bounds_ns = {mean: histogram_buckets.mean_bounds_ns(buckets)}
    for name, share in SHARES.items():
        low_ns, high_ns = histogram_buckets.quantile_bounds_ns(buckets, share)
        bounds_ns[metrics.key(kind, name, operation)] = (low_ns, high_ns)
    for key, (low, high) in bounds_ns.items():
        value_ns = values.get(key, low * 1e-9) * 1e9
        slack_ns = ROUNDING_NS + ROUNDING * high
        if not low - slack_ns <= value_ns <= high + slack_ns:
            allowed = f"must be from {low * 1e-9:.6g} to {high * 1e-9:.6g}"
            yield f"metrics.{key} = {values[key]:g}: {allowed}, as the histogram of {operation} has"


def _of_summary(place: str, one: Summary) -> Iterator[str]:
    """Yields each contradiction in a summary: quantiles that do not ascend from the smallest to the
    largest time, and a mean that is not (sum of the times) / (number of times)."""
    times_s = {
        "min_s": one.min_s,
        "p50_s": one.p50_s,
        "p90_s": one.p90_s,
        "p99_s": one.p99_s,
        "p999_s": one.p999_s,
        "max_s": one.max_s,
    }
    names = list(times_s)
    for low, high in zip(names, names[1:], strict=False):
        if times_s[low] > times_s[high]:
            yield f"{place}.{low} = {times_s[low]:g}: must be at most {high} = {times_s[high]:g}"
    mean_s = one.sum_s / one.count
    if abs(one.mean_s - mean_s) > ROUNDING * mean_s:
        yield f"{place}.mean_s = {one.mean_s:g}: must be {mean_s:g}, {one.sum_s:g} s / {one.count}"
    # At least half of the times are at least the median, a tenth at least p90, and so on. The
    # stored quantile is the middle of its histogram bucket. It exceeds each time in the bucket by
    # less than the relative width of the bucket.
    for name, share in SHARES.items():
        value_s = times_s[f"{name}_s"]
        least_s = value_s * (one.count - max(1, math.ceil(share * one.count)) + 1)
        if least_s > one.sum_s * (1 + histogram_buckets.RESOLUTION):
            yield f"{place}.{name}_s = {value_s:g}: contradicts {one.sum_s:g} s in total"
