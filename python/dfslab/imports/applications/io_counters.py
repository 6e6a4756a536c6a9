"""The I/O counters of one run of an application: the content of a Darshan log, summed over files
and processes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DirectionCounters:
    """The counters of all reads, or of all writes, of an application.

    - calls: number of calls.
    - size_bytes: bytes that these calls moved.
    - time_s: sum of the times of all processes in these calls.
    - consecutive: calls that begin where the previous call on the same file ended.
    - sequential: calls that begin at or behind the end of the previous call on the same file.
    - extent_bytes: offset after the last moved byte of a file, summed over the files; None if
      unknown.
    """

    calls: int = 0
    size_bytes: int = 0
    time_s: float = 0.0
    consecutive: int = 0
    sequential: int = 0
    extent_bytes: int | None = None

    @property
    def mean_bytes(self) -> float:
        """Mean size of a call in bytes; 0 if there is no call."""
        return self.size_bytes / self.calls if self.calls else 0.0

    @property
    def consecutive_share(self) -> float:
        """Share of the calls that are consecutive, from 0 to 1."""
        return min(1.0, self.consecutive / self.calls) if self.calls else 0.0

    @property
    def sequential_share(self) -> float:
        """Share of the calls that are sequential, from 0 to 1. Consecutive calls are sequential."""
        return min(1.0, self.sequential / self.calls) if self.calls else 0.0


@dataclass(frozen=True)
class IoCounters:
    """The POSIX calls of one run of an application, summed over its files and processes.

    program: command or name of the application. processes: number of its processes (ranks). files:
    number of opened files. shared_files: number of files that several processes opened.
    slowest_rank_s: I/O time in seconds (reads, writes and metadata calls) of the process with the
    most I/O time. is_slowest_known: False if the log has only sums over the processes;
    slowest_rank_s is then the mean over the processes. run_time_s: duration of the run; 0 if
    unknown. opens, stats, seeks, syncs: number of these calls. switches: how often a file was read
    directly after it was written, or written directly after it was read. unaligned: number of reads
    and writes that do not begin at a multiple of alignment_bytes. metadata_s: seconds in opens,
    closes, stats and seeks, summed over the processes. stripe_count, stripe_bytes: layout of the
    files on storage targets; 0 if unknown. active_ranks: number of processes that moved data; None
    if unknown. heaviest_rank_bytes: most bytes that one process moved; None if unknown.
    collective_calls: number of collective data calls of MPI-IO; None if the log has no MPI-IO.
    other_bytes: bytes moved through other interfaces, such as stdio.
    """

    program: str
    processes: int
    files: int
    shared_files: int
    slowest_rank_s: float
    reads: DirectionCounters
    writes: DirectionCounters
    is_slowest_known: bool = True
    run_time_s: float = 0.0
    opens: int = 0
    stats: int = 0
    seeks: int = 0
    syncs: int = 0
    switches: int = 0
    unaligned: int = 0
    alignment_bytes: int = 0
    metadata_s: float = 0.0
    stripe_count: int = 0
    stripe_bytes: int = 0
    active_ranks: int | None = None
    heaviest_rank_bytes: int | None = None
    collective_calls: int | None = None
    other_bytes: int = 0

    def __post_init__(self) -> None:
        if self.processes < 1:
            raise ValueError(f"the number of processes is {self.processes}, must be 1 or more")

    @property
    def size_bytes(self) -> int:
        """Bytes that all reads and writes moved."""
        return self.reads.size_bytes + self.writes.size_bytes

    @property
    def calls(self) -> int:
        """Number of all reads and writes."""
        return self.reads.calls + self.writes.calls

    @property
    def working_ranks(self) -> int:
        """Number of processes that moved data; all processes if the log does not say."""
        return max(1, self.active_ranks or self.processes)

    @property
    def sum_s(self) -> float:
        """Sum over all processes of the time in reads, writes and metadata calls, in seconds."""
        return self.reads.time_s + self.writes.time_s + self.metadata_s
