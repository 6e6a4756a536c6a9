"""Evaluates the functions of monitors in CPN ML: predicates, observers, initial functions and stop
functions.

The argument of a function is a binding element, markings of places, or both. A binding element is
`Page'Transition (instance, {variables})`. Only the size of a marking is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from dfslab.nets.cpn.cpn_evaluate import Evaluator
from dfslab.nets.cpn.cpn_ml import Tree, parse_declaration
from dfslab.nets.cpn.cpn_values import (
    BOOL,
    INT,
    REAL,
    UNKNOWN,
    Bag,
    BagEntry,
    Builtin,
    Closure,
    CpnValue,
    Leaf,
    Plain,
    Rec,
    constant,
    kind_of,
    words,
)
from dfslab.nets.cpn.monitors.subnet import ReadTransition
from dfslab.nets.inscription import DRAW
from dfslab.spec.input_error import InputError

# Placeholder for the value of a token in a marking. Monitors know only the number of tokens, not
# their values.
TOKEN = "a token of a marking"
SIZE_ONLY = "of a marking, monitors read the size only: size mark"
TAG = Plain("binding element")


def marking_of_size(size: Leaf) -> Bag:
    """Returns a marking with a number of tokens whose values are not known."""
    return Bag((BagEntry(Leaf(TOKEN, UNKNOWN), size),))


def binding_element(transition: ReadTransition) -> CpnValue:
    """Returns the binding element of a firing of a transition."""
    word = transition.constructor
    payload = Rec(
        (("1", constant(transition.instance, INT)), ("2", Rec(tuple(transition.values.items()))))
    )
    return Rec((("tag", constant(word, TAG)), (word, payload)), "binding element")


def declare_binding_elements(names: Sequence[str], evaluator: Evaluator) -> None:
    """Declares the names of binding elements as constructors. A pattern that contains such a name
    then compares a value with the constructor instead of binding the name."""
    for name in names:
        evaluator.constructors.add(name)
        evaluator.globals[name] = Builtin(f"union {name}", 1, lambda context, given: given[0])


class MonitorFunction:
    """A function of a monitor. `context` is the text by which error messages name the function."""

    def __init__(self, text: str, context: str, evaluator: Evaluator) -> None:
        self.context, self.evaluator = context, evaluator.reading(context)
        # A transition without variables has an empty record, which CPN ML may write as `{}`.
        text = re.sub(r"\{\s*\}", "()", text).strip().rstrip("; \n")
        declared = parse_declaration(text, context)
        if declared.tree is None or declared.tree.kind != "fun":
            raise InputError(context, text[:60], "is declared as `fun name pattern = value`")
        self.tree = declared.tree.parts[0]
        self.declared = declared.tree

    @property
    def bodies(self) -> list[Tree]:
        """Returns the bodies of the clauses of the function."""
        return [clause.parts[-1] for clause in self.tree.parts]

    def argument(self, element: CpnValue | None, marks: Mapping[str, CpnValue]) -> CpnValue:
        """Returns the argument with which the function is called. A part of the function's pattern
        that names a place gets the marking of this place from `marks`. Any other part gets the
        binding element `element`."""
        patterns = [clause.parts[0] for clause in self.tree.parts]
        pattern = next((one for one in patterns if one.kind != "any"), patterns[0])
        parts = pattern.parts if pattern.kind == "tuple" else (pattern,)
        values = [marks.get(_name(part), element) for part in parts]
        known = [one if one is not None else Rec() for one in values]
        if len(known) == 1 or not parts:
            return known[0] if known else Rec()
        return Rec(tuple((str(at + 1), one) for at, one in enumerate(known)))

    def value(self, element: CpnValue | None, marks: Mapping[str, CpnValue]) -> CpnValue:
        """Returns the value of the monitor's function. `element`: the binding element, or None if
        the monitor has no transitions. `marks`: the marking of each place, by the place's name."""
        evaluator = self.evaluator
        function = evaluator.declared(self.declared, {})[self.tree.word]
        try:
            return evaluator.apply(function, self.argument(element, marks))
        except InputError as error:
            if marks and error.value == "ms_to_list":
                raise InputError(self.context, TOKEN, SIZE_ONLY) from None
            raise

    def leaf(
        self, kinds: tuple[Plain, ...], element: CpnValue | None, marks: Mapping[str, CpnValue]
    ) -> Leaf:
        """Evaluates the function, whose value must be a single value of a type in `kinds`. Raises
        InputError if the value is of another type, or if it depends on the values of tokens of a
        marking."""
        found = self.value(element, marks)
        if not isinstance(found, Leaf) or found.kind not in kinds:
            allowed = " or ".join(words(kind) for kind in kinds)
            raise InputError(self.context, words(kind_of(found)), f"must give {allowed}")
        if TOKEN in found.text:
            raise InputError(self.context, TOKEN, SIZE_ONLY)
        return found

    def optional(self, marks: Mapping[str, CpnValue]) -> float | None:
        """Returns the number n if the function's body is `SOME n`, and None if the body is `NONE`.
        Raises InputError for any other body, or if n is not known before the run."""
        bodies = self.bodies
        body = bodies[0]
        if len(bodies) == 1 and body.kind == "name" and body.word == "NONE":
            return None
        head = body.parts[0] if body.kind == "apply" else body
        if len(bodies) != 1 or head.word != "SOME":
            raise InputError(self.context, head.word or body.kind, "must be NONE or SOME number")
        (clause,) = self.tree.parts
        clause = Tree("clause", "", (*clause.parts[:-1], body.parts[1]))
        number = Closure(self.tree.word, (clause,), self.evaluator.globals)
        found = self.evaluator.apply(number, self.argument(None, marks))
        if not isinstance(found, Leaf) or found.kind not in (INT, REAL) or not found.known:
            raise InputError(self.context, head.word, "must be a number known before the run")
        return float(found.constant)


def _name(pattern: Tree) -> str:
    """Returns the name that a pattern binds, without its type annotation."""
    inner = pattern.parts[0] if pattern.kind == "typed" else pattern
    return inner.word if inner.kind == "name" else ""


def without_draws(drawing: Callable[[], set[str]]) -> Callable[[Leaf, str], Leaf]:
    """Returns a function that removes the mark `draws` from a value. A value with this mark may
    draw at random. The second argument of the returned function is the name, for error messages, of
    the text with the value.

    The function raises InputError if the value really draws at random. Reading the clock is
    allowed. `drawing` returns the names of the net's functions that draw at random.
    """

    def checked(value: Leaf, context: str) -> Leaf:
        if DRAW.search(value.text) or any(f"{name}(" in value.text for name in drawing()):
            reason = "draws at random, which a monitor may not; draw in a code segment of the net"
            raise InputError(context, value.text[:60], reason)
        return Leaf(value.text, value.kind, value.constant)

    return checked


def is_true(value: Leaf) -> bool:
    """Returns whether a condition is known to be true."""
    return value.kind == BOOL and value.known and bool(value.constant)


def is_false(value: Leaf) -> bool:
    """Returns whether a condition is known to be false."""
    return value.kind == BOOL and value.known and not value.constant
