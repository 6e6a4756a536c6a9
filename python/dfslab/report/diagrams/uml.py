"""Converts a file system's description to UML elements with MARTE stereotypes: classes, nodes,
links, and interactions.

The elements are those of Wu 2013, Figure 1; the module `interaction` builds the interactions of
Figures 2 and 3. Diagrams and XMI are written from these elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dfslab.report.description import parameter_rows
from dfslab.report.diagrams import marte
from dfslab.report.diagrams.interaction import Interaction, interaction
from dfslab.spec.steps.node import Call, Node, walk
from dfslab.spec.systems.filesystem import FileSystem
from dfslab.spec.systems.parameters import Parameter, Purpose

# The UML class of the parameters that describe data, by the purpose of the parameter.
_OF_DATA: dict[Purpose, str] = {"block size": "Block", "file size": "File"}
# The hardware parts of a node. Each part has the parameters of the listed kinds as attributes.
PARTS = {
    "Processor": ("processors", "cores", "frequency"),
    "Disk": ("disk_read_rate", "disk_write_rate", "disk_latency"),
    "Memory": ("memory",),
}


@dataclass(frozen=True)
class Attribute:
    """A configurable property of a UML class: its key in the description (`name`), its unit, and
    its id in Wu 2013's Table 1 (`paper`; "" if the table lacks it)."""

    name: str
    unit: str
    paper: str = ""


@dataclass(frozen=True)
class Class:
    """A UML class: the software of a role, or data (files, blocks), with its configurable
    attributes and its operations."""

    name: str
    attributes: tuple[Attribute, ...] = ()
    operations: tuple[str, ...] = ()


@dataclass(frozen=True)
class HardwarePart:
    """A piece of hardware inside a node, with its attributes."""

    name: str
    stereotype: str
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True)
class Machine:
    """A node of the deployment, with its attributes and hardware parts. `deployed`: name of the
    class of the software that runs on the node."""

    name: str
    deployed: str
    attributes: tuple[Attribute, ...] = ()
    parts: tuple[HardwarePart, ...] = ()
    stereotypes: tuple[str, ...] = marte.NODE


@dataclass(frozen=True)
class Uml:
    """All UML elements of one file system's description. `links`: pairs of roles that exchange
    messages."""

    name: str
    classes: tuple[Class, ...]
    machines: tuple[Machine, ...]
    links: tuple[tuple[str, str], ...]
    interactions: tuple[Interaction, ...]


def uml(system: FileSystem, operations: Sequence[str] = ()) -> Uml:
    """Returns the UML elements of a file system's description.

    `operations`: operations whose interactions are included; if empty, all operations.
    """
    kinds = {role.name: role for role in system.roles}
    rows = [row.parameter for row in parameter_rows(system)]
    attributes = _attributes(system, rows)
    classes = [
        Class("File", attributes.pop("File", ())),
        Class("Block", attributes.pop("Block", ())),
    ]
    machines = []
    for role in system.roles:
        classes.append(Class(role.uml, attributes.get(role.name, ()), _received(system, role.name)))
        parts = tuple(
            HardwarePart(part, marte.HARDWARE[part], _hardware(rows, role.name, own))
            for part, own in PARTS.items()
        )
        inside = [kind for own in PARTS.values() for kind in own]
        other = tuple(a for a in _hardware(rows, role.name, ()) if a.name not in inside)
        machines.append(Machine(f"{role.uml}Machine", role.uml, other, parts))
    names = [(kinds[a].uml, kinds[b].uml) for a, b in _links(system)]
    links = {(min(pair), max(pair)) for pair in names}
    chosen = operations or list(system.operations)
    interactions = tuple(interaction(system, name) for name in chosen)
    return Uml(system.name, tuple(classes), tuple(machines), tuple(sorted(links)), interactions)


def _attributes(system: FileSystem, rows: list[Parameter]) -> dict[str, tuple[Attribute, ...]]:
    """Returns the configurable attributes of each UML class, by the name of the class (File, Block
    or a role)."""
    found: dict[str, list[Attribute]] = {}
    for one in rows:
        if one.origin not in ("filesystem", "workload") or "." in one.key:
            continue
        owner = _OF_DATA.get(one.purpose) or _owner(system, one.key)
        found.setdefault(owner, []).append(Attribute(one.key, one.unit, one.wu))
    return {owner: tuple(attributes) for owner, attributes in found.items()}


def _owner(system: FileSystem, key: str) -> str:
    """Returns the role to which the parameter `key` belongs. This is the first role with a step
    whose formulas contain the parameter, or the client's role if no step contains the parameter."""
    for tree in system.operations.values():
        for node in walk(tree):
            acting = not isinstance(node, Call) and node.acting
            if acting and any(
                key == str(free) for one in node.expressions() for free in one.free_symbols
            ):
                return acting
    return _client(system)


def _hardware(rows: list[Parameter], role: str, kinds: tuple[str, ...]) -> tuple[Attribute, ...]:
    """Returns the hardware attributes of a role that a scenario can set. `rows`: the parameters
    that are considered.

    `kinds`: kinds of parameters to include; if empty, all kinds.
    """
    found = []
    for one in rows:
        owner, _, kind = one.key.partition(".")
        if owner == role and kind and (not kinds or kind in kinds):
            found.append(Attribute(kind, one.unit, one.wu))
    return tuple(found)


def _received(system: FileSystem, role: str) -> tuple[str, ...]:
    """Returns the names of the messages that a role receives."""
    names = [
        node.name
        for tree in system.operations.values()
        for node in walk(tree)
        if isinstance(node, Call) and node.role == role and not node.answers
    ]
    return tuple(dict.fromkeys(names))


def _client(system: FileSystem) -> str:
    return next(role.name for role in system.roles if role.kind == "client")


def _links(system: FileSystem) -> set[tuple[str, str]]:
    """Returns the pairs of roles that exchange messages in some operation."""
    pairs: set[tuple[str, str]] = set()

    def visit(node: Node, role: str) -> None:
        here = role
        if isinstance(node, Call):
            pairs.add((role, node.role))
            here = node.role
        for child in node.children():
            visit(child, here)

    for tree in system.operations.values():
        visit(tree, _client(system))
    return pairs
