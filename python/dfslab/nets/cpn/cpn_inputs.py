"""Reads the input arcs of a transition in a `.cpn` file. A pattern on an arc binds names to parts
of a token. An expression on an arc states a value that a part of a token must have.

If several arcs bind the same name, the guard of the transition requires that the bound parts are
equal.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dfslab.nets.build import Local
from dfslab.nets.cpn.cpn_declarations import Declarations
from dfslab.nets.cpn.cpn_evaluate import Evaluator
from dfslab.nets.cpn.cpn_match import equal, matched
from dfslab.nets.cpn.cpn_ml import Tree, free_names, names_of, parse
from dfslab.nets.cpn.cpn_values import (
    INT,
    REAL,
    Bag,
    Closure,
    CpnValue,
    Leaf,
    Rec,
    Struct,
    clean,
    element_of,
    flat,
    kind_of,
    made_of,
    words,
)
from dfslab.spec.input_error import InputError

WEIGHT_MOST, CHOICES_MOST = 1_000, 1_000
NAME = re.compile(r"[A-Za-z_]\w*")
# Names with a meaning in the engine's language.
RESERVED = ("turn", "true", "false")
COUNT_KNOWN = "an input arc takes a number of tokens that is known; use two transitions with guards"


@dataclass(frozen=True)
class FileArc:
    """An arc of a file. `place` is the name of its place in the flat net, `colour` is the colour
    set of the place, and `kind` is the arc's orientation as in the file."""

    transition: str
    place: str
    colour: str
    kind: str
    text: str
    context: str


@dataclass(frozen=True)
class Taken:
    """A token that the transition takes: its place, and the variable that is bound to it."""

    place: str
    variable: str


@dataclass(frozen=True)
class Wanted:
    """A condition that a part of a token must equal an expression.

    `whole` is true if the expression is an entire term on the arc, such as `f(x)`. The value of
    such an expression may also be a multiset of several tokens.
    """

    arc: FileArc
    expression: Tree
    part: CpnValue
    whole: bool


class Inputs:
    """Reads the input arcs of a transition, and has the values that these arcs give to names."""

    def __init__(self, name: str, page: str, known: Declarations, context: str) -> None:
        self.name, self.page, self.known, self.context = name, page, known, context
        self.colours = known.colours
        self.env: dict[str, CpnValue] = {}
        self.conditions: list[str] = []
        self.taken: list[Taken] = []
        self.locals: list[Local] = []
        self.free: list[tuple[str, str, list[CpnValue]]] = []
        self.wanted: list[Wanted] = []

    def evaluator(self, context: str) -> Evaluator:
        """Returns the evaluator of the text of this transition that `context` names."""
        return self.known.evaluator.reading(context, self.unbound())

    def parsed(self, arc: FileArc) -> Tree:
        """Returns the syntax tree of an arc's inscription."""
        return parse(arc.text or "()", arc.context)

    def terms(self, tree: Tree, context: str) -> Iterator[Tree]:
        """Yields the terms of a multiset. A term with a count, such as `` 2`x ``, is yielded as
        many times as the count states. Raises InputError if a count is not a known number."""
        if tree.kind == "empty":
            return
        if tree.kind == "sum":
            for one in tree.parts:
                yield from self.terms(one, context)
            return
        if tree.kind in ("if", "case"):
            raise InputError(
                context, tree.kind, "on an input arc is not read; use two transitions with guards"
            )
        if tree.kind != "many":
            yield tree
            return
        count = self.evaluator(context).leaf(tree.parts[0], self.env, (INT,), "a count")
        if not count.known or count.constant < 0:
            raise InputError(context, count.text, COUNT_KNOWN)
        if count.constant > WEIGHT_MOST:
            raise InputError(context, count.constant, f"an arc moves at most {WEIGHT_MOST} tokens")
        yield from (tree.parts[1] for _ in range(count.constant))

    def take(self, arc: FileArc) -> None:
        """Reads the inscription of an input arc and binds the names in its patterns. The
        expressions of the inscription are only collected; they are compared with the tokens when
        all arcs have been read."""
        tree = self.parsed(arc)
        if tree.kind == "at" or (tree.kind == "stamp" and tree.parts[1] != Tree("int", "0")):
            raise InputError(
                arc.context,
                arc.text[:60],
                "delays on input arcs are not read; let the arc that makes the token wait less",
            )
        for term in self.terms(tree, arc.context):
            self.bind(term, arc)

    def unbound(self) -> str:
        """Returns the reason that the error message gives for a name that no input arc binds."""
        bound = ", ".join(self.env) or "none"
        return f"is bound by no input arc, nor is it declared (bound: {bound})"

    def bind(self, term: Tree, arc: FileArc) -> None:
        """Adds a token that the transition takes through an arc. Binds the names in the pattern
        `term` to the parts of the token."""
        kind = self.colours.sets[arc.colour].kind
        variable = self.token_name(term, arc)
        labels = [label for label, _ in flat(kind)]
        texts = (f"{variable}.{label}" for label in labels)
        token = made_of(kind, texts, variable if isinstance(kind, Struct) else "")
        self.taken.append(Taken(arc.place, variable))
        self.fit(term, token, arc)

    def token_name(self, term: Tree, arc: FileArc) -> str:
        """Returns the name of the token that an arc takes. The name consists of the variables in
        the arc's pattern, such as `n_s` for `(n, s)`. If this name has another meaning, the name is
        `t` and a number."""
        names = [one for one in names_of(self.holed(term, [])) if self.is_variable(one)]
        name = "_".join(map(clean, dict.fromkeys(names)))
        used = {*self.known.constants, *self.colours.enums, *RESERVED, *self.token_names()}
        if not names:
            return self.numbered_name()
        if term.kind == "name":
            own = name not in self.env and self.has_colour(term.word, arc.colour)
        else:
            own = name not in self.known.variables or len(names) == 1
        if own and name not in used and NAME.fullmatch(name):
            return name
        return self.numbered_name()

    def token_names(self) -> set[str]:
        """Returns the names of the tokens that the transition takes."""
        return {one.variable for one in self.taken}

    def numbered_name(self) -> str:
        """Returns a name for a token that no other token of the transition has."""
        number = len(self.taken) + 1
        while f"t{number}" in {*self.token_names(), *self.known.variables}:
            number += 1
        return f"t{number}"

    def is_variable(self, name: str) -> bool:
        """Returns whether a name is a declared variable and not a constructor."""
        return name in self.known.variables and name not in self.known.evaluator.constructors

    def has_colour(self, name: str, colour: str) -> bool:
        """Returns whether a declared variable has the same type as a colour set."""
        declared = self.colours.known(self.known.variables[name], f"var {name}")
        return declared.kind == self.colours.sets[colour].kind

    def holed(self, tree: Tree, holes: list[Tree]) -> Tree:
        """Returns the pattern `tree` with a placeholder for every part that is an expression.
        Appends the replaced parts to `holes`."""
        if tree.kind == "name":
            names = self.is_variable(tree.word) or tree.word in self.known.evaluator.constructors
        elif tree.kind == "apply":
            names = tree.parts[0].word in self.known.evaluator.constructors
            if names:
                return replace(tree, parts=(tree.parts[0], self.holed(tree.parts[1], holes)))
        elif tree.kind in ("tuple", "record", "list", "entry", "as", "typed") or (
            tree.kind == "op" and tree.word == "::"
        ):
            return replace(tree, parts=tuple(self.holed(one, holes) for one in tree.parts))
        else:
            names = tree.kind in ("int", "real", "bool", "str", "any")
        if names:
            return tree
        holes.append(tree)
        return Tree("name", f"?{len(holes) - 1}")

    def fit(self, term: Tree, token: CpnValue, arc: FileArc) -> None:
        """Binds the new names of a pattern to parts of a token. For a name that is already bound,
        adds the condition that the part of the token equals the value of the name."""
        holes: list[Tree] = []
        found = matched(self.holed(term, holes), token, self.evaluator(arc.context))
        if found is None:
            raise InputError(arc.context, arc.text[:60], "fits no token of its place")
        if found.condition is not None:
            self.conditions += split(found.condition)
        for name, value in found.names.items():
            if name[0] == "?":
                expression = holes[int(name[1:])]
                self.wanted.append(Wanted(arc, expression, value, expression is term))
                continue
            self.check_type(name, value, arc)
            if name in self.env:
                self.conditions += split(equal(value, self.env[name], self.evaluator(arc.context)))
            else:
                self.env[name] = value

    def check_type(self, name: str, value: CpnValue, arc: FileArc) -> None:
        """Raises InputError if the type of a value differs from the type with which its variable is
        declared."""
        if name not in self.known.variables:
            return
        declared = self.colours.known(self.known.variables[name], f"var {name}")
        kind = kind_of(value)
        if declared.kind != kind and {declared.kind, kind} != {INT, REAL}:
            raise InputError(
                arc.context,
                name,
                f"is of colour set {declared.name}, {words(declared.kind)}, and cannot be "
                f"{words(kind)} here",
            )

    def compare_wanted(self) -> None:
        """Adds the conditions that parts of tokens equal the collected expressions. The expressions
        may use names that any arc binds. The method must therefore be called after all input arcs
        have been read."""
        for one in self.wanted:
            evaluator = self.evaluator(one.arc.context)
            value = evaluator.value(one.expression, self.env)
            if isinstance(value, Bag) and one.whole:
                self.require_all(one, value)
            elif one.whole:
                self.require(one, value)
            else:
                self.conditions += split(equal(one.part, value, evaluator))

    def require(self, one: Wanted, value: CpnValue) -> None:
        """Adds the condition that a part of a token, given by `one`, equals `value`. Before that,
        `value` is converted to the colour set of the arc's place."""
        fitted = self.colours.fitted(value, one.arc.colour, one.arc.context)
        self.conditions += split(equal(one.part, fitted, self.evaluator(one.arc.context)))

    def require_all(self, one: Wanted, value: Bag) -> None:
        """Makes an arc take all tokens of the multiset `value`.

        The arc already takes one token, which must equal the first token of the multiset. For each
        further token of the multiset, the transition takes one more token. Raises InputError if the
        multiset is empty or too large.
        """
        arc, values = one.arc, list[CpnValue]()
        for entry in value.entries:
            if not entry.count.known or entry.when or entry.each or entry.delay:
                values = self.counted(one)
                break
            values += [entry.value] * entry.count.constant
        if not values or len(values) > WEIGHT_MOST:
            raise InputError(arc.context, len(values), f"an arc takes 1 to {WEIGHT_MOST} tokens")
        self.require(one, values[0])
        kind = self.colours.sets[arc.colour].kind
        for other in values[1:]:
            variable = self.numbered_name()
            self.taken.append(Taken(arc.place, variable))
            labels = (f"{variable}.{label}" for label, _ in flat(kind))
            self.require(replace(one, part=made_of(kind, labels, variable)), other)

    def counted(self, one: Wanted) -> list[CpnValue]:
        """Returns the tokens of a multiset that depends on tokens from other arcs. A function of
        the net computes them as a list.

        The number of tokens must be known while the file is read. To find it, the multiset is
        evaluated for all combinations of values of the names that it uses. Raises InputError if the
        number differs between combinations, or if there are too many combinations.
        """
        names = sorted(name for name in free_names(one.expression) if name in self.env)
        context, counts = one.arc.context, set[int]()
        evaluator = self.evaluator(context)
        choices = [self.colours.members(self.known.variables[name], context) for name in names]
        if math.prod(len(choice) for choice in choices) > CHOICES_MOST:
            raise InputError(context, one.arc.text[:60], COUNT_KNOWN)
        for values in itertools.product(*choices):
            env = dict(zip(names, values, strict=True))
            bag = evaluator.bag(evaluator.value(one.expression, env))
            if not all(entry.count.known and entry.when is None for entry in bag.entries):
                raise InputError(context, one.arc.text[:60], COUNT_KNOWN)
            counts.add(sum(entry.count.constant for entry in bag.entries))
        if len(counts) != 1:
            raise InputError(context, one.arc.text[:60], COUNT_KNOWN)
        pattern = Tree("tuple", "", tuple(Tree("name", name) for name in names))
        clauses = (Tree("clause", "", (pattern, one.expression)),)
        given = Rec(tuple((str(at + 1), self.env[name]) for at, name in enumerate(names)))
        found = evaluator.specialised(evaluator, Closure("tokens", clauses, {}), [given])
        listed = evaluator.bag(found).entries[0].each
        assert listed is not None
        kind = self.colours.sets[one.arc.colour].kind
        return [element_of(f"at({listed.text}, {at})", kind) for at in range(counts.pop())]


def split(condition: Leaf) -> list[str]:
    """Splits a condition at its operators `&&`. Returns the parts as texts; none if the condition
    is always true."""
    if condition.known and condition.constant:
        return []
    return list(condition.conditions or (condition.text,))
