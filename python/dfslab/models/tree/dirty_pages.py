"""The dirty pages of a deployment's data servers: their thresholds, and the share of written data
that servers write to disk during a run of a single phase. The remaining written data is still in
the servers' page caches at the end of the run.
"""

from __future__ import annotations

from dfslab.models.tree.page_cache import DirtyPages
from dfslab.spec.deployment import NodeGroup
from dfslab.spec.scenario import Scenario
from dfslab.spec.systems.filesystem import FileSystem

# Age at which Linux writes a dirty page back although few pages are dirty
# (vm.dirty_expire_centisecs).
EXPIRE_S = 30.0


def data_groups(scenario: Scenario, system: FileSystem) -> list[NodeGroup]:
    """Returns the node groups that host a role which stores data, each group once."""
    roles = [role.name for role in system.roles if role.kind == "data"]
    groups = [group for role in roles for group in scenario.deployment.groups_of(role)]
    return list({group.name: group for group in groups}.values())


def dirty_pages(scenario: Scenario, system: FileSystem) -> DirtyPages:
    """Returns the state of the dirty pages of all data servers before a run: there are none yet,
    and the thresholds follow from the servers' memory."""
    groups = data_groups(scenario, system)
    return DirtyPages(
        sum(one.count * one.memory * one.dirty_background for one in groups),
        sum(one.count * one.memory * one.dirty_limit for one in groups),
        EXPIRE_S,
    )


def written_back_share(scenario: Scenario, system: FileSystem, volume_bytes: float) -> float:
    """Returns the share of the written `volume_bytes` that servers write to disk during the run.
    Direct writes do not use the page cache, so their share is 1.

    Writers are throttled to the disks' rate once the dirty pages reach their limit. Pages that are
    dirty at the end are written after the run. The disks write all other data during the run, so
    the run takes as long as the slower of the disks and the writers.
    """
    if scenario.workload.cache == "direct":
        return 1.0
    limit_bytes = dirty_pages(scenario, system).limit_bytes
    return max(0.0, 1.0 - limit_bytes / volume_bytes) if volume_bytes else 0.0
