"""Lists the hardware that a deployment does not declare. Predictions use default values for this
hardware."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from dfslab.spec import units
from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.spec.model import CheckedModel

# The keys that are listed, in this order, with their units. The last missing key is used as the
# example of an option. So the key on which predictions depend most comes last.
NODE_UNITS = {"cores": "1", "memory": "B", "frequency": "Hz"}
COPY_UNITS = {"copy_rate": "B/s", "call_time": "s"}
DISK_UNITS = {"read_rate": "B/s", "write_rate": "B/s", "latency": "s"}
ADAPTER_UNITS = {"bandwidth": "B/s"}


def undeclared(deployment: Deployment, client_role: str) -> list[str]:
    """Returns sentences about hardware that the scenario does not declare. A sentence states the
    values that are assumed. The sentence also has an example: the option that changes one of these
    values. Node groups with the same assumed values share a sentence.

    Hardware without an effect on predictions is left out: the disks of nodes that only have the
    role `client_role`, and the adapters of a deployment with a single node.
    """
    several = sum(group.count for group in deployment.node) > 1
    names: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for group in deployment.node:
        parts = [_missing(group, NODE_UNITS, "")]
        if not _is_only(group, {client_role}):
            parts.append(_missing(group.disk, DISK_UNITS, "disk."))
        if several:
            parts.append(_missing(group.adapter, ADAPTER_UNITS, "adapter."))
        for part in parts:
            if values := tuple(part):
                names.setdefault(values, []).append(group.name)
    return [_sentence(values, groups) for values, groups in names.items()]


def defaults(deployment: Deployment) -> list[str]:
    """Returns the hardware of a deployment that nobody declared and nothing measured, with the
    default values, such as "deployment.node.machine.disk.read_rate 500 MB/s"."""
    found = []
    for group in deployment.node:
        parts: dict[str, tuple[CheckedModel, dict[str, str]]] = {
            "": (group, {**NODE_UNITS, **COPY_UNITS}),
            "disk.": (group.disk, DISK_UNITS),
            "adapter.": (group.adapter, ADAPTER_UNITS),
        }
        for prefix, (part, wanted) in parts.items():
            for key, unit in wanted.items():
                if _is_default(part, key):
                    shown = units.text(float(dict(part)[key]), unit, 3).strip()
                    found.append(f"deployment.node.{group.name}.{prefix}{key} {shown}")
    if _is_default(deployment.network, "latency"):
        found.append(f"deployment.network.latency {units.text(deployment.network.latency, 's', 3)}")
    return found


def is_assumed(deployment: Deployment, key: str) -> bool:
    """Returns whether the value of a hardware key of a deployment is only assumed, because nobody
    declared it. `key`: a dotted key of a scenario; False for keys that are no hardware.

    The scenario of a stored run has every value written out, declared or not. In such a scenario,
    a value that equals its default counts as assumed.
    """
    if key == "deployment.network.latency":
        return _is_default(deployment.network, "latency")
    for group in deployment.node:
        place = f"deployment.node.{group.name}."
        if key.startswith(place):
            own, _, name = key.removeprefix(place).rpartition(".")
            parts: dict[str, tuple[CheckedModel, dict[str, str]]] = {
                "": (group, NODE_UNITS),
                "disk": (group.disk, DISK_UNITS),
                "adapter": (group.adapter, ADAPTER_UNITS),
            }
            part, wanted = parts.get(own, (group, {}))
            return name in wanted and _is_default(part, name)
    return False


def _is_default(part: CheckedModel, name: str) -> bool:
    """Returns whether nobody declared the field `name` of a part of the hardware."""
    usual = type(part)()
    if part.model_fields_set >= set(usual.model_dump()):
        return bool(dict(part)[name] == dict(usual)[name])
    return name not in part.model_fields_set


def _sentence(values: tuple[tuple[str, str], ...], groups: list[str]) -> str:
    shown = ", ".join(f"{key.replace('.', ' ').replace('_', ' ')} {text}" for key, text in values)
    option = f"--set deployment.node.{groups[0]}.{values[-1][0]}=VALUE"
    return f"not declared, so assumed of {', '.join(groups)}: {shown}; `{option}` changes it"


def _is_only(group: NodeGroup, roles: Collection[str]) -> bool:
    return all(role in roles for role, count in group.roles.items() if count)


def _missing(part: CheckedModel, wanted: dict[str, str], prefix: str) -> Iterator[tuple[str, str]]:
    """Yields (key, assumed value as text) of each value that a part of the hardware lacks."""
    values = dict(part)
    for key, unit in wanted.items():
        if key not in part.model_fields_set:
            yield f"{prefix}{key}", units.text(float(values[key]), unit, 3).strip()
