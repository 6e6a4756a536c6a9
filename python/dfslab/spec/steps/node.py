"""The nodes of the step language. The tree of an operation of a file system consists of such nodes.

There are thirteen node types: use, hold, delay, at, call, seq, par, pipeline, repeat, part, choice,
either, later. Demands, counts, sizes and conditions are expressions over parameters
(spec/systems/parameters.py). Code that converts trees to numbers, formulas, nets, invocations or
UML is a `Visitor`. Code that only searches for nodes of some types uses `walk`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from dfslab.spec.members.member_error import MemberValueError, unlisted
from dfslab.spec.steps.expression import Condition, Expr

RESOURCES = ("cpu", "disk", "nic", "memory", "lock", "threads")
# Where: the type of a visitor's context argument. Found: the type of its result.
Where = TypeVar("Where")
Found = TypeVar("Found")


@dataclass(frozen=True)
class Resource:
    """A resource that steps occupy. A resource is hardware of a role's node (cpu, disk, nic,
    memory) or software (lock, threads).

    `mode` is "read" or "write" for a disk, "shared" or "exclusive" for a lock. `places` is the size
    of the queue of a thread pool (None: unbounded). `fair` applies to a lock. `fair` is 1 if the
    lock is granted in FIFO order. `fair` is 0 if any request is granted that is compatible with the
    present holders.
    """

    role: str
    kind: str
    mode: str = ""
    places: Expr | None = None
    fair: Expr | None = None

    def __post_init__(self) -> None:
        if self.kind not in RESOURCES:
            stated = unlisted(self.kind, RESOURCES)
            raise MemberValueError(f"resource of {self.role}: kind {stated}")

    def __str__(self) -> str:
        return f"{self.role}.{self.kind}"


@dataclass(frozen=True)
class Node(ABC):
    """A node of an operation tree. `name` is its name in traces, formulas and diagrams; "" if the
    node has no name."""

    name: str

    @abstractmethod
    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        """Calls the visitor's method for this type of node and returns its result."""

    def children(self) -> tuple[Node, ...]:
        """Returns the nodes that are directly below this node; () for a node without children."""
        return ()

    def expressions(self) -> tuple[Expr, ...]:
        """Returns the amounts and conditions that this node uses, without those of its children."""
        return ()

    @property
    def acting(self) -> str:
        """Returns the role that executes this node, if the node names a role; "" if it does not."""
        return ""


class Visitor(ABC, Generic[Where, Found]):
    """A visitor of operation trees, with one abstract method for each type of node.

    `where` is the visitor's context of a node, such as the role that executes the node.
    """

    def visit(self, node: Node, where: Where) -> Found:
        """Returns the visitor's result for a node of any type."""
        return node.accept(self, where)

    @abstractmethod
    def use(self, node: Use, where: Where) -> Found:
        """Returns the result for a `Use`: a step that occupies a resource."""

    @abstractmethod
    def hold(self, node: Hold, where: Where) -> Found:
        """Returns the result for a `Hold`: a body that keeps a thread or a lock while it runs."""

    @abstractmethod
    def delay(self, node: Delay, where: Where) -> Found:
        """Returns the result for a `Delay`: a wait in seconds that occupies no resource."""

    @abstractmethod
    def at(self, node: At, where: Where) -> Found:
        """Returns the result for an `At`: a body that another role executes."""

    @abstractmethod
    def call(self, node: Call, where: Where) -> Found:
        """Returns the result for a `Call`: a request over the network, its body and its
        response."""

    @abstractmethod
    def seq(self, node: Seq, where: Where) -> Found:
        """Returns the result for a `Seq`: steps one after another."""

    @abstractmethod
    def par(self, node: Par, where: Where) -> Found:
        """Returns the result for a `Par`: branches that run concurrently."""

    @abstractmethod
    def pipeline(self, node: Pipeline, where: Where) -> Found:
        """Returns the result for a `Pipeline`: units of data that pass through stages."""

    @abstractmethod
    def repeat(self, node: Repeat, where: Where) -> Found:
        """Returns the result for a `Repeat`: a body that is executed a number of times."""

    @abstractmethod
    def part(self, node: PartialWork, where: Where) -> Found:
        """Returns the result for a `PartialWork`: a share of a body's work."""

    @abstractmethod
    def choice(self, node: Choice, where: Where) -> Found:
        """Returns the result for a `Choice`: one of several branches, drawn at random."""

    @abstractmethod
    def either(self, node: Either, where: Where) -> Found:
        """Returns the result for an `Either`: one of two branches, by a condition."""

    @abstractmethod
    def later(self, node: Later, where: Where) -> Found:
        """Returns the result for a `Later`: a body that runs in the background."""


@dataclass(frozen=True)
class Use(Node):
    """A step that occupies `resource` for `demand_s` seconds."""

    resource: Resource
    demand_s: Expr

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        """Calls the method of `visitor` for a `Use` and returns its result."""
        return visitor.use(self, where)

    def expressions(self) -> tuple[Expr, ...]:
        """Returns the demand in seconds."""
        return (self.demand_s,)

    @property
    def acting(self) -> str:
        """Returns the name of the role whose resource the step occupies."""
        return self.resource.role


@dataclass(frozen=True)
class Hold(Node):
    """A step that holds a lock, or one of the `servers` threads of a pool, while `body` runs."""

    resource: Resource
    servers: Expr
    body: Node

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        """Calls the method of `visitor` for a `Hold` and returns its result."""
        return visitor.hold(self, where)

    def children(self) -> tuple[Node, ...]:
        """Returns the body that runs while the thread or lock is held."""
        return (self.body,)

    def expressions(self) -> tuple[Expr, ...]:
        """Returns the expressions of the resource in this order: the number of servers; the size of
        the queue, if the resource has one; the fairness, if the resource is a lock."""
        optional = (self.resource.places, self.resource.fair)
        return (self.servers, *(one for one in optional if one is not None))

    @property
    def acting(self) -> str:
        """Returns the name of the role whose thread or lock is held."""
        return self.resource.role


@dataclass(frozen=True)
class Delay(Node):
    """A delay at `role` that occupies no resource, such as a sleep or a timer."""

    role: str
    seconds: Expr

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        """Calls the method of `visitor` for a `Delay` and returns its result."""
        return visitor.delay(self, where)

    def expressions(self) -> tuple[Expr, ...]:
        """Returns the wait in seconds."""
        return (self.seconds,)

    @property
    def acting(self) -> str:
        """Returns the name of the role that waits."""
        return self.role


@dataclass(frozen=True)
class At(Node):
    """A step that runs `body` at `role` instead of the current role, without a message or
    resource.
    """

    role: str
    body: Node

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        """Calls the method of `visitor` for a `At` and returns its result."""
        return visitor.at(self, where)

    def children(self) -> tuple[Node, ...]:
        """Returns the body that the role executes."""
        return (self.body,)

    @property
    def acting(self) -> str:
        """Returns the name of the role that executes the body."""
        return self.role


@dataclass(frozen=True)
class Call(Node):
    """A message of `request_bytes` to `role`, which runs `body` and replies with `response_bytes`.

    There are two kinds of message without a reply. With `one_way`, the message is forwarded, as
    between the data servers of a write pipeline. With `answers`, the message is itself an answer or
    an acknowledgement.
    """

    role: str
    body: Node
    request_bytes: Expr
    response_bytes: Expr
    one_way: bool = False
    answers: bool = False

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        """Calls the method of `visitor` for a `Call` and returns its result."""
        return visitor.call(self, where)

    def children(self) -> tuple[Node, ...]:
        """Returns the body that the receiver executes."""
        return (self.body,)

    def expressions(self) -> tuple[Expr, ...]:
        """Returns the sizes of the request and of the response in bytes."""
        return (self.request_bytes, self.response_bytes)

    @property
    def acting(self) -> str:
        """Returns the name of the role that receives the request."""
        return self.role


@dataclass(frozen=True)
class Seq(Node):
    """Steps that run one after another."""

    steps: tuple[Node, ...]

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        """Calls the method of `visitor` for a `Seq` and returns its result."""
        return visitor.seq(self, where)

    def children(self) -> tuple[Node, ...]:
        """Returns the steps, in their order."""
        return self.steps


@dataclass(frozen=True)
class Par(Node):
    """Parallel branches. Each of the `steps` runs in `copies` parallel branches. The node ends when
    `needed` branches are done (None: all)."""

    steps: tuple[Node, ...]
    copies: Expr
    needed: Expr | None = None

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        """Calls the method of `visitor` for a `Par` and returns its result."""
        return visitor.par(self, where)

    def children(self) -> tuple[Node, ...]:
        """Returns the concurrent branches."""
        return self.steps

    def expressions(self) -> tuple[Expr, ...]:
        """Returns the number of copies, then the number of needed branches if it is given."""
        return (self.copies,) if self.needed is None else (self.copies, self.needed)


@dataclass(frozen=True)
class Pipeline(Node):
    """A pipeline: `units` equal units of data pass through `stages`. Different stages can work at
    the same time, on different units. Each stage serves one unit at a time.

    A `Repeat` among the stages stands for several consecutive stages, one for each repetition. A
    one-way message moves the unit: the next stage starts at the receiver (`lands_at`), also within
    a `Repeat`.
    """

    units: Expr
    stages: tuple[Node, ...]

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        """Calls the method of `visitor` for a `Pipeline` and returns its result."""
        return visitor.pipeline(self, where)

    def children(self) -> tuple[Node, ...]:
        """Returns the stages, in their order."""
        return self.stages

    def expressions(self) -> tuple[Expr, ...]:
        """Returns the number of units."""
        return (self.units,)


@dataclass(frozen=True)
class Repeat(Node):
    """Runs `body` `count` times in sequence.

    With `reselect`, each repetition chooses new instances of the roles (other servers). Without it,
    all repetitions use the same instance of each role.
    """

    count: Expr
    body: Node
    reselect: bool = False

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        """Calls the method of `visitor` for a `Repeat` and returns its result."""
        return visitor.repeat(self, where)

    def children(self) -> tuple[Node, ...]:
        """Returns the repeated body."""
        return (self.body,)

    def expressions(self) -> tuple[Expr, ...]:
        """Returns the number of repetitions."""
        return (self.count,)


@dataclass(frozen=True)
class PartialWork(Node):
    """Does the share `share` of the work of `body`, from 0 to 1: every demand and time of the body
    is multiplied by the share.

    Every execution of this node does this share of the work. A `Choice`, in contrast, does either
    all or none of its body's work, by a probability.
    """

    share: Expr
    body: Node

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        """Calls the method of `visitor` for a `PartialWork` and returns its result."""
        return visitor.part(self, where)

    def children(self) -> tuple[Node, ...]:
        """Returns the body of which a share is done."""
        return (self.body,)

    def expressions(self) -> tuple[Expr, ...]:
        """Returns the share."""
        return (self.share,)


@dataclass(frozen=True)
class Choice(Node):
    """A random choice: runs one of the branches, each by its probability. With the remaining
    probability, nothing runs."""

    branches: tuple[tuple[Expr, Node], ...]

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        """Calls the method of `visitor` for a `Choice` and returns its result."""
        return visitor.choice(self, where)

    def children(self) -> tuple[Node, ...]:
        """Returns the branches, without their probabilities."""
        return tuple(node for _, node in self.branches)

    def expressions(self) -> tuple[Expr, ...]:
        """Returns the probabilities of the branches."""
        return tuple(probability for probability, _ in self.branches)


@dataclass(frozen=True)
class Either(Node):
    """A conditional step: runs `then` where the condition holds, and else `otherwise`. If
    `otherwise` is None, nothing runs where the condition does not hold."""

    condition: Condition
    then: Node
    otherwise: Node | None = None

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        """Calls the method of `visitor` for a `Either` and returns its result."""
        return visitor.either(self, where)

    def children(self) -> tuple[Node, ...]:
        """Returns the branch for a true condition, then the other branch if there is one."""
        return (self.then,) if self.otherwise is None else (self.then, self.otherwise)

    def expressions(self) -> tuple[Expr, ...]:
        """Returns the condition."""
        return (self.condition,)


@dataclass(frozen=True)
class Later(Node):
    """Asynchronous work that continues after the operation has returned, such as write-back and
    re-replication.
    """

    body: Node

    def accept(self, visitor: Visitor[Where, Found], where: Where) -> Found:
        """Calls the method of `visitor` for a `Later` and returns its result."""
        return visitor.later(self, where)

    def children(self) -> tuple[Node, ...]:
        """Returns the body that runs in the background."""
        return (self.body,)


def walk(node: Node) -> Iterator[Node]:
    """Yields every node of the tree, parents before children."""
    yield node
    for child in node.children():
        yield from walk(child)


def symbols(node: Node) -> dict[str, list[str]]:
    """Returns a dictionary from each symbol in a tree to the names of the steps whose expressions
    contain it. The names are in tree order. For a step without a name, the name of the nearest
    named step around it is used, or "operation" if there is none."""
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
    """Returns the role at which a unit of a pipeline is after the stage `node`. Before the stage,
    the unit is at `role`. Only one-way messages move the unit."""
    if isinstance(node, Seq) and node.steps:
        for step in node.steps:
            role = lands_at(step, role)
        return role
    return node.role if isinstance(node, Call) and node.one_way else role


def writes_back(node: Later) -> bool:
    """Returns whether asynchronous work uses a disk. A page cache may defer such work until after
    the run."""
    uses = (one for one in walk(node.body) if isinstance(one, Use))
    return any(use.resource.kind == "disk" for use in uses)


def step_names(node: Node) -> list[str]:
    """Returns the names of the tree's outermost named steps, which a client can time."""
    if node.name:
        return [node.name]
    return [name for child in node.children() for name in step_names(child)]
