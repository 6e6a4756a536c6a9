"""One transition of a `.cpn` file: patterns on its arcs become fields, joins and guards of ours.

CPN ML names the parts of a token, `(c, s)`; our inscriptions name the token, `t1.f2`. A name that
stands on several input arcs becomes a condition that those fields are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dfslab.nets.colour import LIST
from dfslab.nets.cpn_colours import Colours
from dfslab.nets.cpn_ml import EMPTY, LEVELS, LISTED, Tree, conjuncts, expression, parse
from dfslab.spec.model import InputError

WEIGHT_MOST = 1_000


@dataclass(frozen=True)
class Arc:
    """An arc with its place's final name and colour set; `kind` as the file writes it."""

    transition: str
    place: str
    colour: str
    kind: str
    text: str
    context: str


class Transition:
    """What the names of a transition's inscriptions stand for."""

    def __init__(self, name: str, page: str, colours: Colours, context: str) -> None:
        self.name, self.page, self.colours, self.context = name, page, colours, context
        self.scalars: dict[str, str] = {}
        self.tokens: dict[str, tuple[str, str]] = {}
        self.conditions: list[str] = []
        self.inputs: list[dict[str, str]] = []
        # The colour set of records where the place of an expression says it.
        self.held = ""

    def document(self, arcs: list[Arc], guard: str, time: str) -> dict[str, Any]:
        """The transition as our documents have it."""
        made: dict[str, Any] = {"name": self.name, "page": self.page}
        for arc in arcs:
            if arc.kind == "PtoT":
                self.take(arc)
        for kind, key in (("Inhibitor", "inhibit"), ("Reset", "reset")):
            found = [{"place": arc.place} for arc in arcs if arc.kind == kind]
            if found:
                made[key] = found
        for condition in conjuncts(guard, f"{self.context}, guard"):
            self.conditions.append(self.scalar(condition, f"{self.context}, guard"))
        made["in"] = self.inputs
        made["out"] = [one for arc in arcs if arc.kind == "TtoP" for one in self.puts(arc)]
        if self.conditions:
            made["guard"] = " && ".join(self.conditions)
        if time:
            text = time.removeprefix("@+") if time.startswith("@+") else ""
            if not text.strip():
                raise InputError(f"{self.context}, time", time[:60], "is read as @+delay")
            context = f"{self.context}, time"
            made["delay"] = self.scalar(parse(text, context), context)
        return made

    def terms(self, tree: Tree, context: str) -> Iterator[Tree]:
        """The values of a multiset, each as often as it counts."""
        if tree == EMPTY:
            return
        if tree.kind == "sum":
            for one in tree.parts:
                yield from self.terms(one, context)
            return
        if tree.kind != "many":
            yield tree
            return
        count = self.colours.count(tree.parts[0], context)
        if count > WEIGHT_MOST:
            raise InputError(context, count, f"an arc moves at most {WEIGHT_MOST} tokens")
        yield from (tree.parts[1] for _ in range(count))

    def take(self, arc: Arc) -> None:
        tree = parse(arc.text or "()", arc.context)
        if tree.kind == "at":
            raise InputError(arc.context, arc.text[:60], "delays on input arcs are not read")
        for term in self.terms(tree, arc.context):
            self.bind(term, arc)

    def bind(self, term: Tree, arc: Arc) -> None:
        """One token taken: its parts bind names, or are compared with what is bound."""
        found = self.colours.sets[arc.colour]
        variable = f"t{len(self.inputs) + 1}"
        whole = term.kind == "name" and self.colours.variables.get(term.word) == arc.colour
        if whole and not found.scalar and term.word in self.scalars:
            self.conditions.append(f"{variable} == {self.scalars[term.word]}")
        elif whole and not found.scalar and term.word not in self.tokens:
            if term.word.isidentifier() and term.word not in self.colours.constants:
                variable = term.word
            self.tokens[term.word] = (variable, arc.colour)
        elif whole and not found.scalar:
            first = self.tokens[term.word][0]
            self.conditions += [f"{variable}.{one} == {first}.{one}" for one, _ in found.fields]
        else:
            cells = self.colours.cells(term, arc.colour, arc.context)
            for (part, kind), (label, _) in zip(cells, found.fields, strict=True):
                self.match(part, kind, f"{variable}.{label}", arc)
        self.inputs.append({"place": arc.place, "var": variable})

    def match(self, part: Tree, kind: str, here: str, arc: Arc) -> None:
        if part.kind == "name" and part.word in self.colours.variables:
            bound = self.scalars.get(part.word) or self.tokens.get(part.word, ("",))[0]
            if bound:
                self.conditions.append(f"{here} == {bound}")
                return
            self.scalars.setdefault(part.word, here)
            return
        if kind.startswith(LIST) and part.kind in ("list", "list op"):
            self.match_list(part, kind, here, arc)
            return
        if part.kind in ("tuple", "record") and kind in self.colours.sets:
            cells = self.colours.cells(part, kind, arc.context)
            labels = [label for label, _ in self.colours.sets[kind].fields]
            for (one, inner), label in zip(cells, labels, strict=True):
                self.match(one, inner, f"{here}.{label}", arc)
            return
        if part.kind not in ("int", "real", "bool", "str", "name", "call"):
            raise InputError(
                arc.context, arc.text[:60], "an input arc takes names and values, not expressions"
            )
        value = self.colours.literal(part, kind, arc.colour, arc.context)
        written = str(value).lower() if isinstance(value, bool) else str(value)
        word = f"{kind}.{written}" if kind in self.colours.enums else written
        self.conditions.append(f"{here} == {word}")

    def match_list(self, part: Tree, kind: str, here: str, arc: Arc) -> None:
        """`x::rest` is a list with a first element, `[x, y]` one of two."""
        inner = kind.removeprefix(LIST)
        if part.kind == "list":
            count = len(part.parts)
            self.conditions.append(f"length({here}) == {count}" if count else f"{here} == []")
            for at, one in enumerate(part.parts):
                self.match(one, inner, f"at({here}, {at})", arc)
            return
        if part.word != LEVELS[LISTED]["::"]:
            raise InputError(arc.context, arc.text[:60], "an input arc takes lists apart by ::")
        # First, so that nobody asks an empty list for its head.
        self.conditions.append(f"{here} != []")
        self.match(part.parts[0], inner, f"head({here})", arc)
        self.match(part.parts[1], kind, f"tail({here})", arc)

    def scalar(self, tree: Tree, context: str) -> str:
        return expression(tree, lambda one: self.word(one, context), context)

    def word(self, tree: Tree, context: str) -> str:
        """A name, a field of a whole token, or a string, in our language."""
        colours = self.colours
        if tree.kind == "str":
            return f"STRING.{colours.string(tree.word)}"
        if tree.kind == "field":
            inner = tree.parts[0]
            label = f"f{tree.word}" if tree.word.isdigit() else tree.word
            is_bound = inner.word in self.tokens or inner.word in self.scalars
            if inner.kind == "call" or (inner.kind == "name" and is_bound):
                return f"{self.scalar(inner, context)}.{label}"
            raise InputError(context, f"#{tree.word}", "is read of a variable that an input binds")
        if tree.kind in ("tuple", "record"):
            return self.made(tree, context)
        name = tree.word
        if name in self.scalars:
            return self.scalars[name]
        if name in self.tokens:
            return self.tokens[name][0]
        if name in colours.constants:
            return name
        enums = [one for one, values in colours.enums.items() if name in values]
        if enums:
            return f"{enums[0]}.{name}"
        bound = ", ".join([*self.scalars, *self.tokens]) or "none"
        raise InputError(context, name, f"is bound by no input arc (bound: {bound})")

    def made(self, tree: Tree, context: str) -> str:
        """A tuple or record of an expression: an element of a list."""
        colour = self.colours.record(tree, self.held, context)
        cells = self.colours.cells(tree, colour, context)
        return f"{colour}({', '.join(self.scalar(part, context) for part, _ in cells)})"

    def puts(self, arc: Arc) -> Iterator[dict[str, Any]]:
        tree = parse(arc.text or "()", arc.context)
        delay = None
        if tree.kind == "at":
            tree, after = tree.parts
            delay = self.scalar(after, arc.context)
        for term in self.terms(tree, arc.context):
            own = delay
            if term.kind == "at":
                term, after = term.parts
                own = self.scalar(after, arc.context)
            if term.kind == "if" and EMPTY in term.parts:
                raise InputError(
                    arc.context,
                    arc.text[:60],
                    "`if … else empty` is not read; use two transitions with guards",
                )
            made: dict[str, Any] = {"place": arc.place, "token": self.token(term, arc)}
            if own is not None:
                made["delay"] = own
            yield made

    def token(self, term: Tree, arc: Arc) -> list[Any] | str:
        if term.kind == "name" and term.word in self.tokens:
            variable, colour = self.tokens[term.word]
            if colour == arc.colour:
                return variable
            raise InputError(arc.context, term.word, f"is of {colour}, the place of {arc.colour}")
        found = self.colours.sets[arc.colour]
        if not found.scalar and (term.kind == "call" or term.word in self.scalars):
            # A record that comes out of a list; its type is checked when the net is built.
            return self.scalar(term, arc.context)
        index = found.index
        if index and term.kind == "call" and term.word == index and len(term.parts) == 1:
            term = term.parts[0]
        cells = self.colours.cells(term, arc.colour, arc.context)
        values = []
        for part, kind in cells:
            inner = kind.removeprefix(LIST)
            self.held = inner if kind != inner and inner in self.colours.sets else ""
            values.append(self.scalar(part, arc.context))
            self.held = ""
        return values
