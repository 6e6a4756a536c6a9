"""Nodes and deployments in the short form in which tests write them."""

from __future__ import annotations

from typing import Any

from dfslab.models.tree.placement import Placement
from dfslab.spec.deployment import Deployment
from dfslab.spec.model import build

FREQUENCY_HZ = 2.5e9


def node(name: str = "machine", *roles: str, **keys: Any) -> dict[str, Any]:
    """A node with one instance of each role; by default the roles of a plain directory."""
    return {"name": name, "roles": dict.fromkeys(roles or ("client", "storage"), 1), **keys}


def node_per_role(*roles: str, **keys: Any) -> list[dict[str, Any]]:
    """One node for each role, with the name of the role."""
    return [node(role, role, **keys) for role in roles]


def deployment(*nodes: dict[str, Any], **keys: Any) -> Deployment:
    """The deployment of these nodes; the keys may be `network` and `tolerance`."""
    return build(Deployment, {"node": list(nodes), **keys})


def placement(*nodes: dict[str, Any], **keys: Any) -> Placement:
    """The placement of the roles on these nodes, as models need it."""
    return Placement(deployment(*nodes, **keys))


def free_network(*roles: str, **values: float) -> dict[str, float]:
    """Constants that make everything free of cost except what a test declares."""
    found = {"network_latency": 0.0, "loopback_latency": 0.0, "file_size": 1.0}
    for role in roles:
        found |= {
            f"{role}.frequency": FREQUENCY_HZ,
            f"{role}.nic_bandwidth": 1e15,
            f"{role}.nic_latency": 0.0,
        }
    return {**found, **values}
