"""Splits nodes that play several roles into dedicated nodes, so that one role can grow alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dfslab import discover
from dfslab.spec.deployment import NodeGroup
from dfslab.spec.scenario import Scenario

# Name of the dedicated nodes of each kind of role.
_NODES = {"client": "client", "metadata": "master", "data": "server"}


def dedicated(scenario: Scenario) -> tuple[Scenario, str] | None:
    """Returns (changed scenario, note about the change). In the changed scenario, each node plays
    roles of one kind only: a node that played roles of several kinds is replaced by separate nodes
    for each kind. Returns None if no node plays roles of several kinds, or if two node groups would
    get the same name.

    The new nodes have the hardware of the replaced node. A node with n processes of a data role is
    replaced by n data nodes. The nodes of the changed scenario share no cores.
    """
    system = discover.file_system(scenario.file_system.name)
    kinds = {role.name: role.kind for role in system.roles}
    shared = [one for one in scenario.deployment.node if len(_kinds(one, kinds)) > 1]
    if not shared:
        return None
    nodes: list[NodeGroup] = []
    for group in scenario.deployment.node:
        nodes += _split(group, kinds, len(shared) > 1) if group in shared else [group]
    taken = [one.name for one in nodes]
    if len(set(taken)) < len(taken):
        return None
    deployment = scenario.deployment.model_copy(update={"node": nodes, "shared_cores": 0})
    names = ", ".join(one.name for one in shared)
    made = ", ".join(f"{one.count} {one.name}" for one in nodes)
    note = (
        f"{names} plays roles of several kinds: gains are of dedicated nodes with its hardware "
        f"({made}), before and after the change"
    )
    return scenario.model_copy(update={"deployment": deployment}), note


def _kinds(group: NodeGroup, kinds: Mapping[str, str]) -> set[str]:
    return {kinds[role] for role, count in group.roles.items() if count and role in kinds}


def _split(group: NodeGroup, kinds: Mapping[str, str], prefixed: bool) -> Iterator[NodeGroup]:
    """Yields one node group for each kind of role that the nodes of `group` play. If `prefixed` is
    true, the name of the new group begins with the name of `group`."""
    for kind, name in _NODES.items():
        roles = {one: n for one, n in group.roles.items() if n and kinds.get(one) == kind}
        if not roles:
            continue
        each = max(roles.values()) if kind == "data" else 1
        update = {
            "name": f"{group.name}-{name}" if prefixed else name,
            "count": group.count * each,
            "roles": {one: max(1, n // each) for one, n in roles.items()},
        }
        yield group.model_copy(update=update)
