"""Reads one transition of a `.cpn` file and adds it to a net. Patterns on arcs become fields of
tokens, and conditions on these fields become the guard.

In CPN ML, an arc names the parts of a token, as in `(c, s)`. In the engine's language, an arc names
the whole token, and inscriptions use its fields, as in `t1.f2`. If input arcs give one name to
parts of several tokens, the guard requires that these parts are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dfslab.nets.build import Local, Net, Place, Put, Take
from dfslab.nets.colour import UNIT
from dfslab.nets.cpn.cpn_evaluate import Evaluator
from dfslab.nets.cpn.cpn_inputs import WEIGHT_MOST, FileArc, Inputs, split
from dfslab.nets.cpn.cpn_merge import merged
from dfslab.nets.cpn.cpn_ml import Tree, conjuncts, free_names, names_of, parse, uncommented
from dfslab.nets.cpn.cpn_values import (
    BOOL,
    EFFECTS_REFUSED,
    INT,
    REAL,
    BagEntry,
    CpnValue,
    Leaf,
    Rec,
    Struct,
    clean,
    constant,
    draws,
    each_of,
    flat,
    has_effects,
    kind_of,
    made_of,
    words,
)
from dfslab.nets.inscription import Inscription
from dfslab.spec.input_error import InputError

STAMP_REFUSED = "a time stamp other than @0 is read in initial markings only; use @+ for a delay"
UNTIMED_REFUSED = "delays a token of the colour set {}, which is not timed; declare it timed"
CODE = re.compile(
    r"(?:input\s*(?P<input>\([^)]*\)|\s\w+)\s*;?)?"
    r"\s*(?:output\s*(?P<output>\([^)]*\)|\s\w+)\s*;?)?"
    r"\s*(?:action\s*(?P<action>.*))?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Inscriptions:
    """The inscriptions of a transition other than those of its arcs: guard, delay (`time`) and code
    segment."""

    guard: str = ""
    time: str = ""
    code: str = ""


class TransitionReader(Inputs):
    """Reads a transition: its inscriptions and those of its arcs."""

    def add_to(
        self,
        net: Net,
        places: Mapping[str, Place],
        arcs: list[FileArc],
        texts: Inscriptions,
        priority: int,
    ) -> list[tuple[Place, str]]:
        """Adds the transition to the net. Returns (place, colour set) for each variable that no arc
        binds.

        Such a variable may have any value of its colour set. The place has all these values as
        tokens, and the transition takes one of them.
        """
        self.places = dict(places)
        guards = conjuncts(texts.guard, f"{self.context}, guard")
        for arc in arcs:
            if arc.kind == "PtoT":
                self.take(arc)
        guards = self.bound_by_guard(guards)
        outputs = [(arc, self.parsed(arc)) for arc in arcs if arc.kind == "TtoP"]
        code = self.code(texts.code)
        computed = [*(tree for _, tree in outputs), *self.delay_tree(texts.time)]
        self.bind_free(guards, computed, code)
        self.compare_wanted()
        self.guard(guards)
        free = [self.free_place(*one) for one in self.free]
        self.places |= {place.name: place for place in free}
        self.run_code(code)
        delay = self.delay(texts.time)
        made = [(arc, one) for arc, tree in outputs for one in self.puts(arc, tree)]
        puts = [put for _, put in made]
        untimed = any(not self.colours.is_timed(arc.colour) for arc, _ in made)
        if delay is not None and (free or untimed):
            # The transition itself gets no delay. Instead, each output arc to a timed place gets
            # the delay. The value of a variable that no arc binds must return without delay to the
            # additional place from which it was taken.
            delay = delay if delay.known else self.local(delay, self.context)
            timed = [self.colours.is_timed(arc.colour) for arc, _ in made]
            puts = [
                _later(put, delay.text) if waits else put
                for put, waits in zip(puts, timed, strict=True)
            ]
        names = [(self.places[self.free_name(name)], clean(name)) for name, _, _ in self.free]
        taken = [Take(self.places[one.place], one.variable) for one in self.taken]
        net.transition(
            self.name,
            [*taken, *(Take(place, name) for place, name in names)],
            [*puts, *(Put(place, name) for place, name in names)],
            guard=" && ".join(self.conditions),
            delay=None if delay is None or free or untimed else delay.text,
            priority=priority,
            inhibit=[places[arc.place] for arc in arcs if arc.kind == "Inhibitor"],
            reset=[places[arc.place] for arc in arcs if arc.kind == "Reset"],
            page=self.page,
            locals=self.locals,
        )
        return [(place, colour) for place, (_, colour, _) in zip(free, self.free, strict=True)]

    # Guards, and names that no input arc binds.

    def bound_by_guard(self, guards: list[Tree]) -> list[Tree]:
        """Uses guards to bind names that no arc binds. Only guards that are equations can be used,
        such as `[n = m + 1]`. Returns the guards that were not used."""
        left = []
        for guard in guards:
            name, value = self.definition(guard)
            if not name:
                left.append(guard)
                continue
            evaluator = self.evaluator(f"{self.context}, guard")
            found = evaluator.value(value, self.env)  # type: ignore[arg-type]
            self.env[name] = found
        return left

    def definition(self, guard: Tree) -> tuple[str, Tree | None]:
        """Returns (variable, expression) if a guard is an equation that defines a variable,
        otherwise ("", None)."""
        if guard.kind != "op" or guard.word != "==":
            return "", None
        for one, other in (guard.parts, guard.parts[::-1]):
            free = one.kind == "name" and self.is_variable(one.word) and one.word not in self.env
            names = {name for name in free_names(other) if self.is_variable(name)}
            if free and names <= self.env.keys():
                return one.word, other
        return "", None

    def bind_free(self, guards: list[Tree], outputs: list[Tree], code: _Code | None) -> None:
        """Finds the variables that nothing binds: no arc, no guard, and not the code segment. Each
        of these variables may have any value of its colour set. Raises InputError if one of these
        colour sets is too large."""
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
        """Returns the name of the place with the possible values of a variable that no arc
        binds."""
        return f"{self.name}, any {variable}"

    def free_place(self, name: str, colour: str, members: list[CpnValue]) -> Place:
        """Returns a place with all values of a colour set (`members`) as tokens. The transition
        draws the value of the variable `name` from this place and puts the value back."""
        rows = [self.colours.row(one, self.context) for one in members]
        # The unit colour is only a placeholder. The colour of the place is set when the whole file
        # has been read.
        return Place(self.free_name(name), UNIT, rows, "random")

    def guard(self, guards: list[Tree]) -> None:
        """Adds guards to the conditions of the transition. Raises InputError for a guard that is
        not a truth value, draws at random or reads the clock."""
        context = f"{self.context}, guard"
        evaluator = self.evaluator(context)
        for one in guards:
            found = evaluator.value(one, self.env)
            if not isinstance(found, Leaf) or found.kind != BOOL:
                raise InputError(context, words(kind_of(found)), "a guard is a bool")
            if draws(found):
                raise InputError(
                    context, found.text[:60], "a guard cannot draw at random, or read the clock"
                )
            if not found.known or not found.constant:
                self.conditions += split(found)

    # The code segment, the delay and the output arcs.

    def code(self, text: str) -> _Code | None:
        """Parses a code segment. Returns None if the transition has none. Raises InputError if the
        segment has side effects."""
        text = " ".join(uncommented(text).split())
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
        """Evaluates the action of a code segment and binds its results to the output variables."""
        if code is None or code.action is None:
            return
        evaluator = self.firing(f"{self.context}, code segment")
        value = evaluator.once(evaluator.value(code.action, self.env))
        if code.names:
            self.env.update(evaluator.bound(code.output, value))

    def firing(self, context: str) -> Evaluator:
        """Returns an evaluator for an inscription that is evaluated at each firing of the
        transition: a delay, an output arc or a code segment. Each random value in the inscription
        becomes a local of the transition (see `local`). `context` names the inscription in error
        messages."""
        return self.evaluator(context).hoisting(self.local)

    def local(self, value: Leaf, context: str) -> Leaf:
        """Adds a local with the expression `value` to the transition. The local is computed once
        per firing. Returns an expression that consists of the local's name. `context` names the
        text with the expression in error messages."""
        name = f"v{len(self.locals) + 1}"
        while name in self.env or name in self.known.constants:
            name += "_"
        kind = self.colours.type_name(value.kind, context)
        self.locals.append(Local(name, kind, value.text))
        return Leaf(name, value.kind)

    def delay_tree(self, time: str) -> list[Tree]:
        """Returns the syntax tree of a transition's delay; none if it has no delay."""
        text = time.removeprefix("@+").strip() if time.startswith("@+") else ""
        return [parse(text, f"{self.context}, time")] if text else []

    def delay(self, time: str) -> Leaf | None:
        """Returns the delay of a transition as an expression in the time unit of the file; None if
        it has no delay."""
        context = f"{self.context}, time"
        text = time.removeprefix("@+") if time.startswith("@+") else ""
        if time in ("", "@+"):
            return None
        if not text.strip():
            raise InputError(context, time[:60], "is read as @+delay")
        tree = parse(text, context)
        return self.firing(context).leaf(tree, self.env, (INT, REAL), "a delay")

    def puts(self, arc: FileArc, tree: Tree) -> Iterator[Put]:
        """Yields the output arcs of the engine's net that represent one output arc of the file: one
        arc for each term of the multiset on the file's arc."""
        value = self.firing(arc.context).value(tree, self.env)
        for entry in self.known.tokens(value, arc.colour):
            yield from self.put(entry, arc)

    def put(self, entry: BagEntry, arc: FileArc) -> Iterator[Put]:
        """Yields the output arc for one entry of a multiset. Yields nothing if the entry has no
        tokens. Raises InputError if the entry has a time stamp."""
        if entry.is_stamped and entry.delay is not None:
            raise InputError(arc.context, entry.delay.text, STAMP_REFUSED)
        if entry.delay is not None and not self.colours.is_timed(arc.colour):
            raise InputError(arc.context, entry.delay.text, UNTIMED_REFUSED.format(arc.colour))
        always = entry.count.known and entry.when is None
        if always and entry.count.constant > WEIGHT_MOST:
            raise InputError(
                arc.context, entry.count.constant, f"an arc moves at most {WEIGHT_MOST} tokens"
            )
        several = not entry.count.known or entry.count.constant > 1
        if entry.each is not None and entry.each.draws:
            entry = replace(
                each_of(self.local(entry.each, arc.context)), when=entry.when, delay=entry.delay
            )
        value, delay = entry.value, entry.delay
        if several:
            # All tokens of one term have the same value, even if the term is random. The term is
            # therefore computed only once.
            value = self.firing(arc.context).once(value)
            delay = delay if delay is None or not delay.draws else self.local(delay, arc.context)
        value = self.colours.fitted(value, arc.colour, arc.context)
        place, token = self.places[arc.place], self.token(value, arc)
        wait = None if delay is None else delay.text
        if always:
            if entry.count.constant > 0:
                yield Put(place, token, wait, int(entry.count.constant))
            return
        zero = constant(0, INT)
        count = (
            entry.count
            if entry.when is None
            else merged(entry.when, entry.count, zero, self.evaluator(arc.context))
        )
        assert isinstance(count, Leaf)
        yield Put(place, token, wait, count.text)

    def token(self, value: CpnValue, arc: FileArc) -> list[Inscription] | str:
        """Converts a value to a token of the arc's place. Usually returns the fields of the token,
        each as text of the engine's language. If the value is a token that the transition takes,
        unchanged, returns the name of the token's variable."""
        if isinstance(value, Rec) and value.base and value.fields:
            return value.base
        return [one.text for one in self.colours.leaves(value, arc.context)]


def _later(put: Put, delay: str) -> Put:
    """Returns an output arc with an additional delay."""
    return replace(put, delay=delay if put.delay is None else f"({delay} + {put.delay})")


@dataclass(frozen=True)
class _Code:
    """A code segment. `action` is the expression that the segment computes. `output` is the pattern
    of its output variables, to which the value of `action` is bound. `names` has the names in this
    pattern."""

    output: Tree
    action: Tree | None
    names: list[str]
