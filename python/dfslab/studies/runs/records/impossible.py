"""Finds figures of a stored result that contradict other figures in the same result: counts, times,
histograms, and sums over clients, seconds and phases.

The load generator computes every rate from the stored counts and times, so a stored rate that
differs from them was not measured. A correct checksum does not exclude this: a user who edits a
record can compute its checksum again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dfslab.documents import metrics
from dfslab.documents.load_report import ClientReport, Second
from dfslab.documents.measured_load import MeasuredLoad, MeasuredPhase, OperationCounts
from dfslab.result import Result
from dfslab.studies.runs.records import impossible_bytes, impossible_numbers, impossible_times

# A stored rate contradicts count / time if the relative difference is larger than this value.
# Measured rates are exactly count / time. The tolerance is for rates that were written by hand and
# rounded.
ROUNDING = 0.01
# The time of all operations together contradicts the time of all clients if it exceeds that time by
# more than this factor. The tolerance is needed because operations and the run are timed at
# different points of the code.
TIME_SLACK = 1.1

# For each quantile of latencies: the share of the operations that are at or above it.
SHARES_ABOVE = {"p50": 0.5, "p90": 0.1, "p99": 0.01, "p999": 0.001}


def contradiction(result: Result) -> str:
    """Returns the first contradiction in a result as text; "" if there is none. The text has the
    key, its value, and the counts or times that contradict the value. A figure is not judged if one
    of its counts or times is unknown."""
    return next(_contradictions(result), "")


def _contradictions(result: Result) -> Iterator[str]:
    values = {name: metric.value for name, metric in result.metrics.items()}
    load, program = result.load, result.program
    yield from impossible_numbers.of_result(result)
    yield from _unordered(values)
    if load is not None:
        yield from _of_load(values, load)
        yield from _of_sums(load)
        yield from impossible_times.of_load(values, load)
        yield from _too_long(values, load, result.point.scenario.workload.clients)
        for name, counted in load.operations.items():
            yield from _above_mean(values, name, counted.count)
        for phase in load.phases:
            yield from _of_phase(phase)
            yield from impossible_times.of_phase(phase)
        yield from impossible_bytes.of_result(result)
    elif program is not None and program.took_s > 0 and metrics.RATE in values:
        rate = values[metrics.RATE]
        yield from _quotient(f"metrics.{metrics.RATE}", rate, 1, "run", program.took_s)


def _of_load(values: Mapping[str, float], load: MeasuredLoad) -> Iterator[str]:
    count, moved = _sums(load.operations)
    for name, total, noun in (
        (metrics.RATE, count, "operations"),
        (metrics.THROUGHPUT, moved, "bytes"),
    ):
        # A result without bytes has no throughput.
        if name in values:
            yield from _quotient(f"metrics.{name}", values[name], total, noun, load.window_s)
    for name, counted in load.operations.items():
        for statistic in metrics.STATISTICS:
            key = metrics.key(metrics.LATENCY, statistic, name)
            if counted.count and values.get(key) == 0:
                yield f"metrics.{key} = 0: contradicts {counted.count} operations, which took time"


def _of_sums(load: MeasuredLoad) -> Iterator[str]:
    """Yields each contradiction between the operations and bytes of the whole run and the sums over
    its clients, its seconds and its phases. Parts that were not recorded are not judged."""
    count, moved = _sums(load.operations)
    parts: dict[str, Sequence[ClientReport | Second | MeasuredPhase]] = {
        "per_client": load.per_client,
        "seconds": load.seconds,
        "phases": load.phases,
    }
    for name, each in parts.items() if load.operations else ():
        for noun, total, summed in (
            ("count", count, sum(one.count for one in each)),
            ("bytes", moved, sum(one.bytes for one in each)),
        ):
            if each and summed != total:
                yield (
                    f"load.operations: the sum of {noun} is {total}, "
                    f"but that of load.{name} is {summed}"
                )


def _of_phase(phase: MeasuredPhase) -> Iterator[str]:
    place = f"load.phases.{phase.name}"
    count, moved = _sums(phase.operations)
    for key, stated, total in (("count", phase.count, count), ("bytes", phase.bytes, moved)):
        if phase.operations and stated != total:
            yield f"{place}.{key} = {stated}: must be {total}, the sum over {place}.operations"
    for name, rate, total, noun in (
        (metrics.RATE, phase.rate_per_s, phase.count, "operations"),
        (metrics.THROUGHPUT, phase.throughput_bytes_per_s, phase.bytes, "bytes"),
    ):
        yield from _quotient(f"{place}.{name}", rate, total, noun, phase.window_s)


def _quotient(key: str, rate: float, total: int, noun: str, time_s: float) -> Iterator[str]:
    """Yields the contradiction if a rate is not `total` / `time_s`."""
    if time_s > 0 and abs(rate - total / time_s) > ROUNDING * total / time_s:
        yield f"{key} = {rate:g}: contradicts {total} {noun} in {time_s:g} s"


def _too_long(values: Mapping[str, float], load: MeasuredLoad, clients: int) -> Iterator[str]:
    """Yields the contradiction if the operations took longer in total than the clients had. The
    clients had (number of clients) x (length of the run), because each client executes one
    operation at a time. The number of clients is the larger of `clients` and the clients in `load`:
    a replayed trace may have more clients than `clients`."""
    clients = max(clients, len(load.per_client))
    means = {
        name: values.get(metrics.key(metrics.LATENCY, metrics.MEAN, name), 0.0)
        for name in load.operations
    }
    busy_s = sum(load.operations[name].count * mean_s for name, mean_s in means.items())
    if load.window_s > 0 and busy_s > TIME_SLACK * clients * load.window_s:
        had = f"{clients} clients had {load.window_s:g} s each"
        yield f"metrics.latency_s_mean: the operations took {busy_s:g} s in total, but {had}"


def _above_mean(values: Mapping[str, float], operation: str, count: int) -> Iterator[str]:
    """Yields a contradiction for each quantile that is too high for the mean. The operations at or
    above a quantile took at least that long, which is a part of the time of all operations."""
    mean_s = values.get(metrics.key(metrics.LATENCY, metrics.MEAN, operation))
    for name, share in SHARES_ABOVE.items():
        value_s = values.get(key := metrics.key(metrics.LATENCY, name, operation))
        above = max(1, int(share * count))
        if mean_s is None or value_s is None or not count:
            continue
        if value_s * above > TIME_SLACK * mean_s * count:
            took = f"{count} operations took {mean_s * count:g} s in total"
            yield f"metrics.{key} = {value_s:g}: contradicts the mean {mean_s:g}: {took}"


def _unordered(values: Mapping[str, float]) -> Iterator[str]:
    """Yields a contradiction for each pair of quantiles of the same sample in which the lower
    quantile has the higher value."""
    for kind in (metrics.LATENCY, metrics.RESPONSE):
        for operation in metrics.operations_with(values, kind):
            keys = [metrics.key(kind, one, operation) for one in metrics.QUANTILES]
            known = [key for key in keys if key in values]
            yield from _falling(known, [values[key] for key in known])


def _falling(keys: Sequence[str], ordered: Sequence[float]) -> Iterator[str]:
    for low, high, less, more in zip(keys, keys[1:], ordered, ordered[1:], strict=False):
        if less > more * (1 + ROUNDING):
            yield f"metrics.{low} = {less:g}: is above metrics.{high} = {more:g}"


def _sums(operations: Mapping[str, OperationCounts]) -> tuple[int, int]:
    """Returns the sum of the counts and the sum of the bytes of all operations."""
    counted: Iterable[OperationCounts] = operations.values()
    both = [(one.count, one.bytes) for one in counted]
    return sum(count for count, _ in both), sum(moved for _, moved in both)
