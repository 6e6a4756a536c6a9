"""Derives the response time of an operation as a formula over the parameters of its tree.

Each named step becomes a symbol T_step with a separate definition, as in Wu 2013, equations (1) and
(6). Parallel branches become Max. Asynchronous work adds no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import sympy

from dfslab.spec.steps.expression import Condition, Expr, symbolic_amount, sympify
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
)
from dfslab.spec.systems.parameters import symbol


@dataclass
class Formula:
    """The response time of an operation as a formula.

    `total` is an expression over the symbols of steps. `steps` lists the symbol and the expression
    of each step, in the order of the tree.
    """

    name: str
    total: sympy.Expr
    steps: list[tuple[sympy.Symbol, sympy.Expr]] = field(default_factory=list)

    def expanded(self) -> sympy.Expr:
        """Returns the total with all step symbols replaced by their definitions: a formula over
        parameters only.
        """
        definitions = dict(self.steps)
        expression = self.total
        while expression.free_symbols & definitions.keys():
            expression = expression.xreplace(definitions)
        return expression


def indicator(condition: Condition) -> sympy.Expr:
    """Returns an expression that is 1 where a condition holds, else 0 (Iverson's bracket)."""
    return sympy.Piecewise((sympy.Integer(1), sympify(condition)), (sympy.Integer(0), True))


class _FormulaReader(Visitor[str, sympy.Expr]):
    """Derives the latency of a tree without waits as a formula, with every role on a dedicated
    host. Its values must agree with the numbers of models/tree/reader.py.

    `reserved` has names of symbols that no step gets. A step whose name is `inlined` gets no symbol
    either: its time is written out where the step is used.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self.steps: list[tuple[sympy.Symbol, sympy.Expr]] = []
        self.inlined = ""
        self._taken: dict[str, str] = dict.fromkeys(reserved, "")

    def visit(self, node: Node, where: str) -> sympy.Expr:
        """Returns the latency of `node`, which starts at the role `where`. A named step becomes a
        symbol.
        """
        if isinstance(node, Later):
            return self.later(node, where)
        if not node.name or node.name == self.inlined:
            return symbolic_amount(node.accept(self, where))
        place, label = len(self.steps), self._reserve(node.name)
        expression = symbolic_amount(node.accept(self, where))
        for known, definition in self.steps:
            if definition == expression and self._taken.get(str(known)) == node.name:
                del self._taken[label]
                return known
        own = sympy.Symbol(label, nonnegative=True)
        self.steps.insert(place, (own, expression))
        return own

    def _reserve(self, name: str) -> str:
        """Returns a unique symbol name: T_name, or T_name_2 and so on if another step has that
        name.
        """
        label, number = f"T_{name}", 2
        while label in self._taken:
            label, number = f"T_{name}_{number}", number + 1
        self._taken[label] = name
        return label

    def use(self, node: Use, where: str) -> sympy.Expr:
        return symbolic_amount(node.demand_s)

    def hold(self, node: Hold, where: str) -> sympy.Expr:
        return self.visit(node.body, node.resource.role)

    def delay(self, node: Delay, where: str) -> sympy.Expr:
        return symbolic_amount(node.seconds)

    def at(self, node: At, where: str) -> sympy.Expr:
        return self.visit(node.body, node.role)

    def call(self, node: Call, where: str) -> sympy.Expr:
        out = _message(where, node.role, node.request_bytes)
        back = 0 if node.one_way else _message(node.role, where, node.response_bytes)
        return out + self.visit(node.body, node.role) + back

    def seq(self, node: Seq, where: str) -> sympy.Expr:
        return sympy.Add(*[self.visit(step, where) for step in node.steps])

    def par(self, node: Par, where: str) -> sympy.Expr:
        return _largest([self.visit(step, where) for step in node.steps])

    def repeat(self, node: Repeat, where: str) -> sympy.Expr:
        return node.count * self.visit(node.body, where)

    def part(self, node: PartialWork, where: str) -> sympy.Expr:
        return node.share * self.visit(node.body, where)

    def choice(self, node: Choice, where: str) -> sympy.Expr:
        return sympy.Add(*[p * self.visit(branch, where) for p, branch in node.branches])

    def either(self, node: Either, where: str) -> sympy.Expr:
        then = indicator(node.condition) * self.visit(node.then, where)
        if node.otherwise is None:
            return then
        return then + indicator(~node.condition) * self.visit(node.otherwise, where)

    def later(self, node: Later, where: str) -> sympy.Expr:
        return sympy.Integer(0)

    def pipeline(self, node: Pipeline, where: str) -> sympy.Expr:
        first: sympy.Expr = sympy.Integer(0)
        stages: list[sympy.Expr] = []
        role = where
        for stage in node.stages:
            count = stage.count if isinstance(stage, Repeat) else sympy.Integer(1)
            body = stage.body if isinstance(stage, Repeat) else stage
            time = self.visit(body, role)
            first += count * time
            stages.append(self._busy(body, role, time))
            role = lands_at(body, role)
        return first + (node.units - 1) * _largest(stages)

    def _busy(self, node: Node, role: str, time: sympy.Expr) -> sympy.Expr:
        """Returns the expression for the time that one unit occupies a pipeline stage. For a
        one-way message, the time is max(transfer time without propagation, time of the message's
        body). For any other stage, it is the stage's time `time`."""
        if isinstance(node, Call) and node.one_way:
            wire = _message(role, node.role, node.request_bytes) - symbol("network_latency")
            body = self.visit(node.body, node.role)
            return sympy.Max(wire, body) if body else wire
        if isinstance(node, Seq) and len(node.steps) == 1:
            return self._busy(node.steps[0], role, time)
        return time


def _largest(values: list[sympy.Expr]) -> sympy.Expr:
    return values[0] if len(values) == 1 else sympy.Max(*values, evaluate=False)


def _message(sender: str, receiver: str, size_bytes: Expr) -> sympy.Expr:
    slower = sympy.Min(symbol(f"{sender}.nic_bandwidth"), symbol(f"{receiver}.nic_bandwidth"))
    return symbolic_amount(symbol("network_latency")) + symbolic_amount(size_bytes) / slower


def formula(name: str, tree: Node, client: str = "client") -> Formula:
    """Returns the response time of the operation `name`, whose tree is `tree`, as a formula.
    `client` is the role in which the operation starts.
    """
    reader = _FormulaReader()
    total = reader.visit(tree, client)
    return Formula(name, total, reader.steps)


@dataclass(frozen=True)
class FormulaPart:
    """A part of an operation: the tree `tree`, which `role` executes under the name `name`."""

    name: str
    tree: Node
    role: str


def shared_formulas(
    parts: Sequence[FormulaPart], reserved: Iterable[str]
) -> tuple[list[sympy.Expr], list[tuple[sympy.Symbol, sympy.Expr]]]:
    """Returns the time of each part, and the steps that these times mention. All parts use the same
    symbols of steps, so a step that several parts execute is listed once. No step has a name of
    `reserved`.
    """
    reader = _FormulaReader(reserved)
    times = []
    for part in parts:
        reader.inlined = part.name
        times.append(reader.visit(part.tree, part.role))
    return times, reader.steps
