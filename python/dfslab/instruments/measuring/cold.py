"""Checks whether a cold run (a run that begins with empty caches) really read from disks. The check
compares the bytes that the run read from files with the bytes that were read from disks.

The servers must be on a testbed, because dfslab cannot read the disk counters of other servers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dfslab import discover
from dfslab.documents.load_report import LoadReport, OperationReport, PhaseReport
from dfslab.documents.measured_load import READS, DiskReads
from dfslab.fleet import run as fleet
from dfslab.method import RunFailed
from dfslab.spec.scenario import Scenario
from dfslab.spec.streams.vocabulary import Stream
from dfslab.testbeds.base import BaseTestbed
from dfslab.testbeds.capabilities import CachingClients
from dfslab.testbeds.errors import TestbedError

# Operations that do not transfer file content. A run that is checked may contain them in addition
# to reads.
CHANGES_NO_BYTES = frozenset({"open", "close", "stat", "exists", "list", "rename", "lock"})
# Smallest allowed value of (bytes read from disks) / (bytes read from files). Without warm caches,
# the ratio is about 1. The ratio is smaller if a medium compresses data, or if random reads read
# the same place twice. With warm caches, the ratio is nearly 0.
LEAST_SHARE = 0.1
# Largest number of operations that are examined to determine the bytes that a run reads for the
# first time.
LOOKED_AT = 200_000


def unverified(scenario: Scenario) -> list[str]:
    """Returns one note if the servers of a cold run are not on a testbed of dfslab, because dfslab
    cannot empty the caches of such servers. Otherwise returns an empty list."""
    choice = scenario.file_system
    system = discover.file_system(choice.name)
    if scenario.workload.cache != "cold" or choice.access.testbed or not system.has_servers:
        return []
    return [
        "only the clients' caches were emptied: dfslab did not start the servers, so their caches "
        "were neither emptied nor examined"
    ]


@dataclass(frozen=True)
class DisksRead:
    """Bytes read from disks in a whole run and in each of its phases. None stands for an unknown
    number."""

    whole: DiskReads | None = None
    phases: tuple[DiskReads | None, ...] = ()


class Disks:
    """Reads the disk counters of a testbed's servers at the start and the end of each phase of a
    cold run. Also empties caches before each phase.

    The servers' caches are always emptied. The caches of client processes are emptied only if
    `empties_clients` is true and the testbed's client processes have caches. The load plan must
    have a barrier after each phase.
    """

    def __init__(self, testbed: BaseTestbed, empties_clients: bool = False) -> None:
        self._testbed, self._empties_clients = testbed, empties_clients
        self._read_bytes: list[int | None] = []

    def mark(self) -> None:
        """Records the disk counters at the start or the end of a phase.

        At the start, first empties the servers' caches. If `empties_clients` is true, also empties
        the caches of client processes.
        """
        if len(self._read_bytes) % 2 == 0:
            self._empty_caches()
        self._read_bytes.append(self._testbed.disks_read_bytes())

    def _empty_caches(self) -> None:
        owners = "clients'"
        try:
            if self._empties_clients and isinstance(self._testbed, CachingClients):
                self._testbed.empty_client_caches()
            owners = "servers'"
            self._testbed.empty_caches()
        except TestbedError as error:
            raise RunFailed(f"emptying the {owners} caches: {error}") from error

    def read(self, stream: Stream, report: LoadReport) -> DisksRead:
        """Returns the bytes read from disks in the run and in each phase. A number is None if it is
        unknown. Without emulated disks, all numbers are None.

        For each phase that reads files and changes no file content, the bytes that it read from
        disks are compared with the bytes that it read from files for the first time. Raises
        RunFailed if their ratio is below LEAST_SHARE. A run without phases is checked like one
        phase.
        """
        marks = [known for known in self._read_bytes if known is not None]
        if not marks:
            return DisksRead()
        came_bytes = [
            after - before for before, after in zip(marks[::2], marks[1::2], strict=False)
        ]
        whole = _reads(report.operations, sum(came_bytes))
        each = [
            _reads(phase.operations, read_bytes)
            for phase, read_bytes in zip(report.phases, came_bytes, strict=False)
        ]
        parts: list[tuple[str, LoadReport | PhaseReport, DiskReads]] = [
            (f"phase {phase.name}", phase, reads)
            for phase, reads in zip(report.phases, each, strict=False)
        ]
        parts = parts if report.phases else [("run", report, whole)]
        if any(_only_reads(part) for _, part, _ in parts):
            planned = _planned(stream, report)
            for number, (what, part, reads) in enumerate(parts):
                if _only_reads(part):
                    _refuse_warm(reads, planned.get(number, 0), what)
        unknown = [None] * (len(report.phases) - len(each))
        return DisksRead(whole, (*each, *unknown))


def _reads(operations: Mapping[str, OperationReport], came_bytes: int) -> DiskReads:
    requested_bytes = sum(operations[name].bytes for name in READS & operations.keys())
    return DiskReads(requested_bytes=requested_bytes, read_bytes=came_bytes)


def _only_reads(part: LoadReport | PhaseReport) -> bool:
    return part.operations.keys() <= READS | CHANGES_NO_BYTES


def _refuse_warm(disks: DiskReads, planned_bytes: int, what: str) -> None:
    # Only first reads count: a second read of the same place may be served from memory.
    first_bytes = min(disks.requested_bytes, planned_bytes)
    if disks.read_bytes < LEAST_SHARE * first_bytes:
        raise RunFailed(
            f"a cold {what} was requested, but of {first_bytes} bytes read for the first time "
            f"only {disks.read_bytes} came off a disk: the others were in the memory of servers, "
            "or in a cache of clients other than the page cache"
        )


def _planned(stream: Stream, report: LoadReport) -> dict[int, int]:
    """Returns for each phase number the bytes that the phase reads for the first time.

    The bytes of one file are at most the file's size, and at most the bytes that were requested
    from the file. Only the first LOOKED_AT operations of a run are examined. The result for a
    longer run is therefore too low, so that the check rejects such a run less often.
    """
    one_place = _in_one_place(stream)
    clients = report.per_client
    most = {one.client: min(one.count, LOOKED_AT // len(clients)) for one in clients}
    moved: dict[tuple[int, int, int], dict[Any, int]] = {}
    ends: dict[tuple[int, int, int], int] = {}
    for one in fleet.planned(stream, most):
        if one.operation not in READS:
            continue
        key = one.phase, one.owner, one.file
        # The operation "read" may read parts of a file in any order. Its `offset_bytes` is the
        # length of the file, not an offset, so the place that it reads is unknown. Each such
        # operation is counted as a read of a different place.
        somewhere = one.operation == "read"
        place = (one.client, one.number) if somewhere else one.offset_bytes
        each = moved.setdefault(key, {})
        each[place] = max(one.size_bytes, each.get(place, 0))
        end_bytes = one.offset_bytes + one.size_bytes
        if somewhere:
            end_bytes = one.offset_bytes or one.size_bytes
        if one.phase in one_place:
            # If the phase reads one place repeatedly, only the first transfer reads new bytes. If
            # transfer sizes are random, this transfer may be very small, so 0 bytes are counted.
            end_bytes = min(end_bytes, one.transfer_size_bytes * one_place[one.phase])
        ends[key] = max(end_bytes, ends.get(key, 0))
    found: dict[int, int] = {}
    for key, each in moved.items():
        found[key[0]] = found.get(key[0], 0) + min(sum(each.values()), ends[key])
    return found


def _in_one_place(stream: Stream) -> dict[int, bool]:
    """Returns the phases that read one place of a file repeatedly.

    Keys are phase numbers. A value is true if all transfers of the phase have the full transfer
    size, and false if the sizes of the transfers vary.
    """
    found = {}
    for number, part in enumerate(stream.all_phases):
        accesses = [part.access, *(share.access for share in part.mix if share.access)]
        if any(access.order == "same" for access in accesses):
            found[number] = not any(access.transfer_size for access in accesses)
    return found
