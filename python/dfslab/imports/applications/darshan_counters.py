"""Sums the POSIX records of a Darshan log. The sums are the counters of the application that
Darshan observed. A Darshan log has one record for each file and process.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dfslab.imports.applications.io_counters import DirectionCounters, IoCounters

# The rank of a record that Darshan summed over all processes, because all of them opened the file.
SHARED = -1
# A shared file is unattributed if its bytes cannot be divided among the processes. Unattributed
# files are ignored if their total size is at most this share of all bytes that the application
# moved.
SMALL_FILE = 0.05
# The processes that share a file count as equally loaded if the standard deviation of their bytes
# is at most EVEN times the mean of their bytes.
EVEN = 0.1
# If one process moved more than this share of a file's bytes, the bytes that the other processes
# moved in this file are neglected.
NEARLY_ALL = 0.9


@dataclass(frozen=True)
class FileRecord:
    """The counters that one Darshan module recorded for one file and one process.

    `rank`: number of the process, or SHARED if the counters are summed over all processes.
    `values`: the counters by name, without the module's prefix: OPENS for POSIX_OPENS. Times such
    as F_READ_TIME are in seconds.
    """

    rank: int
    file: str
    values: Mapping[str, float]

    def value(self, name: str) -> float:
        """Returns the value of the counter `name`. Returns 0 if the log does not have the counter,
        or if its value is -1, by which Darshan marks a counter as not recorded.
        """
        return max(0.0, self.values.get(name, 0.0))

    @property
    def time_s(self) -> float:
        """Time in seconds in reads, writes and metadata calls, summed over the processes."""
        return sum(self.value(f"F_{kind}_TIME") for kind in ("READ", "WRITE", "META"))

    @property
    def size_bytes(self) -> float:
        """Bytes that were read and written."""
        return self.value("BYTES_READ") + self.value("BYTES_WRITTEN")


@dataclass
class LogContent:
    """What a reader found in a Darshan log.

    posix, mpi: the records of the modules POSIX and MPI-IO. stripes: for each file, the number of
    its storage targets and the size of a stripe in bytes. other_bytes: bytes of the module STDIO.
    """

    program: str = ""
    processes: int = 0
    run_time_s: float = 0.0
    posix: list[FileRecord] = field(default_factory=list)
    mpi: list[FileRecord] = field(default_factory=list)
    stripes: dict[str, tuple[int, int]] = field(default_factory=dict)
    other_bytes: int = 0


def counters_of(content: LogContent) -> IoCounters:
    """Returns the summed counters of a log. Raises ValueError if the log has no POSIX record."""
    records = [one for one in content.posix if one.time_s or one.size_bytes or one.value("OPENS")]
    if not records:
        raise ValueError("has no POSIX records, so that nothing is known about single calls")
    slowest_s = _slowest_rank_s(records)
    moved = _bytes_by_rank(records, content.processes)
    stripe_count, stripe_bytes = _stripes(records, content.stripes)
    files = {one.file for one in records}
    return IoCounters(
        program=content.program,
        processes=content.processes,
        files=len(files),
        shared_files=len(_shared_files(records)) if content.processes > 1 else 0,
        slowest_rank_s=slowest_s,
        reads=_direction(records, "READ", "READ"),
        writes=_direction(records, "WRITE", "WRITTEN"),
        run_time_s=content.run_time_s,
        opens=_total(records, "OPENS"),
        stats=_total(records, "STATS"),
        seeks=_total(records, "SEEKS"),
        syncs=_total(records, "FSYNCS") + _total(records, "FDSYNCS"),
        switches=_total(records, "RW_SWITCHES"),
        unaligned=_total(records, "FILE_NOT_ALIGNED"),
        alignment_bytes=round(max(one.value("FILE_ALIGNMENT") for one in records)),
        metadata_s=sum(one.value("F_META_TIME") for one in records),
        stripe_count=stripe_count,
        stripe_bytes=stripe_bytes,
        active_ranks=None if moved is None else sum(one > 0 for one in moved.values()),
        heaviest_rank_bytes=None if moved is None else round(max(moved.values(), default=0.0)),
        collective_calls=_collective_calls(content.mpi),
        other_bytes=content.other_bytes,
    )


def _total(records: Iterable[FileRecord], name: str) -> int:
    return round(sum(one.value(name) for one in records))


def _direction(records: list[FileRecord], calls: str, moved: str) -> DirectionCounters:
    extents: dict[str, float] = defaultdict(float)
    for one in records:
        if one.value(f"BYTES_{moved}"):
            end = one.value(f"MAX_BYTE_{moved}") + 1
            extents[one.file] = max(extents[one.file], end)
    return DirectionCounters(
        calls=_total(records, f"{calls}S"),
        size_bytes=_total(records, f"BYTES_{moved}"),
        time_s=sum(one.value(f"F_{calls}_TIME") for one in records),
        consecutive=_total(records, f"CONSEC_{calls}S"),
        sequential=_total(records, f"SEQ_{calls}S"),
        extent_bytes=round(sum(extents.values())) if extents else None,
    )


def _shared_files(records: Iterable[FileRecord]) -> set[str]:
    ranks: dict[str, set[int]] = defaultdict(set)
    for one in records:
        ranks[one.file].add(one.rank)
    return {file for file, own in ranks.items() if SHARED in own or len(own) > 1}


def _slowest_rank_s(records: Iterable[FileRecord]) -> float:
    """Returns the I/O time in seconds of the slowest process, as darshan-parser estimates it: A +
    B.

    A comes from the records of single processes: the times of each process are summed, and the
    largest sum counts. B comes from the records that combine all processes: the times of the
    slowest process of each record are summed.
    """
    own: dict[int, float] = defaultdict(float)
    together_s = 0.0
    for one in records:
        if one.rank == SHARED:
            together_s += one.value("F_SLOWEST_RANK_TIME")
        else:
            own[one.rank] += one.time_s
    return together_s + max(own.values(), default=0.0)


def _bytes_by_rank(records: list[FileRecord], processes: int) -> dict[int, float] | None:
    """Returns the bytes that each process moved, by the rank of the process. Returns None if the
    log does not contain these bytes.

    A record of a single process states the bytes of this process. If a record is a sum over
    processes, `_parts` divides its bytes among them. Records that cannot be divided are ignored if
    they have at most the share SMALL_FILE of all bytes. If such records have a larger share, the
    result is None.
    """
    found: dict[int, float] = defaultdict(float)
    total = sum(one.size_bytes for one in records)
    unknown_bytes = 0.0
    for one in records:
        parts = {one.rank: one.size_bytes} if one.rank != SHARED else _parts(one, processes)
        if parts is None:
            unknown_bytes += one.size_bytes
        for rank, size in (parts or {}).items():
            found[rank] += size
    return None if unknown_bytes > SMALL_FILE * total else found


def _parts(record: FileRecord, processes: int) -> dict[int, float] | None:
    """Returns the bytes of one file that each process moved, by the rank of the process. `record`
    is the record of the file, summed over all processes.

    If all processes moved about equal parts, each has the mean. If one process with a known rank
    moved nearly all bytes, the result has only this process. Otherwise returns None.
    """
    mean = record.size_bytes / processes
    if record.value("F_VARIANCE_RANK_BYTES") <= (EVEN * mean) ** 2:
        return dict.fromkeys(range(processes), mean)
    for kind in ("FASTEST_RANK", "SLOWEST_RANK"):
        heaviest, rank = record.value(f"{kind}_BYTES"), record.values.get(kind, -1.0)
        if heaviest > record.size_bytes * NEARLY_ALL and rank >= 0:
            return {int(rank): heaviest}
    return None


def _stripes(
    records: Iterable[FileRecord], stripes: Mapping[str, tuple[int, int]]
) -> tuple[int, int]:
    """Returns the layout of one file as (number of storage targets, size of a stripe in bytes).
    The file is the one with the most moved bytes among the files with a known layout. Returns (0,
    0) if no layout is known."""
    moved: dict[str, float] = defaultdict(float)
    for one in records:
        if one.file in stripes:
            moved[one.file] += one.size_bytes
    if not moved:
        return 0, 0
    return stripes[max(moved, key=lambda file: moved[file])]


def _collective_calls(records: list[FileRecord]) -> int | None:
    """Returns the number of collective reads and writes of MPI-IO; None if the log has no MPI-IO
    records."""
    if not records:
        return None
    return sum(_total(records, f"COLL_{call}") for call in ("READS", "WRITES"))


def finite(text: str, what: str) -> float:
    """Converts a text to a finite number. If this is not possible, raises ValueError with a message
    that begins with `what`, the name of the value."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ValueError(f"{what} is {text[:40]!r}, must be a number")
    return found
