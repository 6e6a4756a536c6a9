"""Builds terminal tables of the limits of a metadata server."""

from __future__ import annotations

from rich.table import Table

from dfslab.models.queue.metadata_server import ServerLimits
from dfslab.spec import units


def limits_tables(limits: ServerLimits) -> list[Table | str]:
    """Returns, in the order of printing: a line with the configurations, a table of the largest
    number of files (if memory limits it), a table of the largest request rate, a table of the
    largest bursts, and lines with the assumptions and notes."""
    found: list[Table | str] = [f"{limits.system}: {limits.configuration}"]
    if limits.files:
        found.append(_files(limits))
    found += [_capacity(limits), _peaks(limits)]
    assumed = [f"assumed: {one}" for one in limits.assumptions]
    return [*found, *assumed, *limits.notes, ""]


def _servers(limits: ServerLimits) -> str:
    memory = units.text(limits.memory_bytes, "B")
    if limits.servers == 1:
        return f"{limits.system}'s {limits.role} with {memory}"
    return f"{limits.servers} {limits.role} servers of {limits.system} with {memory} each"


def _files(limits: ServerLimits) -> Table:
    size = units.text(limits.file_bytes, "B") if limits.file_bytes else "0 B"
    table = Table(title=f"Files of {size} that fit {_servers(limits)}")
    for column in ("files", "blocks", "B a file", "memory used", "by"):
        table.add_column(column, justify="right" if column != "by" else "left", overflow="fold")
    for one in limits.files:
        count = f"{_many(one.files)}{' cached' if one.cached else ''}"
        blocks = "not counted" if one.blocks is None else str(one.blocks)
        table.add_row(count, blocks, f"{one.bytes_per_file:.0f}", f"{one.usable:.0%}", one.source)
    return table


def _capacity(limits: ServerLimits) -> Table:
    table = Table(title=f"Operations a second that {_servers(limits)} serves (90 % interval)")
    for column in ("operation", "a second", "resource at its limit"):
        table.add_column(column)
    for one in limits.capacity:
        interval = f"{_many(one.low_per_s)} to {_many(one.high_per_s)}"
        table.add_row(one.operation, f"{_many(one.rate_per_s)} ({interval})", one.binding)
    return table


def _peaks(limits: ServerLimits) -> Table:
    bound, network = units.text(limits.bound_s, "s"), units.text(limits.network_s, "s")
    queue = "no limit" if limits.places is None else f"{limits.places:.0f} calls"
    table = Table(title=f"Largest burst answered within {bound} (network {network}, queue {queue})")
    for column in (
        "operation",
        "length",
        "mean",
        "95 %",
        "99 %",
        "all",
        "queue holds",
        "binding",
        "then drains in, at half load",
    ):
        table.add_column(column, overflow="fold")
    for one in limits.peaks:
        within = [_many(one.within_per_s[name]) for name in ("mean", "p95", "p99", "all")]
        held = "" if one.queue_per_s is None else _many(one.queue_per_s)
        table.add_row(
            one.operation,
            units.text(one.length_s, "s"),
            *within,
            held,
            one.binding,
            units.text(one.drain_s, "s"),
        )
    return table


def _many(number: float) -> str:
    for size, name in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if number >= size:
            return f"{number / (1e3 if name == ' k' else size):.3g}{name}"
    return f"{number:.4g}"
