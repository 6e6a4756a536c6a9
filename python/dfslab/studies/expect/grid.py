"""The operations that `dfslab expect` compares. The operations are sized so that all of them fit
into a given time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dfslab.arrays import Floats
from dfslab.models.tree.prediction import situation_of
from dfslab.spec import units
from dfslab.spec.deployment import Deployment
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point, Scenario

# Sizes of files in bytes. A large file has LARGE_BYTES. If a client would need more than LARGE_S
# seconds for one large file, the file is made smaller, but not below LEAST_LARGE_BYTES.
LARGE_BYTES, LEAST_LARGE_BYTES, SMALL_BYTES = 64 << 20, 8 << 20, 64 << 10
LARGE_S = 1.0
STREAMS = 4
# Relative weights by which the time is divided among the operations. Operations whose files are
# written beforehand have PREPARED_WEIGHT; all others have PLAIN_WEIGHT.
PLAIN_WEIGHT, PREPARED_WEIGHT = 1.0, 2.0
# An operation is cut off after this multiple of its planned time. On a place that is slower than
# expected, the rate is then computed from the work done until the cut-off.
PATIENCE = 2.0
# Smallest and largest number of operations that one client executes. FEWEST_SMALL is the smallest
# number for small files.
FEWEST, MOST = 2, 2_000
FEWEST_SMALL = 20
# Least bytes that the files of one operation need: FEWEST files for each stream.
LEAST_BYTES = FEWEST * STREAMS * LEAST_LARGE_BYTES
# The files of one operation take at most this share of the free space, and at most MOST_BYTES.
SPACE_SHARE, MOST_BYTES = 0.1, 1 << 30
# The value of the model's variable `entries` that represents empty caches in client processes.
# `entries` is the number of files that each client visited before the operation. After this large
# number of other files, the client's cache has no file of the operation.
VISITED_FILES = 1e9
# Least time in seconds to measure one operation, because rates of shorter measurements are mostly
# noise.
LEAST_S = 1.0


@dataclass(frozen=True)
class ProbedOperation:
    """One operation of the comparison.

    `name`: the operation in words. `values`: the scenario keys that define it, with their
    values. `moves`: whether its rate is in bytes/s instead of operations/s. `prepared`: whether
    its files are written before it starts. `large`: whether its files are large.
    """

    name: str
    values: Mapping[str, LevelValue]
    moves: bool
    prepared: bool
    large: bool = False

    @property
    def writes(self) -> bool:
        """Whether the operation writes data."""
        return self.values["workload.name"] == WRITE


@dataclass(frozen=True)
class GridOperation:
    """An operation with its size.

    `point`: the configuration that is run. `written_bytes`: bytes that the operation writes.
    `expected_s`: seconds that the operation should take. `limit_s`: seconds after which the
    operation is cut off. `cache_state`: state of the caches in client processes, as values of
    the model's variables by name. `cache_state` has only variables whose values differ from those
    of `point`."""

    operation: ProbedOperation
    point: Point
    written_bytes: int
    expected_s: float
    limit_s: float
    cache_state: Mapping[str, float] = field(default_factory=dict)


def _transfer(name: str, workload: str, size: int, clients: int, cache: str) -> ProbedOperation:
    values: dict[str, LevelValue] = {
        "workload.name": workload,
        "workload.file_size": units.exact(size, "B"),
        "workload.transfer_size": units.exact(min(size, 1 << 20), "B"),
        "workload.clients": clients,
        "workload.cache": cache,
    }
    if workload == "sequential_write":
        # Data is forced to disk. Otherwise the measured rate would be the rate of the servers'
        # caches instead of the rate of their disks.
        values["workload.fsync"] = True
    reads = workload == "sequential_read"
    return ProbedOperation(name, values, True, reads, size == LARGE_BYTES)


def _metadata(operation: str) -> ProbedOperation:
    values: dict[str, LevelValue] = {
        "workload.name": "metadata",
        "workload.operation": operation,
        "workload.clients": 1,
    }
    return ProbedOperation(operation, values, False, operation != "create")


WRITE, READ = "sequential_write", "sequential_read"
# The first three operations show whether a disk or a link is slow. They come first, because the
# last operations are left out if time runs out.
OPERATIONS = (
    _transfer("write, 1 stream", WRITE, LARGE_BYTES, 1, "warm"),
    _transfer("read, 1 stream", READ, LARGE_BYTES, 1, "cold"),
    _transfer("read again, cached", READ, LARGE_BYTES, 1, "warm"),
    _transfer(f"write, {STREAMS} streams", WRITE, LARGE_BYTES, STREAMS, "warm"),
    _transfer(f"read, {STREAMS} streams", READ, LARGE_BYTES, STREAMS, "cold"),
    _transfer("write 64 KiB files", WRITE, SMALL_BYTES, 1, "warm"),
    _transfer("read 64 KiB files", READ, SMALL_BYTES, 1, "cold"),
    *(_metadata(one) for one in ("create", "stat", "delete")),
)


def planned(
    scenario: Scenario,
    time_s: float,
    free_bytes: int | None = None,
    in_memory: bool = False,
    empties_clients: bool = False,
    space_bytes: float | None = None,
) -> list[GridOperation]:
    """Returns the operations. Their sizes are chosen so that all operations together take about
    `time_s` seconds according to the description of the file system.

    `free_bytes`: free space of the place; None if unknown. `in_memory`: whether the place stores
    files in memory only; then there are no cold reads, and no data is forced to disk.
    `empties_clients`: whether the caches in client processes are emptied before cold reads.
    `space_bytes`: most bytes that all operations together write; None if only the free space
    limits them. Each operation that moves data has an equal share.
    Raises InputError if `time_s`, `free_bytes` or `space_bytes` is too small.
    """
    operations = operations_of(in_memory)
    weights = {one.name: _weight(one) for one in operations}
    share_s = time_s / sum(weights.values())
    check_time(time_s, operations)
    check_space(free_bytes)
    check_written(space_bytes, operations)
    most = MOST_BYTES if free_bytes is None else min(MOST_BYTES, SPACE_SHARE * free_bytes)
    if space_bytes is not None:
        most = min(most, space_bytes / _moving(operations))
    emptied = {"entries": VISITED_FILES} if empties_clients else {}
    return [
        _sized(scenario, one, share_s, most, emptied if _is_cold(one) else {}) for one in operations
    ]


def operations_of(in_memory: bool) -> list[ProbedOperation]:
    """Returns the operations that are compared. A place that stores files in memory only
    (`in_memory`) has no cold reads, and its data is not forced to disk."""
    if not in_memory:
        return list(OPERATIONS)
    return [_in_memory(one) for one in OPERATIONS if not _is_cold(one)]


def sweep_of(operations: Sequence[ProbedOperation]) -> list[dict[str, list[LevelValue]]]:
    """Returns the operations as the sweep of a scenario, that is, tables with a list of values for
    each key. A table combines operations that differ only in the number of clients, or only in
    the metadata operation."""
    tables: dict[tuple[tuple[str, LevelValue], ...], dict[str, list[LevelValue]]] = {}
    for one in operations:
        joined = "workload.clients" if one.moves else "workload.operation"
        others = {key: value for key, value in one.values.items() if key != joined}
        table = tables.setdefault(tuple(others.items()), {k: [v] for k, v in others.items()})
        table.setdefault(joined, []).append(one.values[joined])
    return list(tables.values())


def check_space(free_bytes: int | None) -> None:
    """Raises InputError if a place with `free_bytes` of free space has too little for the
    operations. The operations use at most the fraction SPACE_SHARE of the free space. None means
    that the free space is unknown."""
    needed_bytes = LEAST_BYTES / SPACE_SHARE
    if free_bytes is not None and free_bytes < needed_bytes:
        shown, needed = units.text(free_bytes, "B"), units.text(needed_bytes, "B")
        allowed = f"has {shown} free; {needed} are needed, of which {SPACE_SHARE:.0%} are written"
        raise InputError("PLACE", None, allowed)


def check_written(space_bytes: float | None, operations: Sequence[ProbedOperation]) -> None:
    """Raises InputError if the `operations` need more than `space_bytes`, the value of the option
    --space. None means that the option is not given."""
    least_bytes = LEAST_BYTES * _moving(operations)
    if space_bytes is not None and space_bytes < least_bytes:
        given, least = units.text(space_bytes, "B"), units.text(least_bytes, "B")
        allowed = f"must be at least {least}; shorter files measure mostly their opening"
        raise InputError("--space", given, allowed)


def _moving(operations: Sequence[ProbedOperation]) -> int:
    """Returns the number of operations that write files with data, also files to be read."""
    return sum(one.moves or _bytes(one.values) > 0 for one in operations)


def check_time(time_s: float, operations: Sequence[ProbedOperation] = ()) -> None:
    """Raises InputError if `time_s` seconds are too short to measure the `operations`. If no
    `operations` are given, those of a place that stores files in memory are used, because they
    need the least time."""
    least_s = _least_s(operations or operations_of(in_memory=True))
    if time_s < least_s:
        least = f"must be at least {units.text(least_s, 's')}"
        if not operations:
            on_disk_s = _least_s(operations_of(in_memory=False))
            least += f", {units.text(on_disk_s, 's')} if files are on a disk"
        raise InputError("--time", units.text(time_s, "s"), least)


def _least_s(operations: Sequence[ProbedOperation]) -> float:
    """Returns the least number of seconds in which the operations can be measured."""
    return LEAST_S * sum(map(_weight, operations))


def _is_cold(operation: ProbedOperation) -> bool:
    return operation.values.get("workload.cache") == "cold"


def _in_memory(operation: ProbedOperation) -> ProbedOperation:
    """Returns the same operation, except that it does not force data to disk."""
    return replace(
        operation,
        values={key: one for key, one in operation.values.items() if key != "workload.fsync"},
    )


def _sized(
    scenario: Scenario,
    operation: ProbedOperation,
    share_s: float,
    most_bytes: float,
    cache_state: Mapping[str, float],
) -> GridOperation:
    values = dict(operation.values)
    clients = int(values["workload.clients"])
    rate = _rate_per_s(scenario, values, cache_state)
    size = _bytes(values)
    if operation.large:
        size = _large_bytes(rate, size, clients, most_bytes)
        values["workload.file_size"] = units.exact(size, "B")
        rate = _rate_per_s(scenario, values, cache_state)
    each_s = clients / rate + _preparation_s(scenario, operation, values)
    fewest = FEWEST if operation.large else FEWEST_SMALL
    count = max(fewest, min(MOST, int(share_s * _weight(operation) / each_s)))
    if size:
        count = max(FEWEST, min(count, int(most_bytes / size / clients)))
    values["workload.operations_per_client"] = count
    limit_s = PATIENCE * max(share_s, count * each_s)
    values_of_run: dict[str, LevelValue] = {
        "run.time_limit": units.exact(limit_s, "s"),
        "run.repetitions": 1,
        "run.timed": True,
    }
    return GridOperation(
        operation,
        Point(scenario=scenario.with_values({**values, **values_of_run}), labels=values),
        size * count * clients,
        count * each_s,
        limit_s,
        cache_state,
    )


def _weight(operation: ProbedOperation) -> float:
    return PREPARED_WEIGHT if operation.prepared else PLAIN_WEIGHT


def _preparation_s(
    scenario: Scenario, operation: ProbedOperation, values: Mapping[str, LevelValue]
) -> float:
    """Returns the seconds that it takes to write the files that must exist before an operation
    starts. One operation that writes is counted for each client. Returns 0 if the operation needs
    no files."""
    if not operation.prepared:
        return 0.0
    made = {**values, "workload.cache": "warm"}
    if operation.moves:
        made["workload.name"] = WRITE
    else:
        made["workload.operation"] = "create"
    return int(values["workload.clients"]) / _rate_per_s(scenario, made, {})


def _large_bytes(rate_per_s: float, size: int, clients: int, most_bytes: float) -> int:
    """Returns the size of a large file in bytes. `size` is halved until both conditions are met, or
    until it is LEAST_LARGE_BYTES or less:
    - a client transfers one file in at most LARGE_S seconds;
    - FEWEST files of each client fit into `most_bytes`."""
    moved = rate_per_s * size / clients * LARGE_S
    while size > LEAST_LARGE_BYTES and (size > moved or size * clients * FEWEST > most_bytes):
        size //= 2
    return size


def _bytes(values: Mapping[str, LevelValue]) -> int:
    text = values.get("workload.file_size")
    return int(units.parse(str(text), "B")) if text else 0


def _rate_per_s(
    scenario: Scenario, values: Mapping[str, LevelValue], cache_state: Mapping[str, float]
) -> float:
    situation = situation_of(scenario.with_values(values))
    return situation.predict({**situation.constants, **cache_state}).rate_per_s


def log_rates(planned_operations: Sequence[GridOperation], deployment: Deployment) -> Floats:
    """Returns the natural logarithm of each operation's predicted rate per second if the operations
    ran on `deployment`, shape (operations,)."""
    found = []
    for one in planned_operations:
        scenario = one.point.scenario.model_copy(update={"deployment": deployment})
        situation = situation_of(scenario)
        values = {**situation.constants, **one.cache_state}
        found.append(np.log(situation.predict(values).rate_per_s))
    return np.array(found)


def total_bytes(planned_operations: Sequence[GridOperation]) -> int:
    """Returns the bytes that all operations write, including files that are written in order to be
    read."""
    return sum(one.written_bytes for one in planned_operations)
