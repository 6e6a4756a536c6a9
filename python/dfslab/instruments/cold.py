"""Whether a cold run was one: on a bed by what was read of files, beside what came off the disks;
elsewhere nobody can tell of the servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dfslab import discover
from dfslab.beds.base import BaseBed
from dfslab.beds.errors import BedError
from dfslab.documents.load_report import LoadReport, OperationReport, PhaseReport
from dfslab.documents.measured_load import DiskReads
from dfslab.fleet import run as fleet
from dfslab.method import RunFailed
from dfslab.spec.scenario import Scenario

READS = frozenset({"read", "pread"})
# What else a run may do without making anything that is then in memory by right.
CHANGES_NO_BYTES = frozenset({"open", "close", "stat", "exists", "list", "rename", "lock"})
# Disks give at least what is asked of them; what they hold may be compressed, and reads of files
# at random may meet the same one again. Caches that were not emptied give nearly everything.
LEAST_SHARE = 0.1
# So many operations of a load are looked at, to know what it reads for the first time.
LOOKED_AT = 200_000


def unproven(scenario: Scenario) -> list[str]:
    """A note on a cold run of servers that are not ours: their caches are out of reach."""
    choice = scenario.file_system
    system = discover.file_system(choice.name)
    if scenario.workload.cache != "cold" or choice.access.bed or not system.has_servers:
        return []
    return [
        "only the clients were made cold: the servers are no bed of ours, so their caches were "
        "neither emptied nor looked at"
    ]


@dataclass(frozen=True)
class DisksRead:
    """What disks gave for a whole load, and for each of its phases; None where nothing is known."""

    whole: DiskReads | None = None
    phases: tuple[DiskReads | None, ...] = ()


class Disks:
    """The servers of a bed while a cold run is on, whose plan holds after each phase."""

    def __init__(self, bed: BaseBed) -> None:
        self._bed = bed
        self._read_bytes: list[int | None] = []

    def mark(self) -> None:
        """Page caches are empty and nobody has begun a phase, or all have just ended it."""
        if len(self._read_bytes) % 2 == 0:
            try:
                self._bed.empty_caches()
            except BedError as error:
                raise RunFailed(f"emptying the servers' caches: {error}") from error
        self._read_bytes.append(self._bed.disks_read_bytes())

    def read(self, stream: Mapping[str, Any], report: LoadReport) -> DisksRead:
        """What disks gave for the load and for each phase; RunFailed when that was next to nothing.
        Of a bed that has no disks of its own nothing is known.

        Only what does nothing but read what was there before can be refused.
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
    asked_bytes = sum(operations[name].bytes for name in READS & operations.keys())
    return DiskReads(asked_bytes=asked_bytes, read_bytes=came_bytes)


def _only_reads(part: LoadReport | PhaseReport) -> bool:
    return part.operations.keys() <= READS | CHANGES_NO_BYTES


def _refuse_warm(disks: DiskReads, planned_bytes: int, what: str) -> None:
    # The second reading of a place may be answered from memory.
    first_bytes = min(disks.asked_bytes, planned_bytes)
    if disks.read_bytes < LEAST_SHARE * first_bytes:
        raise RunFailed(
            f"a cold {what} was asked for, but of {first_bytes} bytes read for the first time "
            f"only {disks.read_bytes} came off a disk: servers had them in memory, or clients "
            "beside the page cache"
        )


def _planned(stream: Mapping[str, Any], report: LoadReport) -> dict[int, int]:
    """Bytes that each phase reads for the first time, by its number: of each file no more than it
    has or is read of it. Of long loads the first operations say enough, since fewer bytes refuse
    less."""
    one_place = _in_one_place(stream)
    clients = report.per_client
    most = {one.client: min(one.count, LOOKED_AT // len(clients)) for one in clients}
    moved: dict[tuple[int, int, int], dict[Any, int]] = {}
    ends: dict[tuple[int, int, int], int] = {}
    for one in fleet.planned(stream, most):
        if one.operation not in READS:
            continue
        key = one.phase, one.owner, one.file
        # A read that is not front to back says how long its file is instead of where it reads.
        somewhere = one.operation == "read"
        place = (one.client, one.number) if somewhere else one.offset_bytes
        each = moved.setdefault(key, {})
        each[place] = max(one.size_bytes, each.get(place, 0))
        end_bytes = one.offset_bytes + one.size_bytes
        if somewhere:
            end_bytes = one.offset_bytes or one.size_bytes
        if one.phase in one_place:
            # A transfer of a size of its own may be any smaller.
            end_bytes = min(end_bytes, one.transfer_size_bytes * one_place[one.phase])
        ends[key] = max(end_bytes, ends.get(key, 0))
    found: dict[int, int] = {}
    for key, each in moved.items():
        found[key[0]] = found.get(key[0], 0) + min(sum(each.values()), ends[key])
    return found


def _in_one_place(stream: Mapping[str, Any]) -> dict[int, bool]:
    """Numbers of the phases that read one place of a file again and again, and whether that is a
    transfer of the usual size."""
    found = {}
    for number, part in enumerate(stream.get("phases") or [stream]):
        shares = (share.get("access") for share in part.get("mix", ()))
        accesses = [access for access in (part.get("access"), *shares) if access]
        if any(access.get("order") == "same" for access in accesses):
            found[number] = not any(access.get("transfer_size") for access in accesses)
    return found
