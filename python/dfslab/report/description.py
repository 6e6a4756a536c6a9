"""Builds the table of a file system's parameters from its description, and notes on what the
description lacks. The description has one tree of steps for each operation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dfslab import discover
from dfslab.spec import units
from dfslab.spec.steps.calls import WHOLE
from dfslab.spec.steps.file_bytes import moved_without_message
from dfslab.spec.steps.node import (
    At,
    Call,
    Choice,
    Delay,
    Either,
    Hold,
    Later,
    Node,
    Par,
    PartialWork,
    Pipeline,
    Repeat,
    Seq,
    Use,
    Visitor,
    walk,
    writes_back,
)
from dfslab.spec.systems.filesystem import FileSystem
from dfslab.spec.systems.parameters import Parameter


@dataclass(frozen=True)
class ParameterRow:
    """A row of the table of a file system's configurable parameters.

    `acts_in`: for each operation, the names of the steps that the parameter affects.
    """

    parameter: Parameter
    acts_in: dict[str, list[str]]

    def cells(self) -> list[str]:
        """Returns the texts of the table row: id, key, meaning, unit, default, origin, source,
        affected operations."""
        p = self.parameter
        default = "" if p.default is None else units.text(p.default, p.unit)
        where = "; ".join(f"{o}: {', '.join(steps)}" for o, steps in self.acts_in.items())
        return [p.wu, p.key, p.meaning, p.unit, default, p.origin, p.source, where]


COLUMNS = ["id", "key", "meaning", "unit", "default", "origin", "source", "acts in"]


def parameter_rows(system: FileSystem, operations: Sequence[str] = ()) -> list[ParameterRow]:
    """Returns a row for each parameter that affects an operation tree. Parameters of Wu 2013's
    Table 1 come first.

    `operations`: the operations whose trees are considered; if empty, all operations. If all
    operations are considered, parameters that affect only background daemons have rows, too.
    """
    shown = [parameter.key for parameter in system.parameters if parameter.daemons_only]
    every = len(operations) in (0, len(system.operations))
    found: dict[str, dict[str, list[str]]] = {}
    if every:
        found = {key: {"daemons": ["no step"]} for key in shown}
    for operation in operations or system.operations:
        for key, steps in _acting(system, operation).items():
            found.setdefault(key, {})[operation] = steps
    rows = [ParameterRow(system.parameter(key), acts) for key, acts in found.items()]
    return sorted(rows, key=lambda row: (paper_order(row.parameter.wu), row.parameter.key))


def notes(system: FileSystem, operations: Sequence[str]) -> list[str]:
    """Returns a sentence on each thing that the description of the `operations` lacks.

    The only gap that is looked for: an operation reads or writes a file's bytes at the disk of
    another host, but has no message with these bytes. A file system without servers has no
    messages. Operations on names, such as a renaming that a server does by copying, need not send
    the bytes to the client.
    """
    if not system.has_servers:
        return []
    data = [role.name for role in system.roles if role.kind == "data"]
    lacking = [
        operation
        for operation in operations
        if operation in WHOLE and moved_without_message(system.operations[operation], data)
    ]
    if not lacking:
        return []
    return [
        f"note: no message of {', '.join(lacking)} carries the file's bytes, although "
        f"{', '.join(data)} may be on another host: give calls their request_bytes or "
        "response_bytes"
    ]


def notes_of(names: Iterable[str]) -> list[str]:
    """Returns the notes on all operations of the file systems with these names."""
    systems = [discover.file_system(name) for name in dict.fromkeys(names)]
    return [text for one in systems for text in notes(one, list(one.operations))]


def paper_order(wu: str) -> tuple[int, str]:
    """Returns the sort key of a parameter's id in Wu 2013, such as "Dp8". Ids are ordered first by
    their letters, in the order of `families`, and then as text. Parameters without an id come
    last."""
    families = ("Dp", "Np", "Dap", "Pp", "Rp", "Hp")
    for index, family in enumerate(families):
        if wu.startswith(family):
            return index, wu
    return len(families), ""


def _acting(system: FileSystem, operation: str) -> dict[str, list[str]]:
    """Returns, for each parameter that affects the operation's tree, the names of the affected
    steps.

    A parameter may affect a step although no formula of the tree contains it: a message depends on
    the network and the roles' queues, and a step on a processor depends on the number of cores.
    These parameters are included.
    """
    acting = {key: list(steps) for key, steps in system.acting(operation).items()}
    implied = _Implied(system)
    for node in walk(system.operations[operation]):
        for key in implied.visit(node, None):
            steps, step = acting.setdefault(key, []), node.name or _nameless(node)
            if step not in steps:
                steps.append(step)
    return acting


def _nameless(node: Node) -> str:
    return "answers" if isinstance(node, Call) and node.answers else "messages"


class _Implied(Visitor[None, list[str]]):
    """Finds the parameters on which a single node depends although its expressions do not contain
    them. Nodes below this node are not included. `system`: the described file system."""

    def __init__(self, system: FileSystem) -> None:
        self._system = system

    def use(self, node: Use, where: None) -> list[str]:
        """Returns the number of processors and cores for a step on a processor."""
        if node.resource.kind != "cpu":
            return []
        return [f"{node.resource.role}.{kind}" for kind in ("processors", "cores")]

    def call(self, node: Call, where: None) -> list[str]:
        """Returns the parameters of the network between client and receiver. For a metadata server,
        also returns the parameters of the server's queues and memory."""
        client = next(role.name for role in self._system.roles if role.kind == "client")
        keys = [
            "network_latency",
            "loopback_latency",
            "clients",
            f"{client}.nic_bandwidth",
            f"{node.role}.nic_bandwidth",
            f"{client}.nic_latency",
            f"{node.role}.instances",
        ]
        if self._system.role(node.role).kind == "metadata":
            # A metadata lookup waits in the role's request queue and then reads memory. Its time
            # therefore depends on the parameters of these kinds.
            kinds = ("workload", "request_queue", "response_queue", "memory")
            keys += [f"{node.role}.{kind}" for kind in kinds]
        return keys

    def later(self, node: Later, where: None) -> list[str]:
        """Returns the memory of the roles whose disks deferred work uses: it limits the amount of
        deferred write-back."""
        if not writes_back(node):
            return []
        return [f"{one.resource.role}.memory" for one in walk(node.body) if isinstance(one, Use)]

    def hold(self, node: Hold, where: None) -> list[str]:
        """Returns an empty list: a held thread or lock depends on its own expressions only."""
        return []

    def delay(self, node: Delay, where: None) -> list[str]:
        """Returns an empty list: a wait depends on its own expressions only."""
        return []

    def at(self, node: At, where: None) -> list[str]:
        """Returns an empty list: a body at another role depends on its own expressions only."""
        return []

    def seq(self, node: Seq, where: None) -> list[str]:
        """Returns an empty list: a sequence depends on its own expressions only."""
        return []

    def par(self, node: Par, where: None) -> list[str]:
        """Returns an empty list: parallel branches depend on their own expressions only."""
        return []

    def pipeline(self, node: Pipeline, where: None) -> list[str]:
        """Returns an empty list: a pipeline depends on its own expressions only."""
        return []

    def repeat(self, node: Repeat, where: None) -> list[str]:
        """Returns an empty list: a repetition depends on its own expressions only."""
        return []

    def part(self, node: PartialWork, where: None) -> list[str]:
        """Returns an empty list: a share of work depends on its own expressions only."""
        return []

    def choice(self, node: Choice, where: None) -> list[str]:
        """Returns an empty list: a random choice depends on its own expressions only."""
        return []

    def either(self, node: Either, where: None) -> list[str]:
        """Returns an empty list: a condition depends on its own expressions only."""
        return []
