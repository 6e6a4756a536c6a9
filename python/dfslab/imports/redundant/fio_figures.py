"""Compares figures of fio's JSON that follow from each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dfslab.imports.redundant import comparing
from dfslab.imports.tool_report import KIBI, Json, is_table

MILLISECOND_S = 1e-3
# Names of fio's latencies: of submission, completion, and both. In fio 2, the names have no "_ns".
LATENCIES = tuple(f"{name}{unit}" for name in ("slat", "clat", "lat") for unit in ("_ns", ""))
# Largest relative difference between a percentile that fio reports and the times in the
# percentile's histogram bucket.
BUCKET = 1 / 64


def of_row(row: Json) -> Iterator[str]:
    """Yields each contradiction in the part of a job about one direction, such as reads."""
    runtime = comparing.optional(row, "runtime")
    exact, kibi = comparing.optional(row, "bw_bytes"), comparing.optional(row, "bw")
    moved, count = comparing.optional(row, "io_bytes"), comparing.optional(row, "total_ios")
    if exact and kibi:
        yield from comparing.unequal(kibi, exact.scaled(1 / KIBI), "bw_bytes / 1024")
    if exact and moved and (whole := comparing.optional(row, "io_kbytes")):
        yield from comparing.unequal(whole, moved.scaled(1 / KIBI), "io_bytes / 1024")
    if runtime and runtime.value:
        time = runtime.scaled(MILLISECOND_S)
        rate, bandwidth = comparing.optional(row, "iops"), exact or kibi
        if rate and count:
            yield from comparing.unequal(rate, count / time, "total_ios / runtime")
        # In fio 2, `bw` and `io_bytes` are both based on KiB.
        if bandwidth and moved:
            yield from comparing.unequal(bandwidth, moved / time, "io_bytes / runtime")
    for name in LATENCIES:
        part = row.get(name)
        if is_table(part):
            yield from (f"{name}: {wrong}" for wrong in _of_times(part))


def _of_times(part: Json) -> Iterator[str]:
    """Yields each contradiction in a table of latencies."""
    least, mean, most = (comparing.optional(part, key) for key in ("min", "mean", "max"))
    yield from comparing.falling([least, mean, most])
    shown = part.get("percentile")
    if is_table(shown):
        shares = sorted((key for key in shown if _is_number(key)), key=float)
        quantiles = [comparing.optional(shown, key) for key in shares]
        yield from comparing.falling([least, *quantiles, most], comparing.ROUNDING + BUCKET)


def of_sums(whole: Json, parts: Sequence[Json], direction: str) -> Iterator[str]:
    """Yields the contradiction if the operations or bytes of all clients are not the sum over the
    clients."""
    stated = whole.get(direction)
    rows = [row for job in parts if is_table(row := job.get(direction))]
    for key in ("io_bytes", "total_ios"):
        figures = [one for row in rows if (one := comparing.optional(row, key)) is not None]
        all_of = comparing.optional(stated, key) if is_table(stated) else None
        if all_of is not None and rows and len(figures) == len(rows):
            summed = comparing.total(figures)
            yield from comparing.unequal(all_of, summed, "the sum over the clients")


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()
