"""Nodes and deployments as tests write them out by hand."""

from __future__ import annotations

from typing import Any

from dfslab.models.tree.placement import Placement
from dfslab.spec.deployment import Deployment
from dfslab.spec.model import build

FREQUENCY_HZ = 2.5e9


def node(name: str = "machine", *roles: str, **keys: Any) -> dict[str, Any]:
    """A node with these roles, once each: those of a plain directory unless others are named."""
    return {"name": name, "roles": dict.fromkeys(roles or ("client", "storage"), 1), **keys}


def node_per_role(*roles: str, **keys: Any) -> list[dict[str, Any]]:
    """One node for each role, called like it."""
    return [node(role, role, **keys) for role in roles]


def deployment(*nodes: dict[str, Any], **keys: Any) -> Deployment:
    """The deployment of these nodes; `network` and `tolerance` are keys."""
    return build(Deployment, {"node": list(nodes), **keys})


def placement(*nodes: dict[str, Any], **keys: Any) -> Placement:
    """Where the roles of these nodes are, as models want to know it."""
    return Placement(deployment(*nodes, **keys))


def free_network(*roles: str, **values: float) -> dict[str, float]:
    """Constants with which only what a test declares takes time."""
    found = {"network_latency": 0.0, "loopback_latency": 0.0, "file_size": 1.0}
    for role in roles:
        found |= {
            f"{role}.frequency": FREQUENCY_HZ,
            f"{role}.nic_bandwidth": 1e15,
            f"{role}.nic_latency": 0.0,
        }
    return {**found, **values}
