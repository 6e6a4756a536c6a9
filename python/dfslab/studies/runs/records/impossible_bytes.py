"""Finds bytes of a stored result that contradict its operations and the sizes in its scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dfslab import discover
from dfslab.documents.measured_load import OperationCounts
from dfslab.result import Result
from dfslab.spec.environment import workload_parameters
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.spec.streams.vocabulary import Access, OperationName, Stream

# WHOLE_FILES: operations that move a whole file. TRANSFERS: operations that move one transfer of an
# open file.
WHOLE_FILES: tuple[OperationName, ...] = ("read", "write", "overwrite")
TRANSFERS: tuple[OperationName, ...] = ("pread", "pwrite")


class OperationSize(NamedTuple):
    """The smallest and the largest number of bytes that one successful operation moves."""

    low_bytes: int
    high_bytes: int


def of_result(result: Result) -> Iterator[str]:
    """Yields one line for each operation whose bytes are not (number of operations) x (size).

    Only runs of dfslab's load generator are judged.
    """
    load = result.load
    if load is not None and load.generator is not None:
        yield from of_counts(result.point.scenario, load.operations)


def of_counts(scenario: Scenario, operations: Mapping[str, OperationCounts]) -> Iterator[str]:
    """Yields one line for each operation of a run whose bytes are not (number of operations) x
    (size).

    Runs with faults or with layers that change calls are not judged. Workloads whose sizes are
    unknown are not judged.
    """
    if scenario.run.fault or scenario.run.layer:
        return
    for name, size in sizes(scenario).items():
        found = operations.get(name, OperationCounts(count=0))
        low, high = found.count * size.low_bytes, found.count * size.high_bytes
        if not low <= found.bytes <= high:
            allowed = f"must be {low}" if low == high else f"must be from {low} to {high}"
            each = f"{found.count} operations of {size.high_bytes} bytes"
            yield f"load.operations.{name}.bytes = {found.bytes}: {allowed}, {each}"


def sizes(scenario: Scenario) -> dict[OperationName, OperationSize]:
    """Returns the bytes of one operation, by the name of the operation. Operations whose size is
    unknown are left out: those of random sizes, and those of replays. The result is empty if the
    workload is not installed."""
    try:
        workload = discover.workload(scenario.workload.name)
        # The sizes of a replay are in its trace, which can be large. Such a stream depends on the
        # number of clients.
        if workload.command is not None or workload.for_clients is not None:
            return {}
        stream = workload.stream(workload_parameters(scenario, workload))
    except (InputError, discover.DiscoveryError):
        return {}
    found = {name: _size(stream, name) for name in (*WHOLE_FILES, *TRANSFERS)}
    return {name: size for name, size in found.items() if size is not None}


def _size(stream: Stream, name: OperationName) -> OperationSize | None:
    accesses = [
        share.access or phase.access
        for phase in stream.all_phases
        for share in phase.mix
        if share.operation == name
    ]
    if not accesses or not all(map(_is_plain, accesses)):
        return None
    if name in TRANSFERS:
        return OperationSize(0, stream.transfer_size_bytes)
    fixed = stream.file_size.fixed
    return None if fixed is None else OperationSize(fixed, fixed)


def _is_plain(access: Access) -> bool:
    """Returns whether an operation moves every byte of its file once, in transfers of the stream's
    size."""
    is_whole = access.order == "sequential" and not access.transfers_per_operation
    return is_whole and access.transfer_size is None
