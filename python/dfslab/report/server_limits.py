"""Builds the terminal's sentences and tables on the limits of a metadata server."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.documents.table import (
    Column,
    Paragraph,
    Table,
    TableCell,
    absent,
    heads,
    quantity,
    words,
)
from dfslab.models.queue.metadata_server import Capacity, Peak, ServerLimits
from dfslab.spec import units

MEMORY_SOURCES = "Sources differ in the memory that a file and its blocks take."
INTERVALS = "In brackets: 90 % interval, from the interval of the most operations per second."
PEAK_NOTE = (
    "Largest rate during a burst of the given length at which the call queue refuses no call and "
    "the mean response stays within {bound}."
)


def limits_answer(limits: ServerLimits, wide: bool = False) -> list[Table | Paragraph | str]:
    """Returns the parts of the answer in the order of printing:

    - a line with the configurations;
    - one to three sentences on the number of files, the lowest request rate and the largest bursts;
    - tables of the numbers of files (if known), of the request rates, and of the bursts;
    - the assumptions and notes.

    If `wide` is true, the table of bursts has all quantiles of the response time.
    """
    found: list[Table | Paragraph | str] = [f"{limits.system}: {limits.configuration}"]
    found += [Paragraph(one) for one in _sentences(limits)]
    if limits.files:
        found.append(_files(limits))
    found += [_capacity(limits), _all_peaks(limits) if wide else _peaks(limits)]
    assumed = [f"assumed: {one}" for one in limits.assumptions]
    return [*found, *assumed, *limits.notes, ""]


def _sentences(limits: ServerLimits) -> list[str]:
    found = []
    if limits.files:
        counts = [one.files for one in limits.files]
        low, high = _many(min(counts)), _many(max(counts))
        span = low if low == high else f"{low} to {high}"
        found.append(f"The memory of {_servers(limits)} holds {span} files{_file_size(limits)}.")
    if limits.capacity:
        least = min(limits.capacity, key=lambda one: one.rate_per_s)
        found.append(
            f"The lowest limit is that of {least.operation}: {_many(least.rate_per_s)} "
            f"{least.unit}/s (90 %: {_interval(least)}), limited by "
            f"{least.bottleneck}."
        )
        peaks = [one for one in limits.peaks if one.operation == least.operation]
        if peaks:
            rates = [f"{_largest(one)} for {_length(one)}" for one in peaks]
            found.append(f"Largest bursts, {least.unit}/s (90 %): {', '.join(rates)}.")
    return found


def _servers(limits: ServerLimits) -> str:
    memory = units.text(limits.memory_bytes, "B")
    if limits.servers == 1:
        return f"{limits.system}'s {limits.role} with {memory}"
    return f"{limits.servers} {limits.role} servers of {limits.system} with {memory} each"


def _file_size(limits: ServerLimits) -> str:
    return f" of {units.text(limits.file_bytes, 'B')}" if limits.file_bytes else ""


def _files(limits: ServerLimits) -> Table:
    title = f"Files{_file_size(limits)} that fit {_servers(limits)}"
    columns = heads("files", "blocks", "bytes a file", "memory used", "source", left=["source"])
    rows = []
    for one in limits.files:
        files = f"{_many(one.files)}{' cached' if one.cached else ''}"
        blocks = TableCell(one.blocks, "not counted" if one.blocks is None else str(one.blocks))
        per_file = TableCell(one.bytes_per_file, f"{one.bytes_per_file:.0f}")
        usable = TableCell(one.usable, f"{one.usable:.0%}")
        rows.append((TableCell(one.files, files), blocks, per_file, usable, words(one.source)))
    return Table(title, columns, rows, [MEMORY_SOURCES] if len(rows) > 1 else [])


def _capacity(limits: ServerLimits) -> Table:
    title = f"Most operations per second of {_servers(limits)}"
    columns = heads(
        "operation", "counted", "rate/s", "90 % interval", "limit", left=["counted", "limit"]
    )
    rows = [
        (
            words(one.operation),
            words(one.unit),
            TableCell(
                one.rate_per_s, _many(one.rate_per_s), low=one.low_per_s, high=one.high_per_s
            ),
            words(_interval(one)),
            words(one.bottleneck),
        )
        for one in limits.capacity
    ]
    return Table(title, columns, rows)


def _peaks(limits: ServerLimits) -> Table:
    """Returns a table of the largest rate that each operation sustains during a burst. It has one
    row for each operation and one column for each length of a burst."""
    by_length: dict[str, dict[str, Peak]] = {}
    for one in limits.peaks:
        by_length.setdefault(_length(one), {})[one.operation] = one
    columns = heads("operation", *(f"for {length}" for length in by_length))
    rows = [[words(name), *_rates(name, list(by_length.values()))] for name in _operations(limits)]
    note = PEAK_NOTE.format(bound=units.text(limits.bound_s, "s"))
    return Table(
        "Largest bursts, operations/s as counted above",
        columns,
        rows,
        [note, INTERVALS, "--wide has all quantiles."],
    )


def _rates(operation: str, lengths: Sequence[dict[str, Peak]]) -> list[TableCell]:
    found = [length.get(operation) for length in lengths]
    return [
        absent() if one is None else _with_interval(one.largest_per_s, one.interval_per_s)
        for one in found
    ]


def _all_peaks(limits: ServerLimits) -> Table:
    """Returns a table with one row for each operation and each length of a burst. A row has these
    values:

    - the rates at which the mean and each quantile of the response time stay within the bound;
    - the rate at which the call queue holds the burst;
    - what limits the burst, and the time to drain the queue.
    """
    bound, network = units.text(limits.bound_s, "s"), units.text(limits.network_s, "s")
    queue = "no limit" if limits.places is None else f"{limits.places:.0f} calls"
    columns = heads("operation", "length", "mean", "p95", "p99", "all", "queue holds")
    columns += [Column("limit", "left"), Column("drain time")]
    rows = []
    for one in limits.peaks:
        held = one.queue_per_s
        queue_interval = one.queue_interval_per_s
        rows.append(
            [
                words(one.operation),
                quantity(one.length_s, "s"),
                *(
                    _with_interval(one.within_per_s[name], one.within_interval_per_s[name])
                    for name in ("mean", "p95", "p99", "all")
                ),
                absent()
                if held is None or queue_interval is None
                else _with_interval(held, queue_interval),
                words(one.limit),
                _drain(one),
            ]
        )
    title = f"Largest burst answered within {bound} (network {network}, queue {queue})"
    note = "Drain time: until the queue of the burst is empty, at half of the capacity's load."
    counted = "Rates are operations/s as counted above."
    return Table(title, columns, rows, [note, counted, INTERVALS])


def _operations(limits: ServerLimits) -> list[str]:
    return list(dict.fromkeys(one.operation for one in limits.peaks))


def _length(one: Peak) -> str:
    return units.text(one.length_s, "s")


def _largest(one: Peak) -> str:
    """Returns the largest rate of a burst with its 90 % interval as text."""
    return _with_interval(one.largest_per_s, one.interval_per_s).text


def _with_interval(rate_per_s: float, interval_per_s: tuple[float, float]) -> TableCell:
    """Returns a cell with a rate and its interval."""
    low, high = interval_per_s
    text = f"{_many(rate_per_s)} ({_many(low)}–{_many(high)})"
    return TableCell(rate_per_s, text, low=low, high=high)


def _drain(one: Peak) -> TableCell:
    """Returns a cell with the time to drain the queue of a burst, and its interval."""
    low, high = one.drain_interval_s
    shown = [units.text(time_s, "s", 2) for time_s in (one.drain_s, low, high)]
    return TableCell(one.drain_s, f"{shown[0]} ({shown[1]}–{shown[2]})", low=low, high=high)


def _interval(one: Capacity) -> str:
    return f"{_many(one.low_per_s)} to {_many(one.high_per_s)}"


def _many(number: float) -> str:
    for size, name in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if number >= size:
            return f"{number / (1e3 if name == ' k' else size):.3g}{name}"
    return f"{number:.4g}"
