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

from dfslab.models.formula import formula
from dfslab.spec.filesystem import FileSystem
from dfslab.spec.operation import Call, Choice, Node, Repeat, Seq, Use, step_names, walk
from dfslab.spec.parameters import symbol

# The paper's parameters of a message, by the kind of role that takes part (section 3.1).
OF_NODES = {"client": {"Dp8"}, "data": {"Dp7"}, "metadata": {"Dp4", "Dp5", "Dp6"}}
OF_MESSAGES = {"Dp9"}
OF_DATA = {"block_size": "Dap1", "file_size": "Dap2"}


@dataclass(frozen=True)
class Invocation:
    """`count` executions of one operation, of `own` seconds each without those nested in it.

    `rpc` tells a message from a client call of the same name. `takes_part`: the roles that its
    own part concerns; `whole`: those of everything it invokes.
    """

    name: str
    count: sympy.Expr
    own: sympy.Expr
    takes_part: frozenset[str]
    whole: frozenset[str]
    rpc: bool = False

    @property
    def label(self) -> str:
        """T_name, or T_rpc_name."""
        return f"T_{'rpc_' if self.rpc else ''}{self.name}"


def invocations(system: FileSystem, operation: str) -> list[Invocation]:
    """Those of one operation in the order of the tree; equal ones are told once, counts added."""
    client = next(role.name for role in system.roles if role.kind == "client")
    tree = system.operations[operation]
    outermost = frozenset(step_names(tree))
    found: dict[tuple[str, bool, sympy.Expr], Invocation] = {}
    for site in _sites(tree, client, sympy.Integer(1), outermost):
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


NONE: frozenset[str] = frozenset()


def _sites(
    node: Node, role: str, count: sympy.Expr, outermost: frozenset[str] = NONE
) -> Iterator[_Site]:
    """The first invocations below `node`; `outermost`: what a client's program calls."""
    if _is_invoked(node) or (node.name and node.name in outermost):
        yield _Site(node, node.name, role, count)
    elif isinstance(node, Repeat):
        yield from _sites(node.body, role, count * node.count, outermost)
    elif isinstance(node, Choice):
        for share, branch in node.branches:
            yield from _sites(branch, role, count * share, outermost)
    elif isinstance(node, Seq):
        found = [site for step in node.steps for site in _sites(step, role, count, outermost)]
        if len(found) == 1 and isinstance(found[0].node, Call) and found[0].node in node.steps:
            # What a caller does around its message is part of asking.
            yield replace(found[0], node=node)
        else:
            yield from found


def _is_invoked(node: Node) -> bool:
    if isinstance(node, Call):
        return not node.one_way
    return bool(node.name) and isinstance(node, Seq)


def _of_site(site: _Site) -> Iterator[Invocation]:
    """One invocation and what it invokes."""
    node, role = site.node, site.role
    named = isinstance(node, Seq) and node.name
    nested = (
        [one for step in node.children() for one in _sites(step, role, sympy.Integer(1))]
        if named
        else []
    )
    rest = _without(node, {id(one.node) for one in nested})
    yield Invocation(
        site.name,
        site.count,
        formula("", rest, role).expanded(),
        _roles(rest, role),
        _roles(node, role),
        rpc=not named,
    )
    for inner in nested:
        yield from _of_site(replace(inner, count=site.count * inner.count))


def _without(node: Node, removed: set[int]) -> Node:
    """The tree without some of its nodes."""
    if id(node) in removed:
        return Seq("", ())
    if isinstance(node, Seq):
        return Seq(node.name, tuple(_without(step, removed) for step in node.steps))
    if isinstance(node, Repeat):
        return replace(node, body=_without(node.body, removed))
    if isinstance(node, Choice):
        ways = tuple((share, _without(branch, removed)) for share, branch in node.branches)
        return Choice(node.name, ways)
    return node


def _roles(node: Node, role: str) -> frozenset[str]:
    """Roles that take part in a tree started at `role`."""
    found = {role}
    for one in walk(node):
        if isinstance(one, Call):
            found.add(one.role)
        elif isinstance(one, Use):
            found.add(one.resource.role)
    return frozenset(found)


def of_count(response_s: sympy.Expr) -> sympy.Expr:
    """Work of `count` operations, (5) and (11): a serial server needs count times the UNLOADED T.

    A loaded T already holds the queue, so it must not be multiplied (errata W10).
    """
    return symbol("count") * response_s
