"""Computes which share of written data servers write to disk during a run. The rest is still in
their page caches at the end.
"""

from __future__ import annotations

from dfslab.spec.scenario import Scenario
from dfslab.spec.systems.filesystem import FileSystem

# Largest share of memory that may hold dirty pages before Linux makes writers wait for the disk
# (vm.dirty_ratio). From half of this share on (vm.dirty_background_ratio), the disk writes as well,
# which delays no writer.
DIRTY_LIMIT_SHARE = 0.20


def written_back_share(scenario: Scenario, system: FileSystem, volume_bytes: float) -> float:
    """Returns the share of the written `volume_bytes` that servers write to disk during the run.

    Writers are throttled to the disks' rate once the dirty pages reach their limit. Pages that are
    dirty at the end are written after the run. The disks write all other data while the writers
    run, so a run takes as long as the slower of the two. Direct writes pass no page cache.
    """
    if scenario.workload.cache == "direct":
        return 1.0
    data = [role.name for role in system.roles if role.kind == "data"]
    memory_bytes = sum(
        group.count * group.memory for role in data for group in scenario.deployment.groups_of(role)
    )
    dirty_bytes = DIRTY_LIMIT_SHARE * memory_bytes
    return max(0.0, 1.0 - dirty_bytes / volume_bytes) if volume_bytes else 0.0
