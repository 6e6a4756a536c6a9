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
        self._before = 0

    def prepared(self) -> None:
        """Caches are empty and nobody has begun."""
        self._before = self._bed.disks_read_bytes()

    def tell(self, stream: Mapping[str, Any], outcome: dict[str, Any]) -> None:
        """Note in the outcome's `cache` what disks gave; RunFailed when that was next to nothing.

        Only a run that does nothing but read what was there before can be refused.
        """
        came_bytes = self._bed.disks_read_bytes() - self._before
        operations = outcome["operations"]
        asked_bytes = sum(operations[name]["bytes"] for name in READS & operations.keys())
        outcome["cache"]["disks"] = {"asked_bytes": asked_bytes, "read_bytes": came_bytes}
        only_reads = operations.keys() <= READS | CHANGES_NO_BYTES
        # The second reading of a file may be answered from memory.
        first_bytes = min(asked_bytes, fleet.prepared_bytes(stream))
        if only_reads and came_bytes < LEAST_SHARE * first_bytes:
            raise RunFailed(
                f"a cold run was asked for, but of {first_bytes} bytes read for the first time "
                f"only {came_bytes} came off a disk: the servers had them in memory"
            )
