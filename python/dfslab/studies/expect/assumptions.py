"""States which hardware of a place's nodes is only assumed, because it was neither reported nor
probed nor declared. Also names the options that declare this hardware."""

from __future__ import annotations

from collections.abc import Mapping

from dfslab.spec import units
from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.spec.toml import TomlTable

# The units of the keys of a node that are assumed, in the order in which they are listed.
ASSUMED_UNITS: Mapping[str, str] = {"cores": "1", "frequency": "Hz", "memory": "B"}


def assumptions(deployment: Deployment) -> list[str]:
    """Returns one sentence for each group of nodes whose processors or memory have the default
    values of a node. The sentence states these values and the option that changes them. A default
    value is assumed, because the real value is not known."""
    usual = _values(NodeGroup())
    found = []
    for group in deployment.node:
        # Only the frequency of the client's machine is assumed, because its cores and memory were
        # read from its kernel.
        unread = ["frequency"] if "client" in group.roles else list(ASSUMED_UNITS)
        own = _values(group)
        same = [key for key in unread if own[key] == usual[key]]
        if same:
            shown = ", ".join(
                f"{key} {units.text(own[key], ASSUMED_UNITS[key], 3).strip()}" for key in same
            )
            option = f"--set deployment.node.{group.name}.{same[-1]}=VALUE"
            found.append(f"assumed of node {group.name}: {shown}; `predict … {option}` changes it")
    return found


def without_assumed(deployment: Deployment) -> TomlTable:
    """Returns a deployment as a table without the processors and memory that are only assumed.
    Predictions for a scenario with this table report these values as not declared."""
    table = deployment.model_dump(mode="json")
    for group, written in zip(deployment.node, table["node"], strict=True):
        for key in ASSUMED_UNITS:
            if key not in group.model_fields_set:
                del written[key]
    return table


def _values(group: NodeGroup) -> dict[str, float]:
    return {"cores": float(group.cores), "frequency": group.frequency, "memory": group.memory}
