"""Functions with which tests write nodes and deployments in a short form."""

from __future__ import annotations

from typing import Any

from dfslab.models.tree.placement import Placement
from dfslab.spec.deployment import Deployment
from dfslab.spec.model import build

FREQUENCY_HZ = 2.5e9


def node(name: str = "machine", *roles: str, **keys: Any) -> dict[str, Any]:
    """Returns the table of a node with one instance of each of the given roles. If no role is
    given, the node has the roles of a plain directory: client and storage."""
    return {"name": name, "roles": dict.fromkeys(roles or ("client", "storage"), 1), **keys}


def node_per_role(*roles: str, **keys: Any) -> list[dict[str, Any]]:
    """Returns the tables of several nodes, one for each role. Each node has the name of its
    role."""
    return [node(role, role, **keys) for role in roles]


def deployment(*nodes: dict[str, Any], **keys: Any) -> Deployment:
    """Returns a deployment with the nodes `nodes`. `keys` may have `network` and `tolerance`."""
    return build(Deployment, {"node": list(nodes), **keys})


def placement(*nodes: dict[str, Any], **keys: Any) -> Placement:
    """Returns the placement of roles on the nodes `nodes`. Models have the placement as an
    input."""
    return Placement(deployment(*nodes, **keys))


def free_network(*roles: str, **values: float) -> dict[str, float]:
    """Returns values of model parameters. With these values, the network and the processors of
    `roles` cost nothing. `values` sets further parameters or replaces some of them, such as a cost
    that the test examines."""
    found = {"network_latency": 0.0, "loopback_latency": 0.0, "file_size": 1.0}
    for role in roles:
        found |= {
            f"{role}.frequency": FREQUENCY_HZ,
            f"{role}.nic_bandwidth": 1e15,
            f"{role}.nic_latency": 0.0,
        }
    return {**found, **values}
