"""Whether a cold run was one: on a bed by what was read of files, beside what came off the disks;
elsewhere nobody can tell of the servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfslab import discover
from dfslab.fleet import run as fleet
from dfslab.method import RunFailed
from dfslab.spec.scenario import Scenario

READS = frozenset({"read", "pread"})
# What else a run may do without making anything that is then in memory by right.
CHANGES_NO_BYTES = frozenset({"open", "close", "stat", "exists", "list", "rename", "lock"})
# Disks give at least what is asked of them; what they hold may be compressed, and reads of files
# at random may meet the same one again. Caches that were not emptied give nearly everything.
LEAST_SHARE = 0.1


def unproven(scenario: Scenario) -> list[str]:
    """A note on a cold run of servers that are not ours: their caches are out of reach."""
    choice = scenario.file_system
    system = discover.file_system(choice.name)
    if scenario.workload.cache != "cold" or choice.access.bed or not system.has_servers:
        return []
    return ["only the clients were made cold: the servers are no bed of ours, so their caches were "
            "neither emptied nor looked at"]  # fmt: skip


class Disks:
    """The disks of a bed while a cold run is on."""

    def __init__(self, bed: Any) -> None:
        self._bed = bed
        self._before: list[int] = []

    def prepared(self) -> None:
        """Caches are empty and nobody has begun the next phase, or the only one."""
        self._before.append(self._bed.disks_read_bytes())

    def tell(self, stream: Mapping[str, Any], outcome: dict[str, Any]) -> None:
        """Note in `cache` of the outcome and of each phase what disks gave; RunFailed when that was
        next to nothing.

        Only what does nothing but read what was there before can be refused.
        """
        read_bytes = [*self._before, self._bed.disks_read_bytes()]
        _note(outcome, read_bytes[-1] - read_bytes[0])
        phases = outcome.get("phases") or ()
        # What comes after the last phase, such as comparing what was written, is no part of it.
        for phase, before, after in zip(phases, read_bytes, read_bytes[1:], strict=False):
            _note(phase, after - before)
        planned = _planned(stream, outcome)
        for number, part in enumerate(phases or [outcome]):
            _refuse_warm(part, planned.get(number, 0), f"phase {part['name']}" if phases else "run")


def _note(part: dict[str, Any], came_bytes: int) -> None:
    operations = part["operations"]
    asked_bytes = sum(operations[name]["bytes"] for name in READS & operations.keys())
    part["cache"]["disks"] = {"asked_bytes": asked_bytes, "read_bytes": came_bytes}


def _refuse_warm(part: Mapping[str, Any], planned_bytes: int, what: str) -> None:
    disks = part["cache"].get("disks")
    if disks is None or not part["operations"].keys() <= READS | CHANGES_NO_BYTES:
        return
    # The second reading of a place may be answered from memory.
    first_bytes = min(disks["asked_bytes"], planned_bytes)
    if disks["read_bytes"] < LEAST_SHARE * first_bytes:
        raise RunFailed(
            f"a cold {what} was asked for, but of {first_bytes} bytes read for the first time "
            f"only {disks['read_bytes']} came off a disk: the servers had them in memory"
        )


def _planned(stream: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[int, int]:
    """Bytes of different places that each phase reads, by its number, as far as its clients got."""
    places: dict[tuple[int, int, int, int], int] = {}
    for client in outcome["per_client"]:
        for one in fleet.planned(stream, client["client"], client["count"]):
            _, _, kind, file, size_bytes, _, offset_bytes, owner, phase = one
            if kind in READS:
                place = phase, owner, file, offset_bytes
                places[place] = max(size_bytes, places.get(place, 0))
    found: dict[int, int] = {}
    for (phase, *_), size_bytes in places.items():
        found[phase] = found.get(phase, 0) + size_bytes
    return found
