"""Builds a net from operation trees and adds monitors to it. The net is a closed loop: each client
runs the operations of its stream one after another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dfslab.documents.net_run import (
    DeclaredStation,
    LogMonitor,
    MarkingMonitor,
    MonitorDefinition,
    SojournMonitor,
    ValueMonitor,
)
from dfslab.documents.rows import PlannedOperation
from dfslab.models.compiled.net_amount import FILE_SIZE, MOST_UNITS, OF_TOKENS, Amounts
from dfslab.models.compiled.net_context import Context
from dfslab.models.compiled.net_tree import Trees
from dfslab.models.compiled.token_flow import Arc, EntryArcs, TokenFlow, main, other, plus
from dfslab.models.tree.placement import Placement, Station
from dfslab.models.tree.reader import TreeReader
from dfslab.models.tree.traced import ReplayedOperations
from dfslab.nets.build import Net
from dfslab.nets.inscription import call, equal, number, text
from dfslab.spec.steps.expression import Expr, floor
from dfslab.spec.steps.node import Node
from dfslab.spec.steps.step_path import StepPath

BEGINS = "operation begins"
MOST_LOGGED = 1_000_000
ENTERED = ("client", "index", "kind", "file", "size", "transfer", "offset", "owner", "phase")
# Token fields that a monitor may read at the transition where an operation begins.
ENTERING = tuple(map(other, ENTERED))


@dataclass(frozen=True)
class Watched:
    """The monitors of a net, and what each of them measures.

    - `named`: the definition of each monitor, by the monitor's name.
    - `spans`: for each operation, the monitor of its response time.
    - `steps`: for each monitor of a step's time, the operation and the step.
    - `idle`: for each station, the monitor of its idle servers.
    - `ends`: the monitors that log completed operations.
    - `laws`: the stations for which the engine checks the utilisation law.
    """

    named: Mapping[str, MonitorDefinition]
    spans: dict[str, str]
    steps: dict[str, tuple[str, StepPath]]
    idle: dict[Station, str]
    ends: list[str]
    laws: list[DeclaredStation]


@dataclass(frozen=True)
class NetJob:
    """The input from which a net is built: operation trees, placement, amounts and clients."""

    trees: Mapping[str, Node]
    placement: Placement
    environment: dict[str, float]
    client: str = "client"
    written_back: float = 1.0
    think_time_s: float = 0.0
    service: str = "by_kind"
    sized: bool = False
    most_units: int = MOST_UNITS
    trace: ReplayedOperations | None = None

    def net(
        self, name: str, clients: int, stream: Sequence[PlannedOperation]
    ) -> tuple[Net, Watched]:
        """Returns a net and its monitors. In the net, each of `clients` clients runs its operations
        of `stream` in order.
        """
        flow = TokenFlow(name)
        reader = TreeReader(self.placement, self.environment, self.client, self.written_back)
        opened = OF_TOKENS if self.trace else [FILE_SIZE] if self.sized else ()
        trees = Trees(
            flow,
            self.placement,
            Amounts(reader, opened),
            self.environment,
            written_back=self.written_back,
            service=self.service,
            most_units=self.most_units,
            clients=clients,
        )
        names = list(self.trees)
        ready = flow.place("clients", [{"client": number} for number in range(clients)])
        self._fill(flow, names, stream, clients)
        ways = []
        for at, operation in enumerate(names):
            ways.append((equal(main("kind"), at), self._operation(trees, operation, ready)))
        begun = ways[0][1] if len(ways) == 1 else trees.branch("which operation", "clients", ways)
        # Each operation draws one random number, `pick`. The remainder of `pick` modulo a role's
        # number of instances selects the instance of this role. The range of `pick` is a multiple
        # of all these numbers, so all instances of a role are equally likely.
        roles = {role for group in self.placement.deployment.node for role in group.roles}
        counts = [self.placement.deployment.instances(role) for role in roles]
        even = math.lcm(*[count for count in counts if count])
        row: dict[str, Expr] = {one: other(one) for one in ("client", "kind", "size", "k0")}
        row["pick"] = floor(call("uniform", 0.0, float(even)))
        if self.trace:
            row["size"] = other("amount")
            row |= {one: other(one) for one in ("scattered", "unforced")}
        arcs = [replace(arc, fresh=True) for arc in begun(row, 0.0)]
        same = equal(main("client"), other("client"))
        flow.transition(BEGINS, "clients", [ready, "stream"], arcs, same)
        watched = _watched(trees, names)
        read: dict[str, list[Expr]] = {BEGINS: list(ENTERING)}
        for monitor in watched.named.values():
            for transition in _transitions(monitor):
                read.setdefault(transition, []).extend([main("k0"), main("client")])
        net = flow.net(read)
        for monitored, monitor in watched.named.items():
            net.watch(monitored, monitor)
        return net, watched

    def _operation(self, trees: Trees, operation: str, ready: str) -> EntryArcs:
        """Returns the entry of one operation type, which runs the operation's tree and then returns
        the client's token to the place `ready`.
        """
        think = self.think_time_s
        back = trees.relay(
            f"{operation} ends", operation, lambda row, delay: [Arc(ready, row, plus(delay, think))]
        )
        total = self.placement.deployment.instances(self.client)
        home = number(0) if total == 1 else main("client") % total
        context = Context(page=operation, stack=((self.client, home),))
        tree = self.trees[operation]
        return trees.relay(f"{operation} starts", operation, trees.compiled(tree, context, back))

    def _fill(
        self,
        flow: TokenFlow,
        names: Sequence[str],
        stream: Sequence[PlannedOperation],
        clients: int,
    ) -> None:
        """Adds the operations of `stream` as initial tokens, in order for each client.

        An operation with a scheduled time starts no earlier than that time.
        """
        tokens = [
            {
                "client": one.client,
                "index": one.number,
                "kind": names.index(one.operation),
                "file": one.file,
                "size": float(one.size_bytes),
                "transfer": one.transfer_size_bytes,
                "k0": number,
                "offset": one.offset_bytes,
                "owner": one.owner,
                "phase": one.phase,
                **self._meaning(one.client, one.number),
            }
            for number, one in enumerate(stream)
        ]
        timed = self.trace is not None and self.trace.due_s
        flow.place("stream", [] if timed else tokens)
        if timed:
            flow.place("trace", tokens)
            flow.transition("is due", "clients", ["trace"], [Arc("stream", {}, main("due"))])

    def _meaning(self, client: int, index: int) -> dict[str, float]:
        """Returns the values that a replayed trace gives for one operation, as token fields. The
        values come from the operation's classified call. Returns no fields if no trace is
        replayed."""
        if self.trace is None:
            return {}
        meaning = self.trace.of_clients[client, index]
        return {
            "amount": float(meaning.size_bytes),
            "scattered": float(meaning.scattered),
            "unforced": float(meaning.unforced),
            "due": self.trace.due_of(client, index),
        }


def _watched(trees: Trees, names: Sequence[str]) -> Watched:
    def sojourn(first: str, last: str) -> MonitorDefinition:
        return SojournMonitor(from_=first, to=last, key=text(main("k0")))

    def ends(name: str) -> MonitorDefinition:
        client = text(main("client"))
        return LogMonitor(transition=f"{name} ends", fields=[client], limit=MOST_LOGGED)

    spans = {name: f"time of {name}" for name in names}
    # A step may occur several times in a tree; each occurrence has its own monitor.
    places = {f"time of step {n}: {one[1]}": one for n, one in enumerate(trees.steps)}
    steps = {name: (operation, StepPath.of(step)) for name, (operation, step, *_) in places.items()}
    named: dict[str, MonitorDefinition] = {
        spans[name]: sojourn(f"{name} starts", f"{name} ends") for name in names
    }
    named |= {name: sojourn(first, last) for name, (_, _, first, last) in places.items()}
    stations = trees.stations.made
    idle = {station: f"tokens of {place}" for station, place in stations.items()}
    named |= {idle[one]: MarkingMonitor(place=place) for one, place in stations.items()}
    logs = {f"log of {name}": ends(name) for name in names}
    return Watched(named | logs, spans, steps, idle, list(logs), trees.stations.serving)


def _transitions(monitor: MonitorDefinition) -> tuple[str, ...]:
    """Returns the transitions that a monitor observes."""
    match monitor:
        case SojournMonitor():
            return monitor.from_, monitor.to
        case MarkingMonitor():
            return ()
        case ValueMonitor():
            changed = (one.transition for level in monitor.levels for one in level.changes)
            return (*changed, *(one.transition for one in monitor.observations))
    return (monitor.transition,)
