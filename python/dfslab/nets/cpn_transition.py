"""One transition of a `.cpn` file: patterns on its arcs become fields, joins and guards of ours.

CPN ML names the parts of a token, `(c, s)`; our inscriptions name the token, `t1.f2`. A name that
stands on several input arcs becomes a condition that those fields are equal.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from dfslab.nets.cpn_declarations import Declarations
from dfslab.nets.cpn_evaluate import EFFECTS_REFUSED, has_effects
from dfslab.nets.cpn_match import equal, matched
from dfslab.nets.cpn_merge import merged
from dfslab.nets.cpn_ml import COMMENT, Tree, conjuncts, free_names, names_of, parse
from dfslab.nets.cpn_values import (
    BOOL,
    INT,
    REAL,
    Bag,
    Closure,
    Entry,
    Leaf,
    Rec,
    Struct,
    Value,
    clean,
    constant,
    draws,
    each_of,
    element_of,
    flat,
    kind_of,
    made_of,
    words,
)
from dfslab.spec.model import InputError

WEIGHT_MOST, CHOICES_MOST = 1_000, 1_000
COUNT_KNOWN = "an input arc takes a number of tokens that is known; use two transitions with guards"
CODE = re.compile(
    r"(?:input\s*(?P<input>\([^)]*\))\s*;?)?\s*(?:output\s*(?P<output>\([^)]*\))\s*;?)?"
    r"\s*(?:action\s*(?P<action>.*))?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Arc:
    """An arc with its place's final name and colour set; `kind` as the file writes it."""

    transition: str
    place: str
    colour: str
    kind: str
    text: str
    context: str


@dataclass(frozen=True)
class Taken:
    """One token taken, and what it is called."""

    place: str
    variable: str


@dataclass(frozen=True)
class Wanted:
    """A part of a token that an expression says; `whole` where it is all of the token."""

    arc: Arc
    expression: Tree
    part: Value
    whole: bool


@dataclass(frozen=True)
class Inscriptions:
    """The texts of a transition besides its arcs."""

    guard: str = ""
    time: str = ""
    code: str = ""


class Transition:
    """What the names of a transition's inscriptions stand for."""

    def __init__(self, name: str, page: str, known: Declarations, context: str) -> None:
        self.name, self.page, self.known, self.context = name, page, known, context
        self.colours, self.evaluator = known.colours, known.evaluator
        self.env: dict[str, Value] = {}
        self.conditions: list[str] = []
        self.taken: list[Taken] = []
        self.locals: list[dict[str, Any]] = []
        self.free: list[tuple[str, str, list[Value]]] = []
        self.wanted: list[Wanted] = []

    def document(
        self, arcs: list[Arc], texts: Inscriptions
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The transition as our documents have it, and the places of its free variables."""
        made: dict[str, Any] = {"name": self.name, "page": self.page}
        guards = conjuncts(texts.guard, f"{self.context}, guard")
        for arc in arcs:
            if arc.kind == "PtoT":
                self.take(arc)
        for kind, key in (("Inhibitor", "inhibit"), ("Reset", "reset")):
            found = [{"place": arc.place} for arc in arcs if arc.kind == kind]
            if found:
                made[key] = found
        guards = self.bound_by_guard(guards)
        outputs = [(arc, self.parsed(arc)) for arc in arcs if arc.kind == "TtoP"]
        code = self.code(texts.code)
        self.bind_free(guards, [tree for _, tree in outputs], code)
        self.compare_wanted()
        self.guard(guards)
        places = [self.free_place(*one) for one in self.free]
        self.evaluator.hoist = self.local
        try:
            self.run_code(code)
            made["in"] = [{"place": one.place, "var": one.variable} for one in self.taken]
            delay = self.delay(texts.time)
            made["out"] = [one for arc, tree in outputs for one in self.puts(arc, tree)]
        finally:
            self.evaluator.hoist = None
        self.finish(made, delay)
        return made, places

    def finish(self, made: dict[str, Any], delay: Leaf | None) -> None:
        """The parts that many transitions do not have."""
        for name, _, _ in self.free:
            made["in"].append({"place": self.free_name(name), "var": clean(name)})
            if delay is not None:
                # The value of a free variable is back at once, so the delay is each arc's own.
                delay = delay if delay.known else self.local(delay)
        if delay is not None and self.free:
            for one in made["out"]:
                own = one.get("delay")
                one["delay"] = delay.text if own is None else f"({delay.text} + {own})"
        elif delay is not None:
            made["delay"] = delay.text
        for name, _, _ in self.free:
            made["out"].append({"place": self.free_name(name), "token": clean(name)})
        if self.conditions:
            made["guard"] = " && ".join(self.conditions)
        if self.locals:
            made["locals"] = self.locals

    # Input arcs.

    def parsed(self, arc: Arc) -> Tree:
        return parse(arc.text or "()", arc.context)

    def terms(self, tree: Tree, context: str) -> Iterator[Tree]:
        """The parts of a multiset as written, each as often as it counts."""
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
        count = self.evaluator.leaf(tree.parts[0], self.env, (INT,), "a count")
        if not count.known or count.constant < 0:
            raise InputError(context, count.text, COUNT_KNOWN)
        if count.constant > WEIGHT_MOST:
            raise InputError(context, count.constant, f"an arc moves at most {WEIGHT_MOST} tokens")
        yield from (tree.parts[1] for _ in range(count.constant))

    def take(self, arc: Arc) -> None:
        """Finds the tokens of an arc; patterns bind names, expressions are compared later."""
        self.evaluator.context = arc.context
        tree = self.parsed(arc)
        if tree.kind == "at" or (tree.kind == "stamp" and tree.parts[1] != Tree("int", "0")):
            raise InputError(
                arc.context,
                arc.text[:60],
                "delays on input arcs are not read; let the arc that makes the token wait less",
            )
        self.evaluator.unknown = self.unbound()
        for term in self.terms(tree, arc.context):
            self.bind(term, arc)

    def unbound(self) -> str:
        bound = ", ".join(self.env) or "none"
        return f"is bound by no input arc, nor is it declared (bound: {bound})"

    def bind(self, term: Tree, arc: Arc) -> None:
        """One token taken, as far as its pattern goes."""
        kind = self.colours.sets[arc.colour].kind
        variable = f"t{len(self.taken) + 1}"
        whole = term.kind == "name" and self.is_variable(term.word) and isinstance(kind, Struct)
        own = clean(term.word) == term.word and term.word not in self.known.constants
        if whole and term.word not in self.env and own and self.has_colour(term.word, arc.colour):
            variable = term.word
        labels = [label for label, _ in flat(kind)]
        texts = (f"{variable}.{label}" for label in labels)
        token = made_of(kind, texts, variable if isinstance(kind, Struct) else "")
        self.taken.append(Taken(arc.place, variable))
        self.fit(term, token, arc)

    def is_variable(self, name: str) -> bool:
        return name in self.known.variables and name not in self.evaluator.constructors

    def has_colour(self, name: str, colour: str) -> bool:
        """Whether a variable's type is that of a colour set."""
        declared = self.colours.known(self.known.variables[name], f"var {name}")
        return declared.kind == self.colours.sets[colour].kind

    def holed(self, tree: Tree, holes: list[Tree]) -> Tree:
        """The pattern with a hole for each part that computes instead of naming."""
        if tree.kind == "name":
            names = self.is_variable(tree.word) or tree.word in self.evaluator.constructors
        elif tree.kind == "apply":
            names = tree.parts[0].word in self.evaluator.constructors
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

    def fit(self, term: Tree, token: Value, arc: Arc) -> None:
        """Binds the names of a pattern that are new; those bound before are compared."""
        holes: list[Tree] = []
        found = matched(self.holed(term, holes), token, self.evaluator)
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
                self.conditions += split(equal(value, self.env[name], self.evaluator))
            else:
                self.env[name] = value

    def check_type(self, name: str, value: Value, arc: Arc) -> None:
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
        """What expressions say of tokens, now that all names are bound."""
        for one in self.wanted:
            self.evaluator.context = one.arc.context
            self.evaluator.unknown = self.unbound()
            value = self.evaluator.value(one.expression, self.env)
            if isinstance(value, Bag) and one.whole:
                self.require_all(one, value)
            elif one.whole:
                self.require(one, value)
            else:
                self.conditions += split(equal(one.part, value, self.evaluator))

    def require(self, one: Wanted, value: Value) -> None:
        """A token equals a value."""
        fitted = self.colours.fitted(value, one.arc.colour, one.arc.context)
        self.conditions += split(equal(one.part, fitted, self.evaluator))

    def require_all(self, one: Wanted, value: Bag) -> None:
        """The tokens of a multiset: the first is there, the others are taken beside it."""
        arc, values = one.arc, list[Value]()
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
            variable = f"t{len(self.taken) + 1}"
            self.taken.append(Taken(arc.place, variable))
            labels = (f"{variable}.{label}" for label, _ in flat(kind))
            self.require(replace(one, part=made_of(kind, labels, variable)), other)

    def counted(self, one: Wanted) -> list[Value]:
        """The tokens of a multiset that depends on names of small colour sets, as many for all
        their values: the elements of a list that a function gives."""
        names = sorted(name for name in free_names(one.expression) if name in self.env)
        context, counts = one.arc.context, set[int]()
        choices = [self.colours.members(self.known.variables[name], context) for name in names]
        if math.prod(len(choice) for choice in choices) > CHOICES_MOST:
            raise InputError(context, one.arc.text[:60], COUNT_KNOWN)
        for values in itertools.product(*choices):
            env = dict(zip(names, values, strict=True))
            bag = self.evaluator.bag(self.evaluator.value(one.expression, env))
            if not all(entry.count.known and entry.when is None for entry in bag.entries):
                raise InputError(context, one.arc.text[:60], COUNT_KNOWN)
            counts.add(sum(entry.count.constant for entry in bag.entries))
        if len(counts) != 1:
            raise InputError(context, one.arc.text[:60], COUNT_KNOWN)
        pattern = Tree("tuple", "", tuple(Tree("name", name) for name in names))
        clauses = (Tree("clause", "", (pattern, one.expression)),)
        given = Rec(tuple((str(at + 1), self.env[name]) for at, name in enumerate(names)))
        found = self.evaluator.specialised(Closure("tokens", clauses, {}), [given])
        listed = self.evaluator.bag(found).entries[0].each
        assert listed is not None
        kind = self.colours.sets[one.arc.colour].kind
        return [element_of(f"at({listed.text}, {at})", kind) for at in range(counts.pop())]

    # Guards, and names that no arc binds.

    def bound_by_guard(self, guards: list[Tree]) -> list[Tree]:
        """`[n = m + 1]` binds a name that no arc does."""
        left = []
        for guard in guards:
            name, value = self.definition(guard)
            if not name:
                left.append(guard)
                continue
            self.evaluator.context = f"{self.context}, guard"
            found = self.evaluator.value(value, self.env)  # type: ignore[arg-type]
            self.env[name] = found
        return left

    def definition(self, guard: Tree) -> tuple[str, Tree | None]:
        if guard.kind != "op" or guard.word != "==":
            return "", None
        for one, other in (guard.parts, guard.parts[::-1]):
            free = one.kind == "name" and self.is_variable(one.word) and one.word not in self.env
            names = {name for name in free_names(other) if self.is_variable(name)}
            if free and names <= self.env.keys():
                return one.word, other
        return "", None

    def bind_free(self, guards: list[Tree], outputs: list[Tree], code: _Code | None) -> None:
        """Variables that no arc binds take any value of a small colour set."""
        later = set(code.names) if code else set()
        trees = [*guards, *outputs, *(one.expression for one in self.wanted)]
        trees += [code.action] if code and code.action else []
        for tree in trees:
            for name in sorted(free_names(tree)):
                if name in self.env or name in later or not self.is_variable(name):
                    continue
                colour = self.known.variables[name]
                context = f"{self.context}, variable {name}"
                try:
                    members = self.colours.members(colour, context)
                except InputError as error:
                    raise InputError(
                        context,
                        colour,
                        f"is bound by no input arc (bound: {', '.join(self.env) or 'none'}), and "
                        f"its colour set has too many values to choose from: {error.allowed}",
                    ) from None
                self.free.append((name, colour, members))
                kind = self.colours.sets[colour].kind
                labels = (f"{clean(name)}.{label}" for label, _ in flat(kind))
                base = clean(name) if isinstance(kind, Struct) else ""
                self.env[name] = made_of(kind, labels, base)

    def free_name(self, variable: str) -> str:
        return f"{self.name}, any {variable}"

    def free_place(self, name: str, colour: str, members: list[Value]) -> dict[str, Any]:
        """A place with every value, from which the variable's is taken and given back."""
        places = [one.place for one in self.taken]
        chosen = not self.conditions and len(set(places)) == len(places)
        return {
            "name": self.free_name(name),
            "colour": colour,
            # The engine draws where it need not search; else the values take turns.
            "discipline": "random" if chosen else "fifo",
            "initial": [self.colours.row(one, self.context) for one in members],
        }

    def guard(self, guards: list[Tree]) -> None:
        context = f"{self.context}, guard"
        self.evaluator.context, self.evaluator.unknown = context, self.unbound()
        for one in guards:
            found = self.evaluator.value(one, self.env)
            if not isinstance(found, Leaf) or found.kind != BOOL:
                raise InputError(context, words(kind_of(found)), "a guard is a bool")
            if draws(found):
                raise InputError(
                    context, found.text[:60], "a guard cannot draw at random, or read the clock"
                )
            if not found.known or not found.constant:
                self.conditions += split(found)

    # Code, time and output arcs.

    def code(self, text: str) -> _Code | None:
        """A code segment that only computes."""
        text = " ".join(COMMENT.sub(" ", text).split())
        context = f"{self.context}, code segment"
        if not text:
            return None
        found = CODE.fullmatch(text)
        if found is None:
            raise InputError(context, text[:60], "is read as input (…); output (…); action …;")
        output = parse(found["output"] or "()", context)
        action = (found["action"] or "").strip().rstrip(";").strip()
        tree = parse(action, context) if action and action != "()" else None
        for name in sorted(free_names(tree)) if tree else ():
            if has_effects(name):
                raise InputError(context, name, EFFECTS_REFUSED)
        names = [*names_of(output)]
        if tree is None and names:
            raise InputError(context, text[:60], "has outputs, but no action that gives them")
        return _Code(output, tree, names)

    def run_code(self, code: _Code | None) -> None:
        if code is None or code.action is None:
            return
        self.evaluator.context = f"{self.context}, code segment"
        self.evaluator.unknown = self.unbound()
        value = self.evaluator.once(self.evaluator.value(code.action, self.env))
        if code.names:
            self.env.update(self.evaluator.bound(code.output, value))

    def local(self, value: Leaf) -> Leaf:
        """A value that is computed once a firing."""
        name = f"v{len(self.locals) + 1}"
        while name in self.env or name in self.known.constants:
            name += "_"
        kind = self.colours.type_name(value.kind, self.context)
        self.locals.append({"name": name, "type": kind, "value": value.text})
        return Leaf(name, value.kind)

    def delay(self, time: str) -> Leaf | None:
        context = f"{self.context}, time"
        text = time.removeprefix("@+") if time.startswith("@+") else ""
        if not time:
            return None
        if not text.strip():
            raise InputError(context, time[:60], "is read as @+delay")
        self.evaluator.context, self.evaluator.unknown = context, self.unbound()
        tree = parse(text, context)
        return self.evaluator.leaf(tree, self.env, (INT, REAL), "a delay")

    def puts(self, arc: Arc, tree: Tree) -> Iterator[dict[str, Any]]:
        self.evaluator.context, self.evaluator.unknown = arc.context, self.unbound()
        value = self.evaluator.value(tree, self.env)
        for entry in self.known.tokens(value, arc.colour):
            yield from self.put(entry, arc)

    def put(self, entry: Entry, arc: Arc) -> Iterator[dict[str, Any]]:
        """The output arcs of an entry of a multiset."""
        always = entry.count.known and entry.when is None
        if always and entry.count.constant > WEIGHT_MOST:
            raise InputError(
                arc.context, entry.count.constant, f"an arc moves at most {WEIGHT_MOST} tokens"
            )
        several = not entry.count.known or entry.count.constant > 1
        if entry.each is not None and entry.each.draws:
            entry = replace(each_of(self.local(entry.each)), when=entry.when, delay=entry.delay)
        value, delay = entry.value, entry.delay
        if several:
            # Tokens of one term are alike, whatever they draw.
            value = self.evaluator.once(value)
            delay = delay if delay is None or not delay.draws else self.local(delay)
        value = self.colours.fitted(value, arc.colour, arc.context)
        made: dict[str, Any] = {"place": arc.place, "token": self.token(value, arc)}
        if delay is not None:
            made["delay"] = delay.text
        if always:
            yield from (dict(made) for _ in range(entry.count.constant))
            return
        zero = constant(0, INT)
        count = (
            entry.count
            if entry.when is None
            else merged(entry.when, entry.count, zero, self.evaluator)
        )
        assert isinstance(count, Leaf)
        yield made | {"count": count.text}

    def token(self, value: Value, arc: Arc) -> list[Any] | str:
        if isinstance(value, Rec) and value.base and value.fields:
            return value.base
        return [one.text for one in self.colours.leaves(value, arc.context)]


@dataclass(frozen=True)
class _Code:
    """A code segment: the pattern of its outputs, and what they are."""

    output: Tree
    action: Tree | None
    names: list[str]


def split(condition: Leaf) -> list[str]:
    """A condition as those that `&&` joins; none where it always holds."""
    if condition.known and condition.constant:
        return []
    return list(condition.conditions or (condition.text,))
