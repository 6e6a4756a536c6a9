"""Converts operations of a file system to UML interactions: lifelines, messages, executions, and
combined fragments.

The form is that of Wu 2013, Figures 2 and 3: loop, opt, alt and par with guards, and a write
pipeline as a chain of servers, each of which forwards to the next. Every diagram and the XMI format
print these elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from dfslab.report.diagrams import marte
from dfslab.report.diagrams.legend import Legend, legend
from dfslab.spec.steps.expression import ONE, Expr
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
    lands_at,
    walk,
)
from dfslab.spec.steps.numeric import function
from dfslab.spec.systems.filesystem import FileSystem, Role

# A diagram shows at least LEAST_DRAWN and at most MOST_DRAWN servers of a chain.
LEAST_DRAWN, MOST_DRAWN = 2, 4
ORDINALS = ("first", "second", "third", "fourth")


@dataclass(frozen=True)
class Lifeline:
    """A lifeline of a sequence diagram: a role, or one server in a chain of servers.

    `label` is the text that the diagram shows.
    """

    name: str
    label: str


@dataclass(frozen=True)
class Message:
    """A message from the lifeline `sender` to the lifeline `receiver`; both are names of lifelines.
    `sort` is UML's messageSort: synchCall, asynchCall or reply."""

    name: str
    sender: str
    receiver: str
    sort: str


@dataclass(frozen=True)
class Execution:
    """Work of a lifeline on one of its resources. `stereotype`: MARTE stereotype of the
    resource."""

    name: str
    lifeline: str
    stereotype: str


@dataclass(frozen=True)
class Operand:
    """One branch of a combined fragment, with its guard condition."""

    guard: str
    body: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Fragment:
    """A combined fragment of UML: loop, opt, alt or par."""

    operator: str
    operands: tuple[Operand, ...] = ()


Event: TypeAlias = Message | Execution | Fragment


@dataclass(frozen=True)
class Interaction:
    """One operation as a sequence diagram. `legend`: text that explains the names used in
    guards."""

    name: str
    lifelines: tuple[Lifeline, ...]
    body: tuple[Event, ...] = ()
    legend: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Chain:
    """A chain of `count` servers of one role, in which each server forwards to the next.

    `drawn`: number of servers that the diagram shows.
    """

    role: str
    count: Expr
    drawn: int

    def name(self, number: int) -> str:
        """Returns the name of the lifeline of the server at position `number` of the chain, counted
        from 1."""
        return self.role if number == 1 else f"{self.role}{number}"


@dataclass(frozen=True)
class _Place:
    """The lifeline that acts at a step. The lifeline is a role or, if the role is a chain of
    servers, one server of this chain, given by its position (from 1).

    For each role whose repeated work is being drawn, `copies` has the position of the server that
    the current repetition uses.
    """

    role: str
    number: int = 1
    copies: Mapping[str, int] = field(default_factory=dict)

    def member(self, role: str) -> int:
        """Returns the position in the chain of `role` of the server that this lifeline calls. If
        `role` is this lifeline's role, the position is this lifeline's own position. Otherwise the
        position is `copies[role]`, or 1 if `copies` lacks the role."""
        return self.number if role == self.role else self.copies.get(role, 1)

    def at(self, role: str) -> _Place:
        """Returns the lifeline of `role` that this lifeline calls."""
        return replace(self, role=role, number=self.member(role))

    def of_copy(self, role: str, number: int) -> _Place:
        """Returns a copy of this lifeline in which `copies` has the position `number` for
        `role`."""
        return replace(self, copies={**self.copies, role: number})


def interaction(system: FileSystem, operation: str) -> Interaction:
    """Returns the UML interaction of one operation of a file system's description."""
    tree = system.operations[operation]
    chains = _chains(system, tree)
    names = legend(guard for node in walk(tree) for guard in _guarding(node))
    drawing = _Drawing(chains, names)
    client = next(role.name for role in system.roles if role.kind == "client")
    body = drawing.visit(tree, _Place(client))
    lifelines = tuple(line for role in system.roles for line in _lifelines(role, chains))
    stated = [f"drawn with {names.text(one.count)} = {one.drawn}" for one in chains.values()]
    return Interaction(operation, lifelines, tuple(body), (*stated, *names.lines()))


def _lifelines(role: Role, chains: dict[str, _Chain]) -> Iterator[Lifeline]:
    chain = chains.get(role.name)
    if chain is None:
        yield Lifeline(role.name, role.uml)
        return
    for number in range(1, chain.drawn + 1):
        yield Lifeline(chain.name(number), f"{ORDINALS[number - 1]} {role.uml}")


def _guarding(node: Node) -> tuple[Expr, ...]:
    """Returns the expressions that appear in the guards of a node's combined fragment; an empty
    tuple for a node without a fragment."""
    if isinstance(node, Use | Delay | Hold | Call):
        return ()
    return node.expressions()


def _chains(system: FileSystem, tree: Node) -> dict[str, _Chain]:
    """Returns the chains of servers in an operation, by role.

    A pipeline is a chain if its stages repeat for servers of one role and each of these servers
    forwards the data.
    """
    found: dict[str, _Chain] = {}
    for node in walk(tree):
        for stage in node.stages if isinstance(node, Pipeline) else ():
            if isinstance(stage, Repeat) and (role := lands_at(stage.body, "")):
                drawn = max(LEAST_DRAWN, min(MOST_DRAWN, _usual(system, stage.count)))
                found[role] = _Chain(role, stage.count, drawn)
    return found


def _usual(system: FileSystem, count: Expr) -> int:
    """Returns the value of a count for the default values of all parameters, rounded to a whole
    number.

    Returns LEAST_DRAWN if the count is not an expression.
    """
    if not isinstance(count, Expr):
        return LEAST_DRAWN
    names, number = function(count)
    return round(float(number(*(system.parameter(name).default or 0.0 for name in names))))


class _Drawing(Visitor[_Place, list[Event]]):
    """Converts an operation tree to events, in the order of execution."""

    def __init__(self, chains: Mapping[str, _Chain], names: Legend) -> None:
        self._chains, self._names = chains, names

    def _each(self, count: Expr) -> str:
        """Returns the guard of a loop with `count` iterations, in the notation of Wu 2013."""
        return f"i ≤ {self._names.text(count, 5)}"

    def _line(self, role: str, where: _Place) -> str:
        """Returns the name of the lifeline of `role` that `where` uses. If the role is a chain,
        this is the lifeline of one of its servers, otherwise the role's only lifeline."""
        chain = self._chains.get(role)
        return chain.name(where.member(role)) if chain else role

    def _end(self, role: str, where: _Place) -> _Place:
        """Returns the lifeline of the last drawn server of a role's chain, or the only lifeline of
        a role that is no chain."""
        chain = self._chains.get(role)
        return replace(where, role=role, number=chain.drawn if chain else 1)

    def use(self, node: Use, where: _Place) -> list[Event]:
        kind = node.resource.kind
        line = self._line(node.resource.role, where)
        return [Execution(node.name or kind, line, marte.EXECUTION[kind])]

    def hold(self, node: Hold, where: _Place) -> list[Event]:
        kind, role = node.resource.kind, node.resource.role
        held = Execution(node.name or kind, self._line(role, where), marte.EXECUTION[kind])
        return [held, *self.visit(node.body, where.at(role))]

    def delay(self, node: Delay, where: _Place) -> list[Event]:
        line = self._line(node.role, where)
        return [Execution(node.name or "delay", line, marte.EXECUTION["delay"])]

    def at(self, node: At, where: _Place) -> list[Event]:
        # An answer that returns along a chain of servers starts at the last server.
        return self.visit(node.body, self._end(node.role, where))

    def call(self, node: Call, where: _Place) -> list[Event]:
        there = self._receiver(node, where)
        sender, receiver = self._line(where.role, where), self._line(there.role, there)
        handed = where.copies.get(node.role, 1)
        if node.one_way and not node.answers and node.role != where.role and handed > 1:
            # In a chain, the first server gets the message from the caller. Every other server gets
            # it from the server before it.
            sender = self._chains[node.role].name(handed - 1)
        sort = "asynchCall" if node.one_way else "synchCall"
        requested = Message(node.name, sender, receiver, "reply" if node.answers else sort)
        events: list[Event] = [requested, *self.visit(node.body, there)]
        if not node.one_way:
            events.append(Message(node.name, receiver, sender, "reply"))
        return [_called(one, node.name) for one in events]

    def _receiver(self, node: Call, where: _Place) -> _Place:
        """Returns the lifeline that receives a call.

        Within a chain, the receiver is the next server, or the previous server for an answer.
        Otherwise the receiver is the lifeline of the called role.
        """
        chain = self._chains.get(node.role)
        if chain is None or node.role != where.role:
            return where.at(node.role)
        number = where.number + (-1 if node.answers else 1)
        return replace(where, number=min(max(number, 1), chain.drawn))

    def seq(self, node: Seq, where: _Place) -> list[Event]:
        line = self._line(where.role, where)
        events: list[Event] = (
            [Execution(node.name, line, marte.EXECUTION["step"])] if node.name else []
        )
        for step in node.steps:
            events += self.visit(step, where)
            where = self._answered(step, where)
        return events

    def _answered(self, step: Node, where: _Place) -> _Place:
        """Returns the lifeline that acts after `step`. After a loop that sends answers back along a
        chain, the first server of the chain acts. After any other step, `where` acts."""
        back = isinstance(step, Repeat) and where.role in self._chains and _answers(step.body)
        return replace(where, number=1) if back else where

    def pipeline(self, node: Pipeline, where: _Place) -> list[Event]:
        inside: list[Event] = []
        for stage in node.stages:
            inside += self.visit(stage, where)
            where = self._landed(stage.body if isinstance(stage, Repeat) else stage, where)
        guard = f"{self._each(node.units)}, stages overlap"
        return [Fragment("loop", (Operand(guard, tuple(inside)),))]

    def _landed(self, node: Node, where: _Place) -> _Place:
        role = lands_at(node, where.role)
        return where if role == where.role else self._end(role, where)

    def repeat(self, node: Repeat, where: _Place) -> list[Event]:
        for chain in self._chains.values():
            if not node.count.free_symbols or node.count.free_symbols != chain.count.free_symbols:
                continue
            moves = lands_at(node.body, where.role) == chain.role
            if node.count == chain.count or moves:
                return self._along(node, where, chain, moves=moves)
        body = self.visit(node.body, where)
        if node.count == ONE:
            # What happens exactly once is no loop.
            return body
        return [Fragment("loop", (Operand(self._each(node.count), tuple(body)),))]

    def _along(self, node: Repeat, where: _Place, chain: _Chain, *, moves: bool) -> list[Event]:
        """Returns the events of a loop whose iterations are drawn at successive servers of a chain.

        `moves` is true if each iteration ends at a server of the chain. If, in addition, `where` is
        a server of the chain, each iteration starts one server before the previous one.
        """
        events: list[Event] = []
        for number in range(1, chain.drawn + (node.count == chain.count)):
            events += self.visit(node.body, where.of_copy(chain.role, number))
            if moves and where.role == chain.role:
                where = replace(where, number=max(1, where.number - 1))
        return events

    def par(self, node: Par, where: _Place) -> list[Event]:
        for chain in self._chains.values():
            if node.copies == chain.count and node.needed is None:
                return [Fragment("par", tuple(self._members(node, where, chain)))]
        needed = "" if node.needed is None else f", {self._names.text(node.needed)} needed"
        guard = "" if node.copies == 1 else f"{self._each(node.copies)}{needed}"
        branches = (Operand(guard, tuple(self.visit(step, where))) for step in node.steps)
        return [Fragment("par", tuple(branches))]

    def _members(self, node: Par, where: _Place, chain: _Chain) -> Iterator[Operand]:
        """Yields one branch for each drawn server of a chain, for work that all servers do
        concurrently."""
        for number in range(1, chain.drawn + 1):
            there = where.of_copy(chain.role, number)
            body = [event for step in node.steps for event in self.visit(step, there)]
            yield Operand(chain.name(number), tuple(body))

    def part(self, node: PartialWork, where: _Place) -> list[Event]:
        guard = f"part of the work: {self._names.text(node.share)}"
        return [Fragment("opt", (Operand(guard, tuple(self.visit(node.body, where))),))]

    def choice(self, node: Choice, where: _Place) -> list[Event]:
        branches = tuple(
            Operand(f"{self._names.text(share)} of all", tuple(self.visit(branch, where)))
            for share, branch in node.branches
        )
        return [Fragment("opt" if len(branches) == 1 else "alt", branches)]

    def either(self, node: Either, where: _Place) -> list[Event]:
        then = Operand(self._names.text(node.condition), tuple(self.visit(node.then, where)))
        if node.otherwise is None:
            return [Fragment("opt", (then,))]
        return [Fragment("alt", (then, Operand("else", tuple(self.visit(node.otherwise, where)))))]

    def later(self, node: Later, where: _Place) -> list[Event]:
        guard = f"later {node.name}".strip()
        return [Fragment("opt", (Operand(guard, tuple(self.visit(node.body, where))),))]


def _answers(node: Node) -> bool:
    return any(isinstance(one, Call) and one.answers for one in walk(node))


def _called(event: Event, name: str) -> Event:
    """Returns an event that has a name. If `event` is an answer without a name, it gets the name
    `name` of the message that it answers. Any other event is returned unchanged."""
    if isinstance(event, Message) and not event.name:
        return replace(event, name=name)
    return event


def messages(body: Sequence[Event]) -> Iterator[Message]:
    """Yields all messages of an interaction's events, in the order of sending."""
    for event in body:
        if isinstance(event, Message):
            yield event
        elif isinstance(event, Fragment):
            for operand in event.operands:
                yield from messages(operand.body)
