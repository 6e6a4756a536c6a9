"""The step language: an operation of a file system as a small tree of steps over roles.

Nine node kinds: use, call, seq, par, quorum, pipeline, repeat, choice, later. Demands, counts and
sizes are SymPy expressions over parameters (spec/parameters.py). Four readers share the trees: the
sequence model, the Petri model, the tracer (step names) and the pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from dfslab.spec.expression import ONE, ZERO, Expr, Max, Min, ceiling, symbol
from dfslab.spec.expression import expression as _expression

Expression: TypeAlias = Expr | int | float
RESOURCES = ("cpu", "disk", "nic", "memory", "lock", "threads")
REFERENCE_FREQUENCY_HZ = 2_500_000_000


@dataclass(frozen=True)
class Resource:
    """Something of a role's node (cpu, disk, nic, memory) or software (lock, threads) that serves.

    `mode` is "read" or "write" of a disk, "shared" or "exclusive" of a lock. `servers` says how
    many a pool of threads has (None: as many as asked for, so that nobody waits), `places` how many
    may wait for one (None: any number), `fair` whether a lock is given in the order of asking (1)
    or to whom it can be given (0).
    """

    role: str
    kind: str
    mode: str = ""
    servers: Expr | None = None
    places: Expr | None = None
    fair: Expr | None = None

    def __post_init__(self) -> None:
        assert self.kind in RESOURCES, f"resource kind {self.kind} not in {RESOURCES}"

    def __str__(self) -> str:
        return f"{self.role}.{self.kind}"


@dataclass(frozen=True)
class Node:
    """A step; `name` is what the tracer, the formula and the pictures call it ("" = nameless)."""

    name: str

    def children(self) -> tuple[Node, ...]:
        return ()

    def expressions(self) -> tuple[Expr, ...]:
        return ()


@dataclass(frozen=True)
class Use(Node):
    """Holds `resource` for `demand_s` seconds, or while `body` runs."""

    resource: Resource
    demand_s: Expr
    body: Node | None = None

    def children(self) -> tuple[Node, ...]:
        return (self.body,) if self.body else ()

    def expressions(self) -> tuple[Expr, ...]:
        of_resource = (self.resource.servers, self.resource.places, self.resource.fair)
        return (self.demand_s, *(one for one in of_resource if one is not None))


@dataclass(frozen=True)
class Call(Node):
    """A message to `role` (`request_bytes`), `body` there, and the reply (`response_bytes`).

    `one_way` has no reply: a message handed on, as between the data servers of a write pipeline.
    """

    role: str
    body: Node
    request_bytes: Expr
    response_bytes: Expr
    one_way: bool = False

    def children(self) -> tuple[Node, ...]:
        return (self.body,)

    def expressions(self) -> tuple[Expr, ...]:
        return (self.request_bytes, self.response_bytes)


@dataclass(frozen=True)
class Seq(Node):
    """One step after the other."""

    steps: tuple[Node, ...]

    def children(self) -> tuple[Node, ...]:
        return self.steps


@dataclass(frozen=True)
class Par(Node):
    """All branches at once, each `copies` times, until `needed` of them are done (None: all)."""

    steps: tuple[Node, ...]
    copies: Expr
    needed: Expr | None = None

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

    def children(self) -> tuple[Node, ...]:
        return (self.body,)

    def expressions(self) -> tuple[Expr, ...]:
        return (self.count,)


@dataclass(frozen=True)
class Choice(Node):
    """One of the branches, by probability (a 0-or-1 parameter makes it a condition)."""

    branches: tuple[tuple[Expr, Node], ...]

    def children(self) -> tuple[Node, ...]:
        return tuple(node for _, node in self.branches)

    def expressions(self) -> tuple[Expr, ...]:
        return tuple(probability for probability, _ in self.branches)


@dataclass(frozen=True)
class Later(Node):
    """Work that happens after the operation has answered (write-back, re-replication)."""

    body: Node

    def children(self) -> tuple[Node, ...]:
        return (self.body,)


def cpu(role: str, seconds: Expression, name: str = "") -> Use:
    """Processor time at `role`, given at 2.5 GHz."""
    speed = symbol(f"{role}.frequency") / REFERENCE_FREQUENCY_HZ
    return Use(name, Resource(role, "cpu"), _expression(seconds) / speed)


def disk_read(role: str, size_bytes: Expression, name: str = "", requests: Expression = 1) -> Use:
    """Reads `size_bytes`: transfer, and the disk's latency for each request."""
    return _disk(role, size_bytes, "read", name, requests)


def disk_write(role: str, size_bytes: Expression, name: str = "", requests: Expression = 1) -> Use:
    """Writes `size_bytes`: transfer, and the disk's latency for each request.

    Less than one request is a share in a larger one, as the kernel gathers them.
    """
    return _disk(role, size_bytes, "write", name, requests)


def _disk(role: str, size_bytes: Expression, mode: str, name: str, requests: Expression) -> Use:
    transfer = _expression(size_bytes) / symbol(f"{role}.disk_{mode}_rate")
    waits = _expression(requests) * symbol(f"{role}.disk_latency")
    return Use(name, Resource(role, "disk", mode), waits + transfer)


def delay(role: str, seconds: Expression, name: str = "") -> Use:
    """Time that passes at `role` without occupying anything others wait for (a sleep, a timer)."""
    return Use(name, Resource(role, "threads"), _expression(seconds))


def hold_thread(
    role: str, servers: Expression, body: Node, name: str = "", places: Expression | None = None
) -> Use:
    """Keeps one of the `servers` threads of `role` while `body` runs; `places` may wait for one."""
    waiting = None if places is None else _expression(places)
    pool = Resource(role, "threads", servers=_expression(servers), places=waiting)
    return Use(name, pool, ZERO, body)


def hold_lock(role: str, mode: str, body: Node, name: str = "", fair: Expression = 1) -> Use:
    """Keeps the lock of `role`, "shared" or "exclusive", while `body` runs."""
    assert mode in ("shared", "exclusive"), f"a lock is held shared or exclusive, not {mode}"
    lock = Resource(role, "lock", mode, ONE, fair=_expression(fair))
    return Use(name, lock, ZERO, body)


def call(
    role: str,
    name: str,
    *body: Node,
    request_bytes: Expression = 256,
    response_bytes: Expression = 256,
) -> Call:
    """Ask `role` and wait for its answer."""
    return Call(name, role, seq(*body), _expression(request_bytes), _expression(response_bytes))


def send(role: str, name: str, *body: Node, size_bytes: Expression) -> Call:
    """Hand `size_bytes` to `role`, which does `body`; nobody waits for an answer here."""
    return Call(name, role, seq(*body), _expression(size_bytes), ZERO, one_way=True)


def at(role: str, *body: Node) -> Use:
    """`body` as `role` does it, for whoever began: nothing is asked and nothing is held."""
    return Use("", Resource(role, "threads"), ZERO, seq(*body))


def seq(*steps: Node, name: str = "") -> Seq:
    """One after the other."""
    return Seq(name, steps)


def par(*steps: Node, copies: Expression = 1, name: str = "") -> Par:
    """All at once; done when all are done."""
    return Par(name, steps, _expression(copies))


def quorum(needed: Expression, *steps: Node, copies: Expression = 1, name: str = "") -> Par:
    """All at once; done when `needed` are done."""
    return Par(name, steps, _expression(copies), _expression(needed))


def pipeline(units: Expression, *stages: Node, name: str = "") -> Pipeline:
    """A stream of units through stages."""
    return Pipeline(name, _expression(units), stages)


def repeat(count: Expression, *body: Node, name: str = "", anew: bool = False) -> Repeat:
    """`body` again and again; `anew`: each time at servers of its own."""
    return Repeat(name, _expression(count), seq(*body), anew)


def choice(*branches: tuple[Expression, Node], name: str = "") -> Choice:
    """One branch by probability; what is left to 1 does nothing."""
    return Choice(name, tuple((_expression(p), node) for p, node in branches))


def striped(
    size_bytes: Expression,
    unit_bytes: Expression,
    places: Expression,
    on_one: Callable[[Expr], Node],
) -> Choice:
    """`on_one` with all bytes where they are one unit, else with equal parts at `places` at once.

    The number of places may not depend on the size (a net has that many branches).
    """
    size = _expression(size_bytes)
    several = Min(1, Max(0, ceiling(size / unit_bytes) - 1))
    spread = par(on_one(size / places), copies=places)
    return choice((1 - several, on_one(size)), (several, spread))


def later(*body: Node, name: str = "") -> Later:
    """After the answer."""
    return Later(name, seq(*body))


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
