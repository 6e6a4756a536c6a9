"""Rules about the size and order of reads and writes."""

from __future__ import annotations

import numpy as np

from dfslab.arrays import Floats
from dfslab.spec import units
from dfslab.studies.applications.cost import DirectionCost, IoCost, uniform
from dfslab.studies.applications.io_rule import IoRule, IoSaving

MEBI = 1 << 20
# The calls of an application count as adjacent (or sequential, or unaligned) if at least this
# fraction of the calls is.
MOST_CALLS = 0.5
# Reads, or writes, are not examined if they take less than this fraction of the I/O time.
LEAST_PART = 0.05
# Calls count as small if their number is at least SMALL_RATIO times the number of large requests
# that would move the same bytes.
SMALL_RATIO = 2.0
# An application counts as reading blocks in order to write them back (read-modify-write) only if
# three numbers are large: its reads, its writes, and its switches between reads and writes. Each of
# these numbers must be at least SWITCH_SHARE * N, where N is the larger of the numbers of reads and
# of writes.
SWITCH_SHARE = 0.25
# Reads count as repeated if the bytes that are read are at least REPEATED times the size of the
# files.
REPEATED = 2.0


def size(size_bytes: float) -> str:
    """Returns a size as text, such as "4 MiB" for whole multiples of a MiB, else "1.46 kB"."""
    if size_bytes and not size_bytes % MEBI:
        return f"{size_bytes / MEBI:,.0f} MiB"
    return units.text(size_bytes, "B", 3)


def _is_small(cost: IoCost, one: DirectionCost) -> bool:
    """Whether the calls of `one` (the reads or the writes) are small. False if these calls take
    less than the fraction LEAST_PART of the I/O time."""
    if one.time_s < LEAST_PART * cost.time_s:
        return False
    return one.calls * cost.unit_bytes >= SMALL_RATIO * max(one.size_bytes, cost.unit_bytes)


def _needs_others(cost: IoCost, one: DirectionCost) -> bool:
    """Returns whether large requests need the cooperation of processes. True if processes share
    files and the parts of a file that one process accesses are not adjacent."""
    return cost.is_shared and one.counters.consecutive_share < MOST_CALLS


def _is_random(one: DirectionCost) -> bool:
    return one.counters.sequential_share < MOST_CALLS


def _due_to_calls(cost: IoCost, one: DirectionCost) -> Floats:
    """Returns draws of the fraction of `calls_s` that is due to the number of calls.

    If the calls are mostly adjacent, the fraction is drawn uniformly from 0 to 1. The kernel may
    then read ahead or gather writes, so that only few, large requests reach the storage. Counters
    do not report whether the kernel does so. For other calls, and for writes to shared files, the
    fraction is 1, because the kernel does not combine these calls.
    """
    is_gathered = one.counters.consecutive_share >= MOST_CALLS
    if is_gathered and (one.name == "read" or not cost.is_shared):
        return uniform(7)
    return np.ones_like(one.calls_s)


def _with_large_requests(cost: IoCost, one: DirectionCost) -> Floats:
    """Returns draws of the time in seconds that the slowest process would take for `one` (reads or
    writes) if it moved its bytes in large requests."""
    due_s = _due_to_calls(cost, one) * one.calls_s
    after: Floats = one.time_s - due_s + np.minimum(due_s, cost.large_requests_s(one))
    return after


def _enlarged(cost: IoCost, chosen: list[DirectionCost], change: str, shape: str) -> IoSaving:
    """Returns the saving if the operations `chosen` (reads, writes or both) move their bytes in
    large requests."""
    after: Floats = np.full_like(cost.request_s, cost.time_s)
    evidence = []
    for one in chosen:
        after += _with_large_requests(cost, one) - one.time_s
        evidence.append(
            f"{one.counters.calls:,} {one.name}s of {size(one.counters.mean_bytes)} on average, "
            f"{shape.format(share=one.counters.consecutive_share)}"
        )
    return IoSaving(change, "; ".join(evidence), after)


def _names(chosen: list[DirectionCost]) -> str:
    return " and ".join(one.name for one in chosen)


def _larger_transfers(cost: IoCost) -> IoSaving | str | None:
    if not cost.directions:
        return None
    small = [one for one in cost.directions if _is_small(cost, one)]
    if not small:
        calls = "; ".join(
            f"{one.name}s have {size(one.counters.mean_bytes)} on average"
            for one in cost.directions
        )
        return f"larger transfers: {calls}"
    alone = [one for one in small if not _needs_others(cost, one)]
    chosen = [one for one in alone if one.name == "write" or not _is_random(one)]
    if not chosen:
        return None
    change = f"{_names(chosen)} at least {size(cost.unit_bytes)} with each call"
    return _enlarged(cost, chosen, change, "{share:.0%} adjacent to the call before")


def _collective_buffering(cost: IoCost) -> IoSaving | str | None:
    if not cost.is_shared:
        return None
    chosen = [one for one in cost.directions if _is_small(cost, one) and _needs_others(cost, one)]
    if not chosen:
        return None
    used = cost.counters.collective_calls or 0
    hint = "raise cb_buffer_size and cb_nodes of" if used else "use"
    change = (
        f"{hint} collective buffering, so that few processes {_names(chosen)} "
        f"{size(cost.unit_bytes)} at a time for all"
    )
    return _enlarged(cost, chosen, change, "only {share:.0%} adjacent, in shared files")


def _aligned_requests(cost: IoCost) -> IoSaving | str | None:
    counters = cost.counters
    alignment = counters.alignment_bytes or counters.stripe_bytes
    if not alignment or not counters.calls:
        return None
    share = min(1.0, counters.unaligned / counters.calls)
    if share < MOST_CALLS:
        return f"alignment: {1 - share:.0%} of the calls begin at a multiple of {size(alignment)}"
    mean = counters.size_bytes / counters.calls
    if mean < alignment / 2:
        return None
    needed, touched = max(1.0, mean / alignment), 1 + mean / alignment
    after: Floats = np.full_like(cost.request_s, cost.time_s)
    for one in cost.directions:
        after -= share * np.minimum(one.calls_s, one.time_s * (1 - needed / touched))
    return IoSaving(
        f"begin reads and writes at multiples of {size(alignment)}, and pack files accordingly",
        f"{share:.0%} of the calls do not, so that a call of {size(mean)} needs "
        f"{touched:.2g} stripes or blocks instead of {needed:.2g}",
        after,
    )


def _whole_block_writes(cost: IoCost) -> IoSaving | str | None:
    reads, writes = cost.reads, cost.writes
    fewer, more = sorted((reads.counters.calls, writes.counters.calls))
    if not fewer or fewer < SWITCH_SHARE * more or cost.counters.switches < SWITCH_SHARE * more:
        return None
    if not _is_small(cost, writes):
        return None
    after = cost.time_s - reads.time_s - writes.time_s + writes.bytes_s
    return IoSaving(
        f"write whole blocks of {size(cost.unit_bytes)}, so that no block is read before it is "
        "written (MPI-IO: turn off data sieving of writes)",
        f"{cost.counters.switches:,} changes between reads and writes of the same file, "
        f"{reads.counters.calls:,} reads for {writes.counters.calls:,} writes",
        after + cost.large_requests_s(writes),
    )


def _ordered_reads(cost: IoCost) -> IoSaving | str | None:
    one = cost.reads
    if not one.counters.calls or cost.is_shared:
        return None
    if not _is_random(one):
        return f"order of reads: {one.counters.sequential_share:.0%} of them go forwards"
    if not _is_small(cost, one):
        return None
    extent = one.counters.extent_bytes
    whole = extent is not None and extent <= one.counters.size_bytes * REPEATED
    if whole:
        after_s = one.bytes_s + np.minimum(one.calls_s, cost.large_requests_s(one))
        change = "read the files once from the beginning to the end in large requests"
    else:
        after_s = one.time_s - uniform(7) * one.calls_s
        change = "sort the offsets before reading, and read ahead with several threads"
    return IoSaving(
        change,
        f"{one.counters.calls:,} reads of {size(one.counters.mean_bytes)} on average, of which "
        f"only {one.counters.sequential_share:.0%} go forwards",
        cost.time_s - one.time_s + after_s,
    )


def _read_once(cost: IoCost) -> IoSaving | str | None:
    one = cost.reads
    extent = one.counters.extent_bytes
    if not one.counters.calls or not extent:
        return None
    times = one.counters.size_bytes / extent
    if times < REPEATED:
        return f"fewer reads: they move {times:.2g} times the bytes of the files"
    kept = 1 / times
    change = "read each file once and keep it in memory"
    if cost.is_shared:
        change = "let one process read each file and send it to the others"
    # `share` is the fraction of the read time that first reads take. In half of the draws, a
    # repeated read takes as long as a first read. In the other draws a repeated read takes less
    # time, possibly none, because a cache may have answered the read.
    share = kept + (1 - kept) * np.maximum(0.0, 2 * uniform(7) - 1)
    return IoSaving(
        change,
        f"{size(one.counters.size_bytes)} were read from {size(extent)} of files",
        cost.time_s - one.time_s + share * one.time_s,
    )


ROMIO = "Thakur, Gropp, Lusk 1999: Data Sieving and Collective I/O in ROMIO"
RULES = (
    IoRule(
        "larger_transfers",
        "Each call costs time besides its bytes: a request to a server, and a lock if the file is "
        "shared.",
        "Carns et al. 2011: Understanding and Improving Computational Science Storage Access "
        "through Continuous Characterization",
        _larger_transfers,
    ),
    IoRule(
        "collective_buffering",
        "Interleaved small parts of many processes become few large requests.",
        ROMIO,
        _collective_buffering,
    ),
    IoRule(
        "aligned_requests",
        "A request that begins inside a stripe or block needs one more of them.",
        "Lustre Operations Manual, chapter on file layout (striping)",
        _aligned_requests,
    ),
    IoRule(
        "whole_block_writes",
        "A write of a part of a block reads the block first.",
        ROMIO,
        _whole_block_writes,
    ),
    IoRule(
        "ordered_reads",
        "Reads that jump need a request each, because reading ahead fetches the wrong bytes.",
        "Linux kernel documentation, mm/readahead.c",
        _ordered_reads,
    ),
    IoRule(
        "read_once",
        "Bytes that are read again cost the same time again.",
        "Carns et al. 2011, see larger_transfers",
        _read_once,
    ),
)
