"""The dirty pages of a deployment's data servers. The module computes their thresholds, and which
share of the written data servers write to disk during a run of a single phase. The remaining data
is still in the servers' page caches at the end of the run."""

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
    """Returns the state of the dirty pages of all data servers before a run, when no page is dirty
    yet. The thresholds follow from the servers' memory."""
    groups = data_groups(scenario, system)
    return DirtyPages(
        sum(one.count * one.memory * one.dirty_background for one in groups),
        sum(one.count * one.memory * one.dirty_limit for one in groups),
        EXPIRE_S,
    )


def written_back_share(scenario: Scenario, system: FileSystem, volume_bytes: float) -> float:
    """Returns the share of the written `volume_bytes` that servers write to disk during the run.
    The share of direct writes is 1, because they do not use the page cache.

    Pages that are dirty at the end of the run are written later. Disks write all other data during
    the run. The run therefore takes as long as the slower of the disks and the writers. When the
    dirty pages reach their limit, writers are throttled to the disks' rate.
    """
    if scenario.workload.cache == "direct":
        return 1.0
    limit_bytes = dirty_pages(scenario, system).limit_bytes
    return max(0.0, 1.0 - limit_bytes / volume_bytes) if volume_bytes else 0.0
