"""Prints the response times of a file system's operations as formulas over its parameters.

A named amount or condition of the description, such as `named("blocks", ...)`, is printed by its
name. Its definition follows once, below the formulas of the operation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace

import sympy
from sympy.printing.str import StrPrinter

from dfslab.models.tree.formula import FormulaPart, shared_formulas
from dfslab.models.tree.invocations import ClientCall, Invocation, dependences, taken_apart
from dfslab.report.description import paper_order
from dfslab.report.diagrams.legend import named_parts
from dfslab.spec.steps.expression import ZERO, Condition, Expr, symbol, sympify
from dfslab.spec.steps.node import Node, Resource, walk
from dfslab.spec.systems.filesystem import FileSystem

# Largest length of a line in characters. Longer lines are broken between the terms of a sum or the
# arguments of a function.
WIDTH = 80
INDENT = "    "
# Integers from this one on are printed as powers of ten if they have few digits: 2.5e9.
LONG_NUMBER = 10**6


def formulas(system: FileSystem, operations: Sequence[str] = ()) -> str:
    """Returns the response times of the named operations as text. Times are in seconds, sizes in
    bytes, rates in units per second.

    For each operation, the text has:
    - the response time as a sum over the calls of the client's program, and over all invocations,
    - the time of each invocation: the parameters that determine it, and its formula,
    - a formula for each step that these formulas use,
    - the definitions of the names that these formulas use.

    The terms of each sum over calls and invocations are in the order of their execution.

    If `operations` is empty, all operations are included.
    """
    lines: list[str] = [
        f"Response times of {system.title}, unloaded, on distinct nodes",
        "T_t_x: time of the whole operation x. T_x: time of step x with the steps that it",
        "invokes. T_x_self: without them.",
        "f(Dp8): depends on Dp8; dfslab show filesystem NAME --as table names it.",
        "[condition] is 1 where the condition holds, else 0.",
        "A processor time of t s at 2.5 GHz takes 2.5e9*t/x.frequency at role x.",
        "count operations on a serial server take count*T_t; for clients at the same",
        "time, with their waits, see dfslab predict.",
        "",
    ]
    for name in operations or system.operations:
        printed = [part for line in _of_operation(system, name) for part in broken(line)]
        lines += [*printed, ""]
    return "\n".join(lines)


def _of_operation(system: FileSystem, operation: str) -> list[str]:
    """Returns the formulas of one operation as lines, before long lines are broken."""
    names = Names(system.operations[operation], {one.key for one in system.parameters})
    tree = rewritten(system.operations[operation], names.printed)
    found, calls = taken_apart(replace(system, operations={operation: tree}), operation)
    lines = _sums(operation, found, calls)
    times, steps = shared_formulas(
        [FormulaPart(one.name, one.tree, one.role) for one in found],
        [*(one.label for one in found), *(f"T_{call.name}" for call in calls)],
    )
    for one, time in zip(found, times, strict=True):
        lines += [_arguments(system, operation, one), f"{INDENT}= {_plain(time)}"]
    lines += [f"  {step} = {_plain(of)}" for step, of in steps]
    definitions = {one: _plain(sympify(of)) for one, of in names.definitions().items()}
    used = _mentioned(lines, definitions)
    return lines + [f"  {one} = {text}" for one, text in definitions.items() if one in used]


def _sums(operation: str, found: Sequence[Invocation], calls: Sequence[ClientCall]) -> list[str]:
    """Returns the response time of an operation as lines: the sum over the client's calls, the sum
    over all invocations, and the time of each call that has a symbol and invokes others.

    A call has no symbol if another call or an invocation has its name. The sum over the calls then
    has the invocations of this call instead."""
    whole = _sum((one.count, one.label) for one in found)
    names = Counter(call.name for call in calls)
    labels = {one.label for one in found}
    terms: list[tuple[sympy.Expr, str]] = []
    lines: list[str] = []
    for call in calls:
        own, printed = _sum((count, one.label) for count, one in call.parts), f"T_{call.name}"
        if own and own != printed and names[call.name] == 1 and printed not in labels:
            terms.append((call.count, printed))
            lines.append(f"  {printed} = {own}")
        else:
            terms += [(call.count * count, one.label) for count, one in call.parts]
    outer = _sum(terms)
    if outer != whole:
        lines.insert(0, f"  = {whole}")
    return [f"T_t_{operation} = {outer}", *lines]


def _sum(terms: Iterable[tuple[sympy.Expr, str]]) -> str:
    """Returns the text of a sum of counted times, in the given order. Counts of equal times are
    added."""
    counts: dict[str, sympy.Expr] = {}
    for count, label in terms:
        counts[label] = counts.get(label, sympy.Integer(0)) + count
    return " + ".join(_counted(count, label) for label, count in counts.items())


def _counted(count: sympy.Expr, label: str) -> str:
    if count == 1:
        return label
    text = _plain(count)
    return f"({text})*{label}" if isinstance(count, sympy.Add) else f"{text}*{label}"


def _arguments(system: FileSystem, operation: str, one: Invocation) -> str:
    """Returns the line with the ids of the parameters that determine an invocation's time."""
    own = dependences(system, operation, one, whole=False)
    whole = dependences(system, operation, one, whole=True)
    more = f"; with what it invokes {_ids(whole)}" if whole != own else ""
    return f"  {one.label} = f({_ids(own)}){more}"


def _ids(ids: set[str]) -> str:
    return ", ".join(sorted(ids, key=paper_order))


class Names:
    """The printed names of the named amounts and conditions of one operation tree.

    Two different amounts with one name get different printed names: blocks and blocks_2. A name
    that is also the key of a parameter (one of `reserved`) is numbered, too.
    """

    def __init__(self, tree: Node, reserved: set[str]) -> None:
        self._labels: dict[Expr, str] = {}
        taken = set(reserved)
        for node in walk(tree):
            for expression in node.expressions():
                for one in named_parts(expression):
                    if one not in self._labels and not one.operands[0].is_leaf:
                        self._labels[one] = _free(one.key, taken)
                        taken.add(self._labels[one])

    def printed(self, value: Expr) -> Expr:
        """Returns a copy of the expression in which a symbol replaces each named part. A named
        condition becomes `symbol > 0`, which is printed as the symbol alone."""
        if not isinstance(value, Expr) or value.is_leaf:
            return value
        if value in self._labels:
            label = symbol(self._labels[value])
            return label > ZERO if isinstance(value, Condition) else label
        if value.name == "named":
            return self.printed(value.operands[0])
        return type(value)(value.name, *map(self.printed, value.operands))

    def definitions(self) -> dict[str, Expr]:
        """Returns the amount or condition that each printed name stands for, in the order of the
        tree. A definition may contain other printed names."""
        return {label: self.printed(one.operands[0]) for one, label in self._labels.items()}


def _free(name: str, taken: set[str]) -> str:
    """Returns `name` if it is not in `taken`, otherwise the first of name_2, name_3, ... that is
    not in `taken`."""
    label, number = name, 2
    while label in taken:
        label, number = f"{name}_{number}", number + 1
    return label


def _mentioned(lines: Sequence[str], definitions: Mapping[str, str]) -> set[str]:
    """Returns the names that `lines` mention, directly or through the definition of a mentioned
    name. `definitions` has the formula of each name as text."""
    found: set[str] = set()
    texts = list(lines)
    while texts:
        words = set(re.findall(r"\w+", texts.pop()))
        for name in words & definitions.keys() - found:
            found.add(name)
            texts.append(definitions[name])
    return found


def broken(line: str, width: int = WIDTH) -> list[str]:
    """Breaks a line of a formula into lines of at most `width` characters. All lines but the first
    are indented further. A piece without a place to break stays longer.

    A line can be broken before an operator or after a comma, beyond the first third of `width`. Of
    these places, those inside the fewest brackets are preferred, and the last of them is chosen.
    """
    lines: list[str] = []
    rest = line
    indent = re.match(" *", line).group() + 2 * INDENT  # type: ignore[union-attr]
    while len(rest) > width:
        start = len(indent) if lines else line.find("= ") + 2
        places = (
            _break_places(rest, max(start, width // 3), width)
            or _break_places(rest, start, len(rest))[:1]
        )
        if not places:
            break
        fewest = min(depth for _, depth in places)
        place = max(place for place, depth in places if depth == fewest)
        lines.append(rest[:place].rstrip())
        rest = indent + rest[place:].lstrip()
    return [*lines, rest]


def _break_places(text: str, first: int, last: int) -> list[tuple[int, int]]:
    """Returns the positions from `first` to `last` at which a line of the text may end, each with
    the number of brackets that are open there."""
    found, depth = [], 0
    for place, character in enumerate(text[: last + 1]):
        if character == " " and first < place:
            before, after = text[:place], text[place + 1 :]
            if before.endswith(",") or after.startswith(_OPERATORS):
                found.append((place, depth))
        depth += (character in "([") - (character in ")]")
    return found


_OPERATORS = ("+ ", "- ", "and ", "or ", "if ", "else ")


class _Printer(StrPrinter):
    """SymPy's text printer, extended by Iverson brackets for conditions: [cold] is 1 if the
    condition "cold" holds, else 0."""

    def _print_Piecewise(self, expr: sympy.Piecewise) -> str:  # noqa: N802
        first, other = expr.args
        then, holds, otherwise = first.expr, first.cond, other.expr
        if then == 1 and otherwise == 0:
            return f"[{self.condition(holds)}]"
        return f"({self._print(then)} if {self.condition(holds)} else {self._print(otherwise)})"

    def _print_Integer(self, expr: sympy.Integer) -> str:  # noqa: N802
        text = str(expr)
        value = int(text)
        short = f"{value:.2e}"
        if abs(value) < LONG_NUMBER or float(short) != value:
            return text
        digits, exponent = short.split("e")
        return f"{float(digits):g}e{int(exponent)}"

    def _print_Min(self, expr: sympy.Min) -> str:  # noqa: N802
        return f"min({', '.join(map(self._print, expr.args))})"

    def _print_Max(self, expr: sympy.Max) -> str:  # noqa: N802
        return f"max({', '.join(map(self._print, expr.args))})"

    def condition(self, holds: sympy.Basic) -> str:
        """Returns the text of a condition.

        A switch (a parameter that is compared with 0) is printed by its name alone.
        """
        if isinstance(holds, sympy.And | sympy.Or):
            word = " and " if isinstance(holds, sympy.And) else " or "
            return word.join(map(self._bracketed, holds.args))
        if isinstance(holds, sympy.Not):
            return f"not {self._bracketed(holds.args[0])}"
        if isinstance(holds, sympy.ITE):
            test, then, otherwise = map(self.condition, holds.args)
            return f"({then} if {test} else {otherwise})"
        left, right = holds.args
        if left.is_Symbol and right == 0:
            return str(left) if isinstance(holds, sympy.StrictGreaterThan) else f"not {left}"
        return str(self._print(holds))

    def _bracketed(self, holds: sympy.Basic) -> str:
        joined = isinstance(holds, sympy.And | sympy.Or)
        return f"({self.condition(holds)})" if joined else self.condition(holds)


def _plain(expression: sympy.Basic) -> str:
    printer = _Printer({"order": None})
    amount = isinstance(expression, sympy.Expr)
    text: str = printer.doprint(expression) if amount else printer.condition(expression)
    return text.replace("ceiling", "ceil")


def rewritten(node: Node, change: Callable[[Expr], Expr]) -> Node:
    """Returns a copy of the tree in which each expression is replaced by the result of `change`."""

    def copied(value: object) -> object:
        if isinstance(value, Expr):
            return change(value)
        if isinstance(value, tuple):
            return tuple(map(copied, value))
        if isinstance(value, Node | Resource):
            given = {one.name: copied(vars(value)[one.name]) for one in fields(value)}
            return type(value)(**given)  # type: ignore[arg-type]
        return value

    copy = copied(node)
    assert isinstance(copy, Node)
    return copy
