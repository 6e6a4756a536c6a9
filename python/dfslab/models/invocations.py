"""Response time by invocations, as Wu 2013 writes it: how often each, and T of one.

An invocation is what a client's program calls (the outermost named steps), a message that is
answered, or a named sequence. What a caller does to ask (its own work in the nameless sequence
around one message) belongs to the message; what is left is the time of the enclosing invocation
itself. So T = sum of count * T_own, each second told once (the corrected reading of (1) and (6)).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import sympy

from dfslab.models.formula import formula, indicator
from dfslab.spec.filesystem import FileSystem
from dfslab.spec.node import (
    At,
    Call,
    Choice,
    Delay,
    Either,
    Hold,
    Later,
    Node,
    Par,
    Pipeline,
    Repeat,
    Seq,
    Use,
    Visitor,
    step_names,
    walk,
)
from dfslab.spec.parameters import symbol

# The paper's parameters of a message, by the kind of role that takes part (section 3.1).
OF_NODES = {"client": {"Dp8"}, "data": {"Dp7"}, "metadata": {"Dp4", "Dp5", "Dp6"}}
OF_MESSAGES = {"Dp9"}
OF_DATA = {"block_size": "Dap1", "file_size": "Dap2"}


@dataclass(frozen=True)
class Invocation:
    """`count` executions of one operation, of `own` seconds each without those nested in it.

    `rpc` tells a message from a client call of the same name; `invokes`: others are nested in it.
    `takes_part`: the roles that its own part concerns; `whole`: those of everything it invokes.
    """

    name: str
    count: sympy.Expr
    own: sympy.Expr
    takes_part: frozenset[str]
    whole: frozenset[str]
    rpc: bool = False
    invokes: bool = False

    @property
    def label(self) -> str:
        """T_name or T_rpc_name; T_name_self of one that invokes others, whose time is not in it."""
        return f"T_{'rpc_' if self.rpc else ''}{self.name}{'_self' if self.invokes else ''}"


def invocations(system: FileSystem, operation: str) -> list[Invocation]:
    """Those of one operation in the order of the tree; equal ones are told once, counts added."""
    client = next(role.name for role in system.roles if role.kind == "client")
    tree = system.operations[operation]
    outermost = frozenset(step_names(tree))
    found: dict[tuple[str, bool, sympy.Expr], Invocation] = {}
    for site in _Sites(outermost).visit(tree, (client, sympy.Integer(1))):
        for one in _of_site(site):
            key = (one.name, one.rpc, one.own)
            found[key] = _together(found[key], one) if key in found else one
    left = [one for one in found.values() if one.own != 0]
    called = {one.name for one in left if not one.rpc}
    return [replace(one, rpc=one.rpc and one.name in called) for one in left]


def _together(first: Invocation, second: Invocation) -> Invocation:
    return replace(
        first,
        count=first.count + second.count,
        whole=first.whole | second.whole,
        takes_part=first.takes_part | second.takes_part,
    )


def total(found: list[Invocation]) -> sympy.Expr:
    """Sum of count * T, over a symbol for each invocation."""
    return sympy.Add(*[one.count * sympy.Symbol(one.label, nonnegative=True) for one in found])


def dependences(system: FileSystem, operation: str, one: Invocation, *, whole: bool) -> set[str]:
    """The paper's ids that an invocation's time depends on: f_i of (2) to (4) and (7) to (10).

    The rule is the paper's: a message depends on the adapters (and queues) at its ends, on the
    latency between them, and every invocation that serves data on the classes that say how much.
    """
    roles = one.whole if whole else one.takes_part
    ids = set[str]().union(*(OF_NODES[system.role(role).kind] for role in roles))
    if len(roles) > 1:
        ids |= OF_MESSAGES
    acting = system.acting(operation)
    return ids | {paper for key, paper in OF_DATA.items() if key in acting}


@dataclass(frozen=True)
class _Site:
    """Where an operation is invoked, `count` times, from `role`."""

    node: Node
    name: str
    role: str
    count: sympy.Expr


class _Sites(Visitor[tuple[str, sympy.Expr], list[_Site]]):
    """The first invocations at and below a node, begun by a role, that many times.

    `outermost`: what a client's program calls. Different things at once, stages that overlap and
    what comes later are part of the invocation around them.
    """

    def __init__(self, outermost: frozenset[str] = frozenset()) -> None:
        self._outermost = outermost

    def visit(self, node: Node, where: tuple[str, sympy.Expr]) -> list[_Site]:
        """The node itself where it is invoked."""
        if _is_invoked(node) or (node.name and node.name in self._outermost):
            return [_Site(node, node.name, *where)]
        return node.accept(self, where)

    def repeat(self, node: Repeat, where: tuple[str, sympy.Expr]) -> list[_Site]:
        role, count = where
        return self.visit(node.body, (role, count * node.count))

    def choice(self, node: Choice, where: tuple[str, sympy.Expr]) -> list[_Site]:
        role, count = where
        each = [self.visit(branch, (role, count * share)) for share, branch in node.branches]
        return [site for sites in each for site in sites]

    def either(self, node: Either, where: tuple[str, sympy.Expr]) -> list[_Site]:
        role, count = where
        found = self.visit(node.then, (role, count * indicator(node.condition)))
        if node.otherwise is not None:
            found += self.visit(node.otherwise, (role, count * indicator(~node.condition)))
        return found

    def seq(self, node: Seq, where: tuple[str, sympy.Expr]) -> list[_Site]:
        found = [site for step in node.steps for site in self.visit(step, where)]
        if len(found) == 1 and isinstance(found[0].node, Call) and found[0].node in node.steps:
            # What a caller does around its message is part of asking.
            return [replace(found[0], node=node)]
        return found

    def call(self, node: Call, where: tuple[str, sympy.Expr]) -> list[_Site]:
        return []

    def use(self, node: Use, where: tuple[str, sympy.Expr]) -> list[_Site]:
        return []

    def hold(self, node: Hold, where: tuple[str, sympy.Expr]) -> list[_Site]:
        return []

    def delay(self, node: Delay, where: tuple[str, sympy.Expr]) -> list[_Site]:
        return []

    def at(self, node: At, where: tuple[str, sympy.Expr]) -> list[_Site]:
        return []

    def par(self, node: Par, where: tuple[str, sympy.Expr]) -> list[_Site]:
        # Equal copies take the time of one; of different branches, nobody knows which is longest.
        return self.visit(node.steps[0], where) if len(node.steps) == 1 else []

    def pipeline(self, node: Pipeline, where: tuple[str, sympy.Expr]) -> list[_Site]:
        return []

    def later(self, node: Later, where: tuple[str, sympy.Expr]) -> list[_Site]:
        return []


def _is_invoked(node: Node) -> bool:
    if isinstance(node, Call):
        return not node.one_way
    return bool(node.name) and isinstance(node, Seq)


def _of_site(site: _Site) -> Iterator[Invocation]:
    """One invocation and what it invokes."""
    node, role = site.node, site.role
    named = isinstance(node, Seq) and node.name
    nested = (
        [one for step in node.children() for one in _Sites().visit(step, (role, sympy.Integer(1)))]
        if named
        else []
    )
    rest = _Without({id(one.node) for one in nested}).visit(node, None)
    yield Invocation(
        site.name,
        site.count,
        formula("", rest, role).expanded(),
        _roles(rest, role),
        _roles(node, role),
        rpc=not named,
        invokes=bool(nested),
    )
    for inner in nested:
        yield from _of_site(replace(inner, count=site.count * inner.count))


class _Without(Visitor[None, Node]):
    """The tree without some of its nodes, which are told by their identity."""

    def __init__(self, removed: set[int]) -> None:
        self._removed = removed

    def visit(self, node: Node, where: None) -> Node:
        """Nothing in the place of a removed node."""
        return Seq("", ()) if id(node) in self._removed else node.accept(self, None)

    def seq(self, node: Seq, where: None) -> Node:
        return Seq(node.name, tuple(self.visit(step, None) for step in node.steps))

    def repeat(self, node: Repeat, where: None) -> Node:
        return replace(node, body=self.visit(node.body, None))

    def choice(self, node: Choice, where: None) -> Node:
        ways = tuple((share, self.visit(branch, None)) for share, branch in node.branches)
        return Choice(node.name, ways)

    def either(self, node: Either, where: None) -> Node:
        other = None if node.otherwise is None else self.visit(node.otherwise, None)
        return replace(node, then=self.visit(node.then, None), otherwise=other)

    def par(self, node: Par, where: None) -> Node:
        return replace(node, steps=tuple(self.visit(step, None) for step in node.steps))

    # No invocation is looked for in these, so none has to be taken out.

    def use(self, node: Use, where: None) -> Node:
        return node

    def hold(self, node: Hold, where: None) -> Node:
        return node

    def delay(self, node: Delay, where: None) -> Node:
        return node

    def at(self, node: At, where: None) -> Node:
        return node

    def call(self, node: Call, where: None) -> Node:
        return node

    def pipeline(self, node: Pipeline, where: None) -> Node:
        return node

    def later(self, node: Later, where: None) -> Node:
        return node


def _roles(node: Node, role: str) -> frozenset[str]:
    """Roles that take part in a tree started at `role`."""
    return frozenset({role, *(one.acting for one in walk(node) if one.acting)})


def of_count(response_s: sympy.Expr) -> sympy.Expr:
    """Work of `count` operations, (5) and (11): a serial server needs count times the UNLOADED T.

    A loaded T already holds the queue, so it must not be multiplied (errata W10).
    """
    return symbol("count") * response_s
