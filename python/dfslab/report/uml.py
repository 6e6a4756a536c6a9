"""A description as UML elements with MARTE stereotypes: classes, nodes, links, interactions.

After Wu 2013, Figures 1 to 3. Everything is found by walking the description; the pictures and the
exchange format are written from these elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dfslab.report.description import parameter_rows
from dfslab.spec.filesystem import FileSystem
from dfslab.spec.operation import (
    Call,
    Choice,
    Later,
    Node,
    Par,
    Pipeline,
    Repeat,
    Seq,
    Use,
    lands_at,
    walk,
)
from dfslab.spec.parameters import Parameter

COMPUTING = ("HwComputingResource", "CommunicationEndPoint")
MEDIA = "CommunicationMedia"
STEREOTYPES = {
    "cpu": "PaStep",
    "disk": "HwDrive",
    "nic": "HwMedia",
    "memory": "HwRAM",
    "lock": "SwMutualExclusionResource",
    "threads": "SwSchedulableResource",
}
# Part of a node -> (stereotype, the kinds of hardware keys that are its attributes).
PARTS = {
    "Processor": ("HwProcessor", ("processors", "cores", "frequency")),
    "Disk": ("HwDrive", ("disk_read_rate", "disk_write_rate", "disk_latency")),
    "Memory": ("HwRAM", ("memory",)),
}


@dataclass(frozen=True)
class Attribute:
    """A configurable property: the description's key, its unit, the id of the paper's table."""

    name: str
    unit: str
    paper: str = ""


@dataclass(frozen=True)
class Class:
    """Software of a role, or data: what can be configured, and what it can be asked."""

    name: str
    attributes: tuple[Attribute, ...] = ()
    operations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """Hardware inside a node."""

    name: str
    stereotype: str
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True)
class Machine:
    """A node of the deployment, and the class that is deployed there."""

    name: str
    deployed: str
    attributes: tuple[Attribute, ...] = ()
    parts: tuple[Part, ...] = ()
    stereotypes: tuple[str, ...] = COMPUTING


@dataclass(frozen=True)
class Message:
    """From lifeline to lifeline; `sort` is that of UML: synchCall, asynchCall, reply."""

    name: str
    sender: str
    receiver: str
    sort: str


@dataclass(frozen=True)
class Execution:
    """Work of a lifeline on one of its resources."""

    name: str
    lifeline: str
    stereotype: str


@dataclass(frozen=True)
class Operand:
    """One branch of a combined fragment with its guard."""

    guard: str
    body: tuple[Message | Execution | Fragment, ...] = ()


@dataclass(frozen=True)
class Fragment:
    """A combined fragment: loop, opt, alt or par."""

    operator: str
    operands: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class Interaction:
    """One operation as a sequence diagram."""

    name: str
    lifelines: tuple[str, ...]
    body: tuple[Message | Execution | Fragment, ...] = ()


@dataclass(frozen=True)
class Uml:
    """Everything that is modelled of one file system."""

    name: str
    classes: tuple[Class, ...]
    machines: tuple[Machine, ...]
    links: tuple[tuple[str, str], ...]
    interactions: tuple[Interaction, ...]


def uml(system: FileSystem) -> Uml:
    """The elements of a description."""
    kinds = {role.name: role for role in system.roles}
    rows = [row.parameter for row in parameter_rows(system)]
    attributes = _attributes(system, rows)
    classes = [
        Class("File", attributes.pop("File", ())),
        Class("Block", attributes.pop("Block", ())),
    ]
    machines = []
    for role in system.roles:
        classes.append(Class(role.uml, attributes.get(role.name, ()), _asked(system, role.name)))
        parts = tuple(
            Part(part, stereotype, _hardware(rows, role.name, own))
            for part, (stereotype, own) in PARTS.items()
        )
        inside = [kind for _, own in PARTS.values() for kind in own]
        other = tuple(a for a in _hardware(rows, role.name, ()) if a.name not in inside)
        machines.append(Machine(f"{role.uml}Machine", role.uml, other, parts))
    names = [(kinds[a].uml, kinds[b].uml) for a, b in _links(system)]
    links = {(min(pair), max(pair)) for pair in names}
    interactions = tuple(
        Interaction(
            name, tuple(role.name for role in system.roles), tuple(_body(tree, _client(system)))
        )
        for name, tree in system.operations.items()
    )
    return Uml(system.name, tuple(classes), tuple(machines), tuple(sorted(links)), interactions)


def _attributes(system: FileSystem, rows: list[Parameter]) -> dict[str, tuple[Attribute, ...]]:
    """Class (File, Block or a role's name) -> its configurable attributes."""
    found: dict[str, list[Attribute]] = {}
    for one in rows:
        if one.origin not in ("filesystem", "workload") or "." in one.key:
            continue
        owner = {"Dap1": "Block", "Dap2": "File"}.get(one.wu) or _owner(system, one.key)
        found.setdefault(owner, []).append(Attribute(one.key, one.unit, one.wu))
    return {owner: tuple(attributes) for owner, attributes in found.items()}


def _owner(system: FileSystem, key: str) -> str:
    """The role on whose resources a parameter acts first; the client where on none."""
    for tree in system.operations.values():
        for node in walk(tree):
            if isinstance(node, Use) and any(
                key == str(free) for one in node.expressions() for free in one.free_symbols
            ):
                return node.resource.role
    return _client(system)


def _hardware(rows: list[Parameter], role: str, kinds: tuple[str, ...]) -> tuple[Attribute, ...]:
    """Configurable hardware of a role that acts somewhere; of `kinds`, or all."""
    found = []
    for one in rows:
        owner, _, kind = one.key.partition(".")
        if owner == role and kind and (not kinds or kind in kinds):
            found.append(Attribute(kind, one.unit, one.wu))
    return tuple(found)


def _asked(system: FileSystem, role: str) -> tuple[str, ...]:
    """Names of the messages that a role is sent."""
    names = [
        node.name
        for tree in system.operations.values()
        for node in walk(tree)
        if isinstance(node, Call) and node.role == role
    ]
    return tuple(dict.fromkeys(names))


def _client(system: FileSystem) -> str:
    return next(role.name for role in system.roles if role.kind == "client")


def _links(system: FileSystem) -> set[tuple[str, str]]:
    """Pairs of roles that speak to each other."""
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


def _body(node: Node, role: str) -> Iterator[Message | Execution | Fragment]:
    """What happens in a tree that starts at `role`, in order."""
    if isinstance(node, Use):
        kind = node.resource.kind
        yield Execution(node.name or kind, node.resource.role, STEREOTYPES[kind])
        if node.body:
            yield from _body(node.body, node.resource.role)
    elif isinstance(node, Call):
        sort = "asynchCall" if node.one_way else "synchCall"
        yield Message(node.name, role, node.role, sort)
        yield from _body(node.body, node.role)
        if not node.one_way:
            yield Message(node.name, node.role, role, "reply")
    elif isinstance(node, Seq):
        if node.name:
            yield Execution(node.name, role, "PaStep")
        for step in node.steps:
            yield from _body(step, role)
    else:
        yield _fragment(node, role)


def _fragment(node: Node, role: str) -> Fragment:
    if isinstance(node, Repeat):
        return Fragment("loop", (Operand(str(node.count), tuple(_body(node.body, role))),))
    if isinstance(node, Later):
        return Fragment(
            "opt", (Operand(f"later {node.name}".strip(), tuple(_body(node.body, role))),)
        )
    if isinstance(node, Par):
        needed = "" if node.needed is None else f", {node.needed} needed"
        guard = f"{node.copies} copies{needed}"
        return Fragment("par", tuple(Operand(guard, tuple(_body(s, role))) for s in node.steps))
    if isinstance(node, Choice):
        branches = tuple(Operand(str(p), tuple(_body(b, role))) for p, b in node.branches)
        return Fragment("opt" if len(branches) == 1 else "alt", branches)
    assert isinstance(node, Pipeline)
    inside: list[Message | Execution | Fragment] = []
    for stage in node.stages:
        inside += _body(stage, role)
        role = lands_at(stage, role)
    return Fragment("loop", (Operand(f"{node.units} units, stages overlap", tuple(inside)),))
