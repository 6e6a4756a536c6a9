"""Builds the terminal's sentences and tables on the limits of a metadata server."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dfslab.documents.table import (
    Column,
    Paragraph,
    Table,
    TableCell,
    Value,
    absent,
    heads,
    quantity,
    shared_text,
    words,
)
from dfslab.models.queue.metadata_server import Capacity, Peak, ServerLimits
from dfslab.spec import units

# The varied keys of a configuration with their values.
Labels = Mapping[str, Value]
_NUMBER = re.compile(r" \(\d+ configurations\)$")
# Largest number of different rates of an operation that the brief table shows as separate rows.
MOST_ROWS = 3
MEMORY_SOURCES = "Sources differ in the memory that a file and its blocks take."
INTERVALS = "In brackets: 90 % interval, from the interval of the most operations per second."


def limits_answer(
    every: Sequence[ServerLimits], wide: bool = False
) -> list[Table | Paragraph | str]:
    """Returns the parts of the answer in the order of printing: up to three sentences on the lowest
    limits of all configurations, one table of the most operations per second, the assumptions and
    the notes.

    If `wide` is true, each group of configurations has separate sentences, and tables of the
    numbers of files (if known), of the request rates, and of the bursts with all quantiles.
    `every`: the limits of each group of configurations; at least one.
    """
    if wide:
        return [part for one in every for part in _all_of(one)]
    found: list[Table | Paragraph | str] = [Paragraph(one) for one in _sentences(every)]
    found.append(_brief_capacity(every))
    stated = [f"assumed: {text}" for one in every for text in one.assumptions]
    stated += [text for one in every for text in one.notes]
    return [*found, *map(Paragraph, dict.fromkeys(stated))]


def _all_of(limits: ServerLimits) -> list[Table | Paragraph | str]:
    """Returns all sentences and tables of one group of configurations."""
    found: list[Table | Paragraph | str] = [f"{limits.system}: {limits.configuration}"]
    found += [Paragraph(one) for one in _sentences([limits])]
    if limits.files:
        found.append(_files(limits))
    assumed = [f"assumed: {one}" for one in limits.assumptions]
    return [*found, _capacity(limits), _all_peaks(limits), *assumed, *limits.notes, ""]


def _sentences(every: Sequence[ServerLimits]) -> list[str]:
    """Returns the sentences on the lowest limits of all groups: the rate, the bursts and the number
    of files. If there are several groups, a sentence names the group with the limit."""
    found = []
    rates = [(one, rate) for one in every for rate in one.capacity]
    if rates:
        limits, least = min(rates, key=lambda pair: pair[1].rate_per_s)
        alike = {one.rate_per_s for _, one in rates if one.operation == least.operation}
        place = f" ({_group(limits)})" if len(alike) > 1 else ""
        found.append(
            f"The lowest limit is that of {least.operation}: {_many(least.rate_per_s)} "
            f"{least.unit}/s (90 %: {_interval(least)}), limited by {least.bottleneck}{place}."
        )
        peaks = [one for one in limits.peaks if one.operation == least.operation]
        if peaks:
            bursts = ", ".join(f"{_largest(one)} for {_length(one)}" for one in peaks)
            bound = units.text(limits.bound_s, "s")
            found.append(
                f"Largest bursts, {least.unit}/s (90 %), with a mean response within {bound} and "
                f"no call refused by the call queue: {bursts}."
            )
    holding = [one for one in every if one.files]
    if holding:
        limits = min(holding, key=lambda one: min(figure.files for figure in one.files))
        counts = [figure.files for figure in limits.files]
        low, high = _many(min(counts)), _many(max(counts))
        span = low if low == high else f"{low} to {high}"
        sources = f", by {len(counts)} sources" if len(counts) > 1 else ""
        found.append(
            f"The memory of {_servers(limits)} holds {span} files{_file_size(limits)}{sources}."
        )
    return found


def _brief_capacity(every: Sequence[ServerLimits]) -> Table:
    """Returns the table of the most operations per second over all groups. Groups with the same
    rate of an operation share one row. An operation with more than MOST_ROWS different rates has
    two rows, for its lowest and its highest rate."""
    by_operation: dict[str, dict[tuple[str, str, str], list[tuple[Capacity, Labels]]]] = {}
    for limits in every:
        for one in limits.capacity:
            key = (_many(one.rate_per_s), _interval(one), one.bottleneck)
            alike = by_operation.setdefault(one.operation, {}).setdefault(key, [])
            alike.extend((one, labels) for labels in limits.labels)
    columns = heads("counted", "most/s", "90 % interval", "limit", left=["limit"])
    if len(every) > 1:
        columns.append(Column("configurations", "left", wraps=True))
    labels = [one for limits in every for one in limits.labels]
    cells = []
    for rates in by_operation.values():
        for prefix, alike in _shown(list(rates.values())):
            one = alike[0][0]
            rate = TableCell(
                one.rate_per_s, _many(one.rate_per_s), low=one.low_per_s, high=one.high_per_s
            )
            row = [words(one.unit), rate, words(_interval(one)), words(one.bottleneck)]
            if len(every) > 1:
                row.append(words(prefix + _names([own for _, own in alike], labels)))
            cells.append(row)
    where = {_servers(one): None for one in every}
    of = f" of {next(iter(where))}" if len(where) == 1 else ""
    each = "each configuration, " if len(every) > 1 else ""
    note = f"--wide has {each}the bursts of each operation, all quantiles and the sources of the "
    return Table(f"Most operations per second{of}", columns, cells, [f"{note}memory."])


def _shown(
    rates: list[list[tuple[Capacity, Labels]]],
) -> list[tuple[str, list[tuple[Capacity, Labels]]]]:
    """Returns the rates of one operation that the brief table shows, each with the prefix of its
    configurations' names."""
    if len(rates) <= MOST_ROWS:
        return [("", one) for one in rates]
    ordered = sorted(rates, key=lambda one: one[0][0].rate_per_s)
    return [("lowest: ", ordered[0]), ("highest: ", ordered[-1])]


def _group(limits: ServerLimits) -> str:
    """Returns the name of a group of configurations without their number."""
    return _NUMBER.sub("", limits.configuration)


def _names(group: Sequence[Labels], every: Sequence[Labels]) -> str:
    """Returns the name of the configurations in `group` without their number; "all" if `group` has
    all configurations."""
    return "all" if len(group) == len(every) else _NUMBER.sub("", shared_text(group, every))


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
