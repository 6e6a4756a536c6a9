"""The nodes of the step language: an operation of a file system is a small tree of them.

Twelve node kinds: use, hold, delay, at, call, seq, par, pipeline, repeat, choice, either, later.
Demands, counts, sizes and conditions are expressions over parameters (spec/parameters.py). What
reads trees (numbers, formulas, nets, invocations, UML) is a `Visitor`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from dfslab.spec.expression import Condition, Expr

RESOURCES = ("cpu", "disk", "nic", "memory", "lock", "threads")
# What a visitor is given about the place of a node, and what it answers.
Where = TypeVar("Where")
Found = TypeVar("Found")


@dataclass(frozen=True)
class Resource:
    """Something of a role's node (cpu, disk, nic, memory) or software (lock, threads) that serves.

    `mode` is "read" or "write" of a disk, "shared" or "exclusive" of a lock. `places` says how many
    may wait for a thread of a pool (None: any number), `fair` whether a lock is given in the order
    of asking (1) or to whom it can be given (0).
    """

    role: str
    kind: str
    mode: str = ""
    places: Expr | None = None
    fair: Expr | None = None

    def __post_init__(self) -> None:
        assert self.kind in RESOURCES, f"resource kind {self.kind} not in {RESOURCES}"

    def __str__(self) -> str:
        return f"{self.role}.{self.kind}"


@dataclass(frozen=True)
class Node(ABC):
    """A step; `name` is what the tracer, the formula and the pictures call it ("" = nameless)."""

    name: str

    @abstractmethod
    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        """What `visitor` answers for a node of this kind."""

    def children(self) -> tuple[Node, ...]:
        """The nodes right below."""
        return ()

    def expressions(self) -> tuple[Expr, ...]:
        """The amounts and conditions of this node, those of its children aside."""
        return ()

    @property
    def acting(self) -> str:
        """The role that this node names ("": none)."""
        return ""


class Visitor(ABC, Generic[Where, Found]):
    """A reader of trees: one method for each kind of node, so that none can be forgotten.

    `where` is what the reader knows of the surroundings of a node.
    """

    def visit(self, node: Node, where: Where) -> Found:
        """The answer for a node of any kind."""
        return node.accept(self, where)

    @abstractmethod
    def use(self, node: Use, where: Where) -> Found: ...

    @abstractmethod
    def hold(self, node: Hold, where: Where) -> Found: ...

    @abstractmethod
    def delay(self, node: Delay, where: Where) -> Found: ...

    @abstractmethod
    def at(self, node: At, where: Where) -> Found: ...

    @abstractmethod
    def call(self, node: Call, where: Where) -> Found: ...

    @abstractmethod
    def seq(self, node: Seq, where: Where) -> Found: ...

    @abstractmethod
    def par(self, node: Par, where: Where) -> Found: ...

    @abstractmethod
    def pipeline(self, node: Pipeline, where: Where) -> Found: ...

    @abstractmethod
    def repeat(self, node: Repeat, where: Where) -> Found: ...

    @abstractmethod
    def choice(self, node: Choice, where: Where) -> Found: ...

    @abstractmethod
    def either(self, node: Either, where: Where) -> Found: ...

    @abstractmethod
    def later(self, node: Later, where: Where) -> Found: ...


@dataclass(frozen=True)
class Use(Node):
    """Occupies `resource` for `demand_s` seconds."""

    resource: Resource
    demand_s: Expr

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        return visitor.use(self, where)

    def expressions(self) -> tuple[Expr, ...]:
        return (self.demand_s,)

    @property
    def acting(self) -> str:
        return self.resource.role


@dataclass(frozen=True)
class Hold(Node):
    """Holds a lock, or one of the `servers` threads of a pool, while `body` runs."""

    resource: Resource
    servers: Expr
    body: Node

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        return visitor.hold(self, where)

    def children(self) -> tuple[Node, ...]:
        return (self.body,)

    def expressions(self) -> tuple[Expr, ...]:
        optional = (self.resource.places, self.resource.fair)
        return (self.servers, *(one for one in optional if one is not None))

    @property
    def acting(self) -> str:
        return self.resource.role


@dataclass(frozen=True)
class Delay(Node):
    """Time that passes at `role` without occupying anything others wait for (a sleep, a timer)."""

    role: str
    seconds: Expr

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        return visitor.delay(self, where)

    def expressions(self) -> tuple[Expr, ...]:
        return (self.seconds,)

    @property
    def acting(self) -> str:
        return self.role


@dataclass(frozen=True)
class At(Node):
    """`body` as `role` does it, although another role began: nothing is asked, nothing is held."""

    role: str
    body: Node

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        return visitor.at(self, where)

    def children(self) -> tuple[Node, ...]:
        return (self.body,)

    @property
    def acting(self) -> str:
        return self.role


@dataclass(frozen=True)
class Call(Node):
    """A message to `role` (`request_bytes`), `body` there, and the reply (`response_bytes`).

    `one_way` has no reply: a message handed on, as between the data servers of a write pipeline.
    `answers`: the message is an answer or an acknowledgement itself, which asks for nothing.
    """

    role: str
    body: Node
    request_bytes: Expr
    response_bytes: Expr
    one_way: bool = False
    answers: bool = False

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        return visitor.call(self, where)

    def children(self) -> tuple[Node, ...]:
        return (self.body,)

    def expressions(self) -> tuple[Expr, ...]:
        return (self.request_bytes, self.response_bytes)

    @property
    def acting(self) -> str:
        return self.role


@dataclass(frozen=True)
class Seq(Node):
    """One step after the other."""

    steps: tuple[Node, ...]

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        return visitor.seq(self, where)

    def children(self) -> tuple[Node, ...]:
        return self.steps


@dataclass(frozen=True)
class Par(Node):
    """All branches at once, each `copies` times, until `needed` of them are done (None: all)."""

    steps: tuple[Node, ...]
    copies: Expr
    needed: Expr | None = None

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        return visitor.par(self, where)

    def children(self) -> tuple[Node, ...]:
        return self.steps

    def expressions(self) -> tuple[Expr, ...]:
        return (self.copies,) if self.needed is None else (self.copies, self.needed)


@dataclass(frozen=True)
class Pipeline(Node):
    """`units` equal units through `stages`, one unit at a time in each stage, overlapping.

    A `Repeat` among the stages stands for that many stages in a row. A one-way send takes the
    unit along: the next stage, and the next of a `Repeat`, starts where it landed (`lands_at`).
    """

    units: Expr
    stages: tuple[Node, ...]

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        return visitor.pipeline(self, where)

    def children(self) -> tuple[Node, ...]:
        return self.stages

    def expressions(self) -> tuple[Expr, ...]:
        return (self.units,)


@dataclass(frozen=True)
class Repeat(Node):
    """`body`, `count` times in a row; `anew`: each turn at servers of its own.

    Else what is done for the same role is done by the same one of its nodes.
    """

    count: Expr
    body: Node
    anew: bool = False

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        return visitor.repeat(self, where)

    def children(self) -> tuple[Node, ...]:
        return (self.body,)

    def expressions(self) -> tuple[Expr, ...]:
        return (self.count,)


@dataclass(frozen=True)
class Choice(Node):
    """One of the branches, by probability; with what is left to 1, none."""

    branches: tuple[tuple[Expr, Node], ...]

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        return visitor.choice(self, where)

    def children(self) -> tuple[Node, ...]:
        return tuple(node for _, node in self.branches)

    def expressions(self) -> tuple[Expr, ...]:
        return tuple(probability for probability, _ in self.branches)


@dataclass(frozen=True)
class Either(Node):
    """`then` where the condition holds, else `otherwise` (None: nothing)."""

    condition: Condition
    then: Node
    otherwise: Node | None = None

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        return visitor.either(self, where)

    def children(self) -> tuple[Node, ...]:
        return (self.then,) if self.otherwise is None else (self.then, self.otherwise)

    def expressions(self) -> tuple[Expr, ...]:
        return (self.condition,)


@dataclass(frozen=True)
class Later(Node):
    """Work that happens after the operation has answered (write-back, re-replication)."""

    body: Node

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        return visitor.later(self, where)

    def children(self) -> tuple[Node, ...]:
        return (self.body,)


def walk(node: Node) -> Iterator[Node]:
    """Every node of the tree, parents first."""
    yield node
    for child in node.children():
        yield from walk(child)


def symbols(node: Node) -> dict[str, list[str]]:
    """Symbol names of a tree, each with the step names (or kinds) where it acts, in tree order."""
    found: dict[str, list[str]] = {}

    def visit(current: Node, path: str) -> None:
        here = current.name or path
        for expression in current.expressions():
            for free in sorted(expression.free_symbols, key=str):
                places = found.setdefault(str(free), [])
                if here not in places:
                    places.append(here)
        for child in current.children():
            visit(child, here)

    visit(node, node.name or "operation")
    return found


def lands_at(node: Node, role: str) -> str:
    """Where a pipeline's unit is after a stage that began at `role`: a one-way send moves it."""
    if isinstance(node, Seq) and node.steps:
        for step in node.steps:
            role = lands_at(step, role)
        return role
    return node.role if isinstance(node, Call) and node.one_way else role


def writes_back(node: Later) -> bool:
    """Whether it is work for a disk, which a page cache can put off beyond what is looked at."""
    uses = (one for one in walk(node.body) if isinstance(one, Use))
    return any(use.resource.kind == "disk" for use in uses)


def step_names(node: Node) -> list[str]:
    """The names of the tree's outermost named steps: what client-side timing can see."""
    if node.name:
        return [node.name]
    return [name for child in node.children() for name in step_names(child)]
