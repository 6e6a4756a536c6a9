"""Derives tables and formulas from a file system's description, that is, from its operation
trees."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy
from sympy.printing.str import StrPrinter

from dfslab.models.tree.formula import formula
from dfslab.models.tree.invocations import dependences, invocations, total
from dfslab.spec import units
from dfslab.spec.steps.expression import Condition, quantities, sympify
from dfslab.spec.steps.node import Call, Later, Node, Use, walk, writes_back
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
    return sorted(rows, key=lambda row: (_order(row.parameter.wu), row.parameter.key))


def _order(wu: str) -> tuple[int, str]:
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
    for node in walk(system.operations[operation]):
        for key in _implied(system, node):
            steps, step = acting.setdefault(key, []), node.name or _nameless(node)
            if step not in steps:
                steps.append(step)
    return acting


def _nameless(node: Node) -> str:
    return "answers" if isinstance(node, Call) and node.answers else "messages"


def _implied(system: FileSystem, node: Node) -> list[str]:
    if isinstance(node, Call):
        client = next(role.name for role in system.roles if role.kind == "client")
        keys = [
            "network_latency",
            "loopback_latency",
            "clients",
            f"{client}.nic_bandwidth",
            f"{node.role}.nic_bandwidth",
            f"{client}.nic_latency",
            f"{node.role}.instances",
        ]
        if system.role(node.role).kind == "metadata":
            # A metadata server answers a lookup from memory, after a wait in its request queue.
            kinds = ("workload", "request_queue", "response_queue", "memory")
            keys += [f"{node.role}.{kind}" for kind in kinds]
        return keys
    if isinstance(node, Later) and writes_back(node):
        # The memory of a role limits its amount of deferred write-back.
        return [f"{one.resource.role}.memory" for one in walk(node.body) if isinstance(one, Use)]
    if isinstance(node, Use) and node.resource.kind == "cpu":
        return [f"{node.resource.role}.{kind}" for kind in ("processors", "cores")]
    return []


def formulas(system: FileSystem, operations: Sequence[str] = ()) -> str:
    """Returns the response times of the named operations as text: for each operation, a formula
    that sums over its invocations and a formula for each step.

    If `operations` is empty, all operations are included.
    """
    lines: list[str] = [
        f"Response times of {system.title}, unloaded, on distinct nodes",
        "T_x is the time of step x including the steps that x invokes; T_x_self excludes them.",
        "[condition] is 1 where the condition holds, else 0.",
        "count operations on a serial server take count * T_t; under load see the queueing answers",
        "",
    ]
    for name in operations or system.operations:
        tree = system.operations[name]
        derived, names = formula(name, tree), _quantities(tree)
        own = [f"T_t_{name} = {_plain(derived.total, names)}"]
        own += _by_invocation(system, name, names)
        own += [f"    {step} = {_plain(of, names)}" for step, of in derived.steps]
        definitions = {
            str(one): _plain(of, {key: value for key, value in names.items() if key != of})
            for of, one in names.items()
        }
        used = _mentioned(own, definitions)
        own += [f"    {one} = {text}" for one, text in definitions.items() if one in used]
        lines += [*own, ""]
    return "\n".join(lines)


def _mentioned(lines: Sequence[str], definitions: Mapping[str, str]) -> set[str]:
    """Returns the names that `lines` mention, directly or through the definition of a mentioned
    name. `definitions` has the formula of each name as text."""
    found: set[str] = set()
    texts = list(lines)
    while texts:
        text = texts.pop()
        for name, definition in definitions.items():
            # A name may be the beginning of a numbered name: "blocks" of "blocks#2". The pattern
            # does not match "blocks" inside "blocks#2".
            if name not in found and re.search(rf"\b{re.escape(name)}(?![\w#])", text):
                found.add(name)
                texts.append(definition)
    return found


def _quantities(tree: Node) -> dict[sympy.Basic, sympy.Symbol]:
    """Returns the named expressions of an operation tree, in the order of the tree. A key is an
    expression, its value the symbol that replaces it in printed formulas.

    Conditions, products, powers and single symbols have no entry.
    """
    found: dict[sympy.Basic, sympy.Symbol] = {}
    for node in walk(tree):
        for expression in node.expressions():
            for name, of in quantities(expression).items():
                if isinstance(of, Condition):
                    continue
                symbolic = sympify(of)
                if not isinstance(symbolic, sympy.Mul | sympy.Pow | sympy.Symbol):
                    taken = sum(str(one).partition("#")[0] == name for one in found.values())
                    own = f"{name}#{taken + 1}" if taken else name
                    found.setdefault(symbolic, sympy.Symbol(own, nonnegative=True))
    return found


def _by_invocation(
    system: FileSystem, operation: str, names: Mapping[sympy.Basic, sympy.Symbol]
) -> list[str]:
    """Returns lines of text: the response time as a sum over invocations, and the ids of the
    parameters that determine how often each invocation occurs."""
    found = invocations(system, operation)
    lines = [f"  = {_plain(total(found), names)}"]
    for one in found:
        own = dependences(system, operation, one, whole=False)
        whole = dependences(system, operation, one, whole=True)
        more = f"; with what it invokes {_ids(whole)}" if whole != own else ""
        lines.append(f"  {one.label} = f({_ids(own)}){more}")
    return lines


def _ids(ids: set[str]) -> str:
    return ", ".join(sorted(ids, key=lambda one: _order(one)))


class _Printer(StrPrinter):
    """SymPy's text printer, extended by Iverson brackets for conditions: [cold] is 1 if the
    condition "cold" holds, else 0."""

    def _print_Piecewise(self, expr: sympy.Piecewise) -> str:  # noqa: N802
        first, other = expr.args
        then, holds, otherwise = first.expr, first.cond, other.expr
        if then == 1 and otherwise == 0:
            return f"[{self._guard(holds)}]"
        return f"({self._print(then)} if {self._guard(holds)} else {self._print(otherwise)})"

    def _guard(self, holds: sympy.Basic) -> str:
        """Returns the text of a condition.

        A switch (a parameter that is compared with 0) is printed by its name alone.
        """
        if isinstance(holds, sympy.And | sympy.Or):
            word = " and " if isinstance(holds, sympy.And) else " or "
            return word.join(map(self._bracketed, holds.args))
        if isinstance(holds, sympy.Not):
            return f"not {self._bracketed(holds.args[0])}"
        if isinstance(holds, sympy.ITE):
            test, then, otherwise = map(self._guard, holds.args)
            return f"({then} if {test} else {otherwise})"
        left, right = holds.args
        if left.is_Symbol and right == 0:
            return str(left) if isinstance(holds, sympy.StrictGreaterThan) else f"not {left}"
        return str(self._print(holds))

    def _bracketed(self, holds: sympy.Basic) -> str:
        joined = isinstance(holds, sympy.And | sympy.Or)
        return f"({self._guard(holds)})" if joined else self._guard(holds)


def _plain(expression: sympy.Basic, names: Mapping[sympy.Basic, sympy.Symbol]) -> str:
    shown = expression.xreplace(dict(names))
    text: str = _Printer({"order": "none"}).doprint(shown)
    return text.replace("ceiling", "ceil")
