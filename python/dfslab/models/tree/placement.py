"""Maps roles to hardware. The results are the stations of the roles' resources, and the paths of
messages between roles.

There are two kinds of stations. A station of the first kind stands for one kind of hardware, such
as disks, on the nodes of one group. A station of the second kind stands for the threads or the lock
of one role.
"""

from __future__ import annotations

from typing import NamedTuple

from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.spec.steps.node import Resource

SHARED = "lock.shared"
ANY_NUMBER = 1_000_000


class Station(NamedTuple):
    """A queueing station with `copies` equal parts (one for each node, or for each instance of a
    role) with `servers` servers each.

    A lock has two stations: "lock" for exclusive holders, and "lock.shared" for shared holders,
    which never wait for each other. models/queue/lock.py models how the two modes interfere.
    """

    place: str
    kind: str
    copies: int
    servers: int

    def __str__(self) -> str:
        return f"{self.place}.{self.kind}"


class Placement:
    """Determines which stations and message paths the roles of a deployment use."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self._shares: dict[str, list[tuple[NodeGroup, float]]] = {}

    def shares(self, role: str) -> list[tuple[NodeGroup, float]]:
        """Returns the node groups that host `role`, each with its share of the role's instances."""
        if role not in self._shares:
            groups = self.deployment.groups_of(role)
            total = self.deployment.instances(role)
            assert total, f"no node has the role {role}; check_scenario should have reported it"
            self._shares[role] = [(g, g.count * g.roles[role] / total) for g in groups]
        return self._shares[role]

    def stations(self, resource: Resource, servers: int | None) -> list[tuple[Station, float]]:
        """Returns each station of a role's resource, with the share of the resource's work that the
        station does. `servers` is the number of threads of a pool. Returns no station for a pool or
        lock whose `servers` is None."""
        if resource.kind in ("lock", "threads"):
            if servers is None:
                return []
            copies = self.deployment.instances(resource.role)
            if resource.mode == "shared":
                return [(Station(resource.role, SHARED, copies, ANY_NUMBER), 1.0)]
            return [(Station(resource.role, resource.kind, copies, servers), 1.0)]
        return [
            (Station(group.name, resource.kind, group.count, _servers(group, resource.kind)), share)
            for group, share in self.shares(resource.role)
        ]

    def same_node(self, sender: str, receiver: str) -> float:
        """Returns the probability that a message between two roles stays inside a node."""
        total = self.deployment.instances(receiver)
        itself = sender == receiver
        if itself and total == 1:
            return 1.0
        return sum(
            share * (group.roles.get(receiver, 0) - itself) / (total - itself)
            for group, share in self.shares(sender)
        )

    def adapters(self, role: str, direction: str) -> list[tuple[Station, float]]:
        """Returns the adapters of a role in one direction ("nic.out" or "nic.in"), each with its
        share of the messages.
        """
        return [
            (Station(group.name, direction, group.count, 1), share)
            for group, share in self.shares(role)
        ]


def _servers(group: NodeGroup, kind: str) -> int:
    if kind == "cpu":
        return group.processors * group.cores
    return group.disk.count if kind == "disk" else 1
