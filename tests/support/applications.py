"""Makes counters of a Darshan log for applications whose I/O time follows from planted costs. Also
makes the text that darshan-parser prints for a log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dfslab.imports.applications.darshan_counters import FileRecord
from dfslab.imports.applications.io_counters import DirectionCounters, IoCounters

MIB = 1 << 20


@dataclass(frozen=True)
class Storage:
    """A storage system with three planted costs: the rate of a storage target in bytes per second,
    the fixed time in seconds of a data request, to which the time of its bytes is added, and the
    time in seconds of a metadata request."""

    target_bytes_per_s: float = 1.2e9
    request_s: float = 1e-3
    metadata_s: float = 2e-3


@dataclass(frozen=True)
class Application:
    """The I/O calls of all processes of an application. `active` processes make all calls, in equal
    parts.

    `adjacent`: the share of calls that begin at the end of the previous call. `forwards`: the share
    of calls that begin at or behind the end of the previous call. `targets`: the number of storage
    targets that work at the same time. `split`: the mean number of stripes that a call touches.
    `extent_bytes`: the total size of all files.
    """

    processes: int = 16
    active: int = 16
    files: int = 16
    shared_files: int = 0
    reads: int = 0
    read_bytes: int = 0
    writes: int = 0
    write_bytes: int = 0
    opens: int = 16
    stats: int = 16
    seeks: int = 0
    syncs: int = 0
    switches: int = 0
    adjacent: float = 1.0
    forwards: float = 1.0
    unaligned: float = 0.0
    split: float = 1.0
    targets: int = 16
    stripe_count: int = 1
    extent_bytes: int | None = None

    def time_s(self, storage: Storage) -> float:
        """Returns the true I/O time in seconds of the slowest process."""
        return sum(self._parts_s(storage))

    def _parts_s(self, storage: Storage) -> tuple[float, float, float]:
        """Returns (seconds of reads, of writes and syncs, of metadata) of the slowest process."""
        each = 1 / self.active
        metadata_s = (self.opens + self.stats) * each * storage.metadata_s
        data_s = []
        for calls, moved in ((self.reads, self.read_bytes), (self.writes, self.write_bytes)):
            bytes_s = max(moved / self.targets, moved * each) / storage.target_bytes_per_s
            data_s.append(calls * each * self.split * storage.request_s + bytes_s)
        syncs_s = self.syncs * each * 5 * storage.request_s
        return data_s[0], data_s[1] + syncs_s, metadata_s

    def counters(self, storage: Storage) -> IoCounters:
        """Returns the counters that Darshan would record if this application ran on `storage`."""
        read_s, write_s, metadata_s = self._parts_s(storage)
        total = self.read_bytes + self.write_bytes

        def direction(calls: int, moved: int, time_s: float) -> DirectionCounters:
            return DirectionCounters(
                calls,
                moved,
                time_s * self.active,
                consecutive=int(calls * self.adjacent),
                sequential=int(calls * self.forwards),
                extent_bytes=(self.extent_bytes or moved) if calls else None,
            )

        return IoCounters(
            program="planted",
            processes=self.processes,
            files=self.files,
            shared_files=self.shared_files,
            slowest_rank_s=read_s + write_s + metadata_s,
            reads=direction(self.reads, self.read_bytes, read_s),
            writes=direction(self.writes, self.write_bytes, write_s),
            run_time_s=2 * (read_s + write_s + metadata_s),
            opens=self.opens,
            stats=self.stats,
            seeks=self.seeks,
            syncs=self.syncs,
            switches=self.switches,
            unaligned=int((self.reads + self.writes) * self.unaligned),
            alignment_bytes=MIB,
            metadata_s=metadata_s * self.active,
            stripe_count=self.stripe_count,
            stripe_bytes=MIB,
            active_ranks=self.active,
            heaviest_rank_bytes=total // self.active,
        )

    def but(self, **changes: int | float) -> Application:
        """Returns a copy of this application in which the fields in `changes` have other values."""
        return replace(self, **changes)  # type: ignore[arg-type]


def text_of(
    processes: int, run_time_s: float, modules: Iterable[tuple[str, str, Iterable[FileRecord]]]
) -> str:
    """Returns the text that darshan-parser prints for records. Each module is (name of the module
    in the first column, prefix of its counters, records)."""
    lines = [
        "# darshan log version: 3.41",
        "# exe: ./planted -n 4",
        f"# nprocs: {processes}",
        f"# run time: {run_time_s}",
    ]
    for module, prefix, records in modules:
        lines.append(f"# {module} module data")
        lines.append(
            "#<module>\t<rank>\t<record id>\t<counter>\t<value>\t<file name>\t<mount>\t<fs>"
        )
        for one in records:
            lines += [
                f"{module}\t{one.rank}\t{abs(hash(one.file))}\t{prefix}_{name}\t{value!r}"
                f"\t{one.file}\t/\text4"
                for name, value in one.values.items()
            ]
    return "\n".join(lines) + "\n"
