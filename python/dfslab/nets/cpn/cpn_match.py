"""Matches patterns of CPN ML with values. A match consists of the names that a pattern binds and
the condition under which the pattern matches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from dfslab.nets.cpn.cpn_colours import Colours
from dfslab.nets.cpn.cpn_merge import both, compared
from dfslab.nets.cpn.cpn_ml import Tree
from dfslab.nets.cpn.cpn_values import (
    BOOL,
    INT,
    REAL,
    TEXT,
    TRUE,
    UNKNOWN,
    Builtin,
    Closure,
    CpnValue,
    Items,
    Leaf,
    ListType,
    Plain,
    Rec,
    constant,
    element_of,
    kind_of,
    words,
)
from dfslab.spec.input_error import InputError


class PatternReader(Protocol):
    """The attributes and methods of an evaluator that pattern matching uses."""

    @property
    def colours(self) -> Colours:
        """The colour sets of the file."""

    @property
    def context(self) -> str:
        """The words by which error messages name the declaration or inscription that is read."""

    @property
    def globals(self) -> dict[str, CpnValue]:
        """The values of the names that the file declares."""

    @property
    def constructors(self) -> set[str]:
        """The constructors of the file's union colour sets."""

    def wrong(self, value: object, reason: str) -> InputError:
        """Returns an InputError for a value. The error's key names the declaration or inscription
        that is being read."""

    def apply(self, function: CpnValue, argument: CpnValue) -> CpnValue:
        """Applies a function of the file to one argument and returns the result."""


@dataclass
class Match:
    """A possible match of a pattern with a value. `names`: the values of the names that the pattern
    binds. `condition`: the condition under which the pattern matches; None if it always matches."""

    names: dict[str, CpnValue] = field(default_factory=dict)
    condition: Leaf | None = None

    def add(self, other: Match | None, reader: PatternReader) -> bool:
        """Adds the names and the condition of the match `other` to this match. If both matches bind
        a name, the two values must be equal, which becomes a further condition. Returns False if
        the combination never matches."""
        if other is None:
            return False
        conditions = [one for one in (self.condition, other.condition) if one is not None]
        twice = sorted(self.names.keys() & other.names.keys())
        conditions += [equal(self.names[name], other.names[name], reader) for name in twice]
        self.names = {**other.names, **self.names}
        whole = TRUE
        for one in conditions:
            whole = both("&&", whole, one)
        self.condition = None if whole.known and whole.constant else whole
        return not (whole.known and not whole.constant)


def under(condition: Leaf, names: dict[str, CpnValue] | None = None) -> Match | None:
    """Returns a match under a condition; None if the condition is known to be false. `names`: the
    names that the match binds."""
    if condition.known:
        return Match(names or {}) if condition.constant else None
    return Match(names or {}, condition)


def matched(pattern: Tree, value: CpnValue, reader: PatternReader) -> Match | None:
    """Matches a pattern with a value. Returns None if the pattern never matches."""
    kind = pattern.kind
    if kind == "any":
        return Match()
    if kind == "as":
        found = matched(pattern.parts[0], value, reader)
        if found is not None:
            found.names[pattern.word] = value
        return found
    if kind == "typed":
        return matched(pattern.parts[0], value, reader)
    if kind == "name" and pattern.word not in reader.constructors:
        return Match({pattern.word: value})
    if kind == "name":
        return constructed(pattern.word, None, value, reader)
    if kind == "apply" and pattern.parts[0].word in reader.constructors:
        return constructed(pattern.parts[0].word, pattern.parts[1], value, reader)
    if kind in ("int", "real", "bool", "str"):
        return under(equal(value, literal(pattern), reader))
    if kind == "tuple":
        parts = [(str(at + 1), one) for at, one in enumerate(pattern.parts)]
        return fields(parts, value, False, reader)
    if kind == "record":
        parts = [(one.word, one.parts[0]) for one in pattern.parts]
        return fields(parts, value, pattern.word == "...", reader)
    if kind == "list":
        return listed(pattern.parts, None, value, reader)
    if kind == "op" and pattern.word == "::":
        return listed(pattern.parts[:1], pattern.parts[1], value, reader)
    raise reader.wrong(kind, "is no pattern: names, values, tuples, records and lists are")


def literal(tree: Tree) -> Leaf:
    """Returns the value of a literal, such as a number or a string."""
    if tree.kind == "int":
        return constant(int(tree.word), INT)
    if tree.kind == "real":
        return constant(float(tree.word), REAL)
    if tree.kind == "bool":
        return constant(tree.word == "true", BOOL)
    return constant(tree.word, TEXT)


def constructed(
    word: str, argument: Tree | None, value: CpnValue, reader: PatternReader
) -> Match | None:
    """Matches a constructor pattern with a value.

    `word` is the constructor: a value of an enumeration, the name of indexed values such as `p(1)`,
    or a member of a union. `argument` is the pattern of the constructor's argument; None if the
    constructor has no argument.
    """
    made = reader.globals[word]
    if isinstance(made, Builtin) and argument is not None and not made.name.startswith("union "):
        return matched(argument, value, reader)
    if isinstance(made, Leaf):
        return under(equal(value, made, reader))
    if not isinstance(value, Rec) or not value.union:
        if isinstance(value, Leaf) and value.kind == UNKNOWN:
            return Match(dict.fromkeys(unbound(argument), value))
        raise reader.wrong(word, f"is a constructor, and no {words(kind_of(value))}")
    tag = value.at("tag")
    assert isinstance(tag, Leaf)
    assert isinstance(tag.kind, Plain)
    found = under(equal(tag, constant(word, tag.kind), reader))
    if found is None or argument is None:
        return found
    payload = value.at(word)
    if payload is None:
        raise reader.wrong(word, "is a constructor without a value")
    return found if found.add(matched(argument, payload, reader), reader) else None


def unbound(pattern: Tree | None) -> list[str]:
    """Returns the names that a pattern binds."""
    if pattern is None:
        return []
    own = [pattern.word] if pattern.kind in ("name", "as") else []
    return own + [name for part in pattern.parts for name in unbound(part)]


def fields(
    parts: list[tuple[str, Tree]], value: CpnValue, partial: bool, reader: PatternReader
) -> Match | None:
    """Matches a tuple or record pattern with a value, field by field. `parts` has the label and the
    pattern of each field. If `partial` is true, the value may have further fields."""
    if isinstance(value, Leaf) and value.kind == UNKNOWN:
        return Match({name: value for _, part in parts for name in unbound(part)})
    labels = [label for label, _ in parts]
    found = Match()
    mine = [label for label, _ in value.fields] if isinstance(value, Rec) else []
    whole = isinstance(value, Rec) and not value.union
    if not whole or not (set(labels) <= set(mine) if partial else sorted(labels) == sorted(mine)):
        raise reader.wrong(words(kind_of(value)), f"does not fit the pattern of {len(parts)} parts")
    for label, part in parts:
        inner = value.at(label) if isinstance(value, Rec) else None
        if inner is None or not found.add(matched(part, inner, reader), reader):
            return None
    return found


def listed(
    first: tuple[Tree, ...], rest: Tree | None, value: CpnValue, reader: PatternReader
) -> Match | None:
    """Matches a list pattern with a value. `first` has the patterns of the first elements. If
    `rest` is None, the list has no other elements (`[a, b]`); otherwise `rest` is the pattern of
    the remainder (`a::rest`)."""
    if isinstance(value, Leaf) and isinstance(value.kind, ListType):
        value = Items((), value)
    if isinstance(value, Leaf) and value.kind == UNKNOWN:
        names = [name for part in (*first, rest) for name in unbound(part)]
        return Match(dict.fromkeys(names, value))
    if not isinstance(value, Items):
        raise reader.wrong(words(kind_of(value)), "does not fit the pattern of a list")
    found = Match()
    items, tail = value.items, value.tail
    while first and items:
        if not found.add(matched(first[0], items[0], reader), reader):
            return None
        first, items = first[1:], items[1:]
    if not first:
        if rest is not None:
            return found if found.add(matched(rest, Items(items, tail), reader), reader) else None
        if items:
            return None
        if tail is not None:
            return found if found.add(Match({}, empty(tail)), reader) else None
        return found
    if tail is None:
        return None
    return found if found.add(taken_apart(first, rest, tail, reader), reader) else None


def empty(tail: Leaf) -> Leaf:
    """Returns the condition that a list is empty."""
    return compared(tail.text, "==", "[]")


def taken_apart(
    first: tuple[Tree, ...], rest: Tree | None, tail: Leaf, reader: PatternReader
) -> Match | None:
    """Matches a list pattern with a list that is known only during a run. `first` has the patterns
    of the first elements; `rest` is the pattern of the remainder (None: no further elements).
    `tail`: the list."""
    found, at = Match(), tail
    inner = tail.kind.inner if isinstance(tail.kind, ListType) else None
    if inner is None:
        raise reader.wrong(tail.text, "the type of the list's elements is not known")
    for part in first:
        found.add(Match({}, compared(at.text, "!=", "[]")), reader)
        head = element_of(f"head({at.text})", inner, tail.draws)
        if not found.add(matched(part, head, reader), reader):
            return None
        at = Leaf(f"tail({at.text})", tail.kind, draws=tail.draws)
    last = Match({}, empty(at)) if rest is None else matched(rest, at, reader)
    return found if found.add(last, reader) else None


def equal(left: CpnValue, right: CpnValue, reader: PatternReader) -> Leaf:
    """Returns the condition that two values are equal. Raises InputError if the values cannot be
    compared."""
    if isinstance(left, Closure | Builtin) or isinstance(right, Closure | Builtin):
        raise reader.wrong("=", "functions are not compared")
    if isinstance(left, Rec) and isinstance(right, Rec):
        labels = [label for label, _ in left.fields]
        if labels != [label for label, _ in right.fields] or left.union != right.union:
            kinds = words(kind_of(left)), words(kind_of(right))
            raise reader.wrong("=", f"compares {kinds[0]} with {kinds[1]}")
        found: Leaf = TRUE
        for (_, one), (_, other) in zip(left.fields, right.fields, strict=True):
            same = equal(one, other, reader)
            found = both("&&", found, same)
        return found
    first, second = known_items(left), known_items(right)
    if first is not None and second is not None:
        if len(first) != len(second):
            return constant(False, BOOL)
        found = TRUE
        for one, other in zip(first, second, strict=True):
            found = both("&&", found, equal(one, other, reader))
        return found
    a, b = (reader.colours.leaf(one, reader.context) for one in (left, right))
    if UNKNOWN not in (a.kind, b.kind) and not _comparable(a, b):
        raise reader.wrong("=", f"compares {words(a.kind)} with {words(b.kind)}")
    if a.known and b.known:
        return constant(a.constant == b.constant, BOOL)
    return compared(a.text, "==", b.text, a.draws or b.draws)


def known_items(value: CpnValue) -> tuple[CpnValue, ...] | None:
    """Returns the elements of a list if all of them are known individually; otherwise None."""
    return value.items if isinstance(value, Items) and value.tail is None else None


def _comparable(a: Leaf, b: Leaf) -> bool:
    lists = isinstance(a.kind, ListType) and isinstance(b.kind, ListType)
    numbers = {a.kind, b.kind} <= {INT, REAL}
    return a.kind == b.kind or lists or numbers
