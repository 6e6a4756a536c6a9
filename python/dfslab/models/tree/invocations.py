"""Expresses an operation's response time as a sum over invocations (Wu 2013): for each invocation,
the number of its executions times the time of one execution.

An invocation is a call of the client's program (an outermost named step), a message with an answer,
or a named sequence. If an unnamed sequence contains one message, the caller's work in the sequence
belongs to the message. All other time is the self time of the invocation that contains it. The
response time T is therefore the sum of count * self time, and no time is counted twice. This is the
corrected reading of Wu's equations (1) and (6).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import sympy

from dfslab.models.tree.formula import formula, indicator
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
    step_names,
    walk,
)
from dfslab.spec.systems.filesystem import FileSystem

# Wu's parameters (2013, section 3.1) on which the time of a message depends. For each end of the
# message, the parameters follow from the kind of the role at this end.
OF_NODES = {"client": {"Dp8"}, "data": {"Dp7"}, "metadata": {"Dp4", "Dp5", "Dp6"}}
OF_MESSAGES = {"Dp9"}
OF_DATA = {"block_size": "Dap1", "file_size": "Dap2"}


@dataclass(frozen=True)
class Invocation:
    """One invocation of an operation, which is executed `count` times.

    - `own`: the self time of one execution in seconds.
    - `rpc`: whether the invocation is a message, which may have the name of a client call.
    - `invokes`: whether the invocation has nested invocations.
    - `takes_part`: the roles involved in the self time.
    - `whole`: the roles involved in the total time.
    - `number`: distinguishes invocations with equal names but different times, such as reading a
      block as a whole or in parts. The first in tree order has 1.
    - `tree`: what one execution does itself. `role` executes it.
    """

    name: str
    count: sympy.Expr
    own: sympy.Expr
    takes_part: frozenset[str]
    whole: frozenset[str]
    tree: Node
    role: str
    rpc: bool = False
    invokes: bool = False
    number: int = 1

    @property
    def label(self) -> str:
        """The symbol of the invocation's time: T_name, or T_rpc_name for a message. "_2" follows
        the name of the second invocation with this name. "_self" follows if the invocation has
        nested invocations."""
        name = self.name if self.number == 1 else f"{self.name}_{self.number}"
        return f"T_{'rpc_' if self.rpc else ''}{name}{'_self' if self.invokes else ''}"


@dataclass(frozen=True)
class ClientCall:
    """A call of the client's program, which is executed `count` times.

    `parts` has the invocations of one execution: the call itself and the nested invocations, each
    with its number of executions.
    """

    name: str
    count: sympy.Expr
    parts: tuple[tuple[sympy.Expr, Invocation], ...]


def invocations(system: FileSystem, operation: str) -> list[Invocation]:
    """Returns the invocations of one operation in tree order. Equal invocations are merged and
    their counts added.
    """
    return taken_apart(system, operation)[0]


def taken_apart(system: FileSystem, operation: str) -> tuple[list[Invocation], list[ClientCall]]:
    """Returns the invocations of one operation as `invocations` does, and the calls of the client's
    program that they belong to, both in tree order."""
    client = next(role.name for role in system.roles if role.kind == "client")
    tree = system.operations[operation]
    outermost = frozenset(step_names(tree))
    found: dict[_Key, Invocation] = {}
    calls: list[tuple[_Site, list[Invocation]]] = []
    for site in _Sites(outermost).visit(tree, (client, sympy.Integer(1))):
        made = [one for one in _of_site(replace(site, count=sympy.Integer(1))) if one.own != 0]
        calls.append((site, made))
        for each in made:
            one = replace(each, count=site.count * each.count)
            key = _key(one)
            found[key] = _merged(found[key], one) if key in found else one
    called = {one.name for one in found.values() if not one.rpc}
    left = [replace(one, rpc=one.rpc and one.name in called) for one in found.values()]
    labelled = dict(zip(found, _numbered(left), strict=True))
    return list(labelled.values()), [
        ClientCall(site.name, site.count, tuple((one.count, labelled[_key(one)]) for one in made))
        for site, made in calls
    ]


_Key = tuple[str, bool, sympy.Expr]


def _key(one: Invocation) -> _Key:
    """Returns what two invocations have in common if they are equal."""
    return one.name, one.rpc, one.own


def _numbered(found: list[Invocation]) -> list[Invocation]:
    counts: Counter[str] = Counter()
    made = []
    for one in found:
        counts[one.label] += 1
        made.append(replace(one, number=counts[one.label]))
    return made


def _merged(first: Invocation, second: Invocation) -> Invocation:
    return replace(
        first,
        count=first.count + second.count,
        whole=first.whole | second.whole,
        takes_part=first.takes_part | second.takes_part,
    )


def dependences(system: FileSystem, operation: str, one: Invocation, *, whole: bool) -> set[str]:
    """Returns Wu's ids of the parameters on which an invocation's time depends. These parameters
    are the arguments of f_i in Wu 2013, equations (2) to (4) and (7) to (10).

    The time is the total time if `whole` is true, otherwise the self time. As in the paper, a
    message depends on the adapters (and queues) at its ends and on the latency between them. An
    invocation that transfers data also depends on the data parameters (Dap1, Dap2).
    """
    roles = one.whole if whole else one.takes_part
    ids = set[str]().union(*(OF_NODES[system.role(role).kind] for role in roles))
    if len(roles) > 1:
        ids |= OF_MESSAGES
    acting = system.acting(operation)
    return ids | {paper for key, paper in OF_DATA.items() if key in acting}


@dataclass(frozen=True)
class _Site:
    """A node of an operation tree that is an invocation, which `role` executes `count` times."""

    node: Node
    name: str
    role: str
    count: sympy.Expr


class _Sites(Visitor[tuple[str, sympy.Expr], list[_Site]]):
    """Finds the outermost invocations at or below a node. `where` is (calling role, number of times
    that the node is executed).

    `outermost` has the names of the client program's calls to look for. Asynchronous work, pipeline
    stages and branches that differ from each other are not searched. Such nodes belong to the
    invocation that contains them.
    """

    def __init__(self, outermost: frozenset[str] = frozenset()) -> None:
        self._outermost = outermost

    def visit(self, node: Node, where: tuple[str, sympy.Expr]) -> list[_Site]:
        """Returns the node itself if it is an invocation, else the invocations below it."""
        if _is_invoked(node) or (node.name and node.name in self._outermost):
            return [_Site(node, node.name, *where)]
        return node.accept(self, where)

    def repeat(self, node: Repeat, where: tuple[str, sympy.Expr]) -> list[_Site]:
        role, count = where
        return self.visit(node.body, (role, count * node.count))

    def part(self, node: PartialWork, where: tuple[str, sympy.Expr]) -> list[_Site]:
        role, count = where
        return self.visit(node.body, (role, count * node.share))

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
            # If the sequence has only one message, the caller's work around the message belongs to
            # the message.
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
        # Only equal copies are searched: they take the time of one copy. If branches differ, it is
        # not known in advance which of them takes the longest.
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
    """Yields the invocation at the node of `site`, then the invocations nested in it. Only a named
    sequence has nested invocations."""
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
        rest,
        role,
        rpc=not named,
        invokes=bool(nested),
    )
    for inner in nested:
        yield from _of_site(replace(inner, count=site.count * inner.count))


class _Without(Visitor[None, Node]):
    """Copies a tree without the nodes whose Python ids are in `removed`."""

    def __init__(self, removed: set[int]) -> None:
        self._removed = removed

    def visit(self, node: Node, where: None) -> Node:
        """Returns an empty node if `node` is removed, else a copy of `node`."""
        return Seq("", ()) if id(node) in self._removed else node.accept(self, None)

    def seq(self, node: Seq, where: None) -> Node:
        return Seq(node.name, tuple(self.visit(step, None) for step in node.steps))

    def repeat(self, node: Repeat, where: None) -> Node:
        return replace(node, body=self.visit(node.body, None))

    def part(self, node: PartialWork, where: None) -> Node:
        return replace(node, body=self.visit(node.body, None))

    def choice(self, node: Choice, where: None) -> Node:
        ways = tuple((share, self.visit(branch, None)) for share, branch in node.branches)
        return Choice(node.name, ways)

    def either(self, node: Either, where: None) -> Node:
        other = None if node.otherwise is None else self.visit(node.otherwise, None)
        return replace(node, then=self.visit(node.then, None), otherwise=other)

    def par(self, node: Par, where: None) -> Node:
        return replace(node, steps=tuple(self.visit(step, None) for step in node.steps))

    # Nodes of these types are not searched for invocations, so nothing is removed from them.

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
    """Returns the roles that take part in executing a tree. The execution starts at `role`."""
    return frozenset({role, *(one.acting for one in walk(node) if one.acting)})
