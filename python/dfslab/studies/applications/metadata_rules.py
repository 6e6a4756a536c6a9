"""Rules about opens, stats, seeks and syncs."""

from __future__ import annotations

import numpy as np

from dfslab.studies.applications.cost import LOCAL_CALL_S, IoCost, uniform
from dfslab.studies.applications.io_rule import IoRule, IoSaving
from dfslab.studies.applications.transfer_rules import MOST_CALLS, size

# Calls count as too many if their number is at least this multiple of the necessary number.
TOO_MANY = 2.0
# The rule for small files applies only if there are at least this number of files for each process.
MANY_FILES = 4.0
# Least ratio of syncs to write calls for which syncs can explain the time of the writes.
SYNC_SHARE = 0.1


def _call_s(cost: IoCost) -> float:
    """Returns the mean time in seconds of an open (with its close) or a stat. Seeks change only the
    state of the process, so each seek is assumed to take LOCAL_CALL_S."""
    counters = cost.counters
    calls = (counters.opens + counters.stats) / counters.working_ranks
    seeks_s = min(cost.metadata_s, LOCAL_CALL_S * counters.seeks / counters.working_ranks)
    return (cost.metadata_s - seeks_s) / calls if calls else 0.0


def _fewer(cost: IoCost, calls: float, change: str, evidence: str) -> IoSaving:
    """Returns the saving if `calls` fewer opens or stats are made, counted over all processes."""
    saved_s = min(cost.metadata_s, _call_s(cost) * calls / cost.counters.working_ranks)
    after = np.full_like(cost.request_s, cost.time_s - saved_s)
    return IoSaving(change, evidence, after)


def _fewer_opens(cost: IoCost) -> IoSaving | str | None:
    counters = cost.counters
    if not counters.files:
        return None
    shared = counters.shared_files if counters.processes > 1 else 0
    needed = counters.files - shared + shared * counters.processes
    if counters.opens < TOO_MANY * needed:
        share = cost.metadata_s / cost.time_s
        return f"fewer opens: {counters.opens:,} opens; metadata calls take {share:.1%} of the time"
    return _fewer(
        cost,
        counters.opens - needed,
        "open each file once and keep it open",
        f"{counters.opens:,} opens where {needed:,} are enough",
    )


def _fewer_files(cost: IoCost) -> IoSaving | str | None:
    counters = cost.counters
    own = counters.files / counters.processes
    if own < MANY_FILES or counters.size_bytes / counters.files >= cost.unit_bytes:
        return None
    calls = (counters.opens + counters.stats) * (1 - 1 / own)
    return _fewer(
        cost,
        calls,
        "put the small files into few large ones (such as HDF5, tar or a database)",
        f"{counters.files:,} files of {size(counters.size_bytes / counters.files)} on average",
    )


def _fewer_stats(cost: IoCost) -> IoSaving | str | None:
    counters = cost.counters
    if not counters.stats:
        return None
    if counters.stats < TOO_MANY * max(1, counters.opens):
        return f"fewer stats: {counters.stats:,} stats for {counters.opens:,} opens"
    return _fewer(
        cost,
        counters.stats - counters.opens,
        "do not ask for sizes and dates again: keep the answers, or list folders once",
        f"{counters.stats:,} stats for {counters.opens:,} opens",
    )


def _needless_seeks(cost: IoCost) -> IoSaving | str | None:
    counters = cost.counters
    if not counters.seeks or not counters.calls:
        return None
    adjacent = (counters.reads.consecutive + counters.writes.consecutive) / counters.calls
    if counters.seeks < MOST_CALLS * counters.calls:
        return f"fewer seeks: {counters.seeks:,} seeks for {counters.calls:,} reads and writes"
    if adjacent < MOST_CALLS:
        return "fewer seeks: the calls are not adjacent, so that seeks are necessary"
    own = counters.seeks / counters.working_ranks
    least_s = min(cost.metadata_s, own * LOCAL_CALL_S)
    most_s = cost.metadata_s * counters.seeks / (counters.seeks + counters.opens + counters.stats)
    saved_s = least_s + uniform(7) * max(0.0, most_s - least_s)
    return IoSaving(
        "leave out seeks to where the file already is",
        f"{counters.seeks:,} seeks, although {min(1.0, adjacent):.0%} of the calls are adjacent to "
        "the call before",
        cost.time_s - saved_s,
    )


def _fewer_syncs(cost: IoCost) -> IoSaving | str | None:
    counters, one = cost.counters, cost.writes
    if not counters.syncs or not one.counters.calls:
        return None
    if counters.syncs < SYNC_SHARE * one.counters.calls:
        return f"fewer syncs: {counters.syncs:,} syncs for {one.counters.calls:,} writes"
    # `share` is the fraction of the time of the writes that the syncs cause. The fraction is at
    # least the one that syncs would cause if a sync cost as much as a write, and at most 1.
    least = counters.syncs / (counters.syncs + one.counters.calls)
    share = least + (1 - least) * uniform(7)
    return IoSaving(
        "sync once at the end instead of after each write (data since then is lost in a crash)",
        f"{counters.syncs:,} syncs for {one.counters.calls:,} writes",
        cost.time_s - share * one.calls_s,
    )


CARNS = "Carns et al. 2009: Small-File Access in Parallel File Systems"
RULES = (
    IoRule(
        "fewer_opens",
        "Each open and close is a request to the metadata server.",
        CARNS,
        _fewer_opens,
    ),
    IoRule(
        "fewer_files",
        "Each file costs an open, a close and often a stat at the metadata server.",
        CARNS,
        _fewer_files,
    ),
    IoRule(
        "fewer_stats",
        "Each stat is a request to the metadata server, and to data servers for the size.",
        CARNS,
        _fewer_stats,
    ),
    IoRule(
        "needless_seeks",
        "A seek to the present offset changes nothing.",
        "POSIX: lseek",
        _needless_seeks,
    ),
    IoRule(
        "fewer_syncs", "A sync waits until the storage has the data.", "POSIX: fsync", _fewer_syncs
    ),
)
