"""Merges the values of the two branches of a condition into one value, and applies operators of CPN
ML to single values and lists."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from dfslab.nets.cpn.cpn_colours import Colours
from dfslab.nets.cpn.cpn_values import (
    BOOL,
    FALSE,
    INT,
    REAL,
    TEXT,
    TRUE,
    UNKNOWN,
    Arrow,
    Bag,
    BagEntry,
    Builtin,
    Closure,
    CpnValue,
    Items,
    Leaf,
    ListType,
    Multi,
    Plain,
    Rec,
    Struct,
    ValueType,
    constant,
    joined,
    kind_of,
    words,
)
from dfslab.spec.input_error import InputError

INT_MOST = 2**63


class MergeReader(Protocol):
    """The attributes and methods of an evaluator that merging uses."""

    @property
    def colours(self) -> Colours:
        """The colour sets of the file."""

    @property
    def context(self) -> str:
        """The words by which error messages name the declaration or inscription that is read."""

    def wrong(self, value: object, reason: str) -> InputError:
        """Returns an InputError for a value. The error's key names the declaration or inscription
        that is being read."""

    def bag(self, value: CpnValue) -> Bag:
        """Converts a value to a multiset of tokens."""


def both(word: str, left: Leaf, right: Leaf) -> Leaf:
    """Returns the conjunction (`word` is `&&`) or the disjunction (`||`) of two truth values."""
    for one, other in ((left, right), (right, left)):
        if one.known:
            decides = one.constant == (word == "||")
            return one if decides else other
    text, drawn = f"({left.text} {word} {right.text})", left.draws or right.draws
    if word == "||":
        return Leaf(text, BOOL, draws=drawn)
    conditions = (*(left.conditions or (left.text,)), *(right.conditions or (right.text,)))
    return Leaf(text, BOOL, draws=drawn, conditions=conditions)


OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", "<=": ">", ">": "<="}


def compared(
    left: str, word: str, right: str, drawn: bool = False, other: str | None = None
) -> Leaf:
    """Returns the comparison `left word right`. The result also has the text of the opposite
    comparison, which is true if and only if the comparison is false.

    `other` is the operator of the opposite comparison. None means that the operator follows from
    `word`, and "" that the comparison has no opposite.
    """
    other = OPPOSITE[word] if other is None else other
    opposite = f"({left} {other} {right})" if other else ""
    return Leaf(f"({left} {word} {right})", BOOL, draws=drawn, opposite=opposite)


def negated(value: Leaf) -> Leaf:
    """Returns the negation of a truth value. If the value is a comparison that has an opposite
    comparison, the negation is this opposite comparison."""
    if value.known:
        return FALSE if value.constant else TRUE
    text = value.opposite or f"!({value.text})"
    return Leaf(text, BOOL, draws=value.draws, opposite=value.text)


def is_rest(condition: Leaf, before: Sequence[Leaf | None]) -> bool:
    """Returns whether a condition is the negation of one of the conditions in `before`. In an
    if-else chain, such a condition is always true when all conditions in `before` are false."""
    return any(one is not None and negated(one).text == condition.text for one in before)


def merged(condition: Leaf, yes: CpnValue, no: CpnValue, reader: MergeReader) -> CpnValue:
    """Returns the value of `if condition then yes else no`. If one branch is an int and the other a
    real, the result is a real. Raises InputError if the types differ otherwise."""
    if condition.known:
        return yes if condition.constant else no
    if yes == no:
        return yes
    if isinstance(yes, Closure | Builtin) or isinstance(no, Closure | Builtin):
        raise reader.wrong("if", "chooses between functions, which only a run could do")
    for one, other in ((yes, no), (no, yes)):
        unknown = isinstance(other, Leaf) and other.kind == UNKNOWN
        if unknown and not isinstance(one, Leaf):
            return one
    if isinstance(yes, Bag) or isinstance(no, Bag):
        return merged_bags(condition, reader.bag(yes), reader.bag(no))
    if isinstance(yes, Rec) and isinstance(no, Rec):
        labels = [label for label, _ in yes.fields]
        if labels == [label for label, _ in no.fields] and yes.union == no.union:
            pairs = zip(labels, yes.fields, no.fields, strict=True)
            fields = ((label, merged(condition, a[1], b[1], reader)) for label, a, b in pairs)
            return Rec(tuple(fields), yes.union)
    kind = joined(kind_of(yes), kind_of(no))
    if {kind_of(yes), kind_of(no)} == {INT, REAL}:
        kind = REAL
    if kind is None or isinstance(kind, Struct | Multi | Arrow):
        found = words(kind_of(yes)), words(kind_of(no))
        raise reader.wrong("if", f"has {found[0]} in one branch and {found[1]} in the other")
    a, b = (reader.colours.leaf(one, reader.context) for one in (yes, no))
    text = f"if({condition.text}, {a.text}, {b.text})"
    return Leaf(text, kind, draws=condition.draws or a.draws or b.draws)


def merged_bags(condition: Leaf, yes: Bag, no: Bag) -> Bag:
    """Returns a multiset with the tokens of both branches of a condition. The tokens of `yes` are
    present if the condition is true, those of `no` if it is false."""

    def under(entry: BagEntry, extra: Leaf) -> BagEntry:
        when = extra if entry.when is None else both("&&", extra, entry.when)
        return replace(entry, when=when)

    first = [under(entry, condition) for entry in yes.entries]
    second = [under(entry, negated(condition)) for entry in no.entries]
    return Bag((*first, *second))


def fault(kind: ValueType, reader: MergeReader) -> CpnValue:
    """Returns a value of the type `kind` whose evaluation stops the run with an error. A function
    has this value for arguments that match none of its clauses.

    There is no such value for a multiset. The result is then the empty multiset, which does not
    stop the run.
    """
    if isinstance(kind, Struct):
        return Rec(tuple((label, fault(one, reader)) for label, one in kind.fields), kind.union)
    if isinstance(kind, Multi):
        return Bag()
    if isinstance(kind, ListType):
        return Leaf("tail([])", kind)
    assert not isinstance(kind, Arrow), "who chooses between functions is refused before"
    return Leaf(f"at([{default(kind, reader).text}], 1)", kind)


def default(kind: Plain, reader: MergeReader) -> Leaf:
    """Returns an arbitrary value of a type, for use where the value has no effect."""
    if kind == BOOL:
        return FALSE
    if kind == TEXT:
        return constant("", TEXT)
    if kind in (INT, REAL):
        return constant(0, kind)
    if kind == UNKNOWN:
        return Leaf("0", UNKNOWN)
    return constant(reader.colours.enums[kind.name][0], kind)


COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
COMPUTED: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


def operated(word: str, left: Leaf, right: Leaf, reader: MergeReader) -> Leaf:
    """Applies an operator to two single values of one type. Raises InputError if the types do not
    fit."""
    kind = left.kind if left.kind != UNKNOWN else right.kind
    numbers = {left.kind, right.kind} <= {INT, REAL, UNKNOWN}
    texts = {left.kind, right.kind} <= {TEXT, UNKNOWN}
    if word == "^":
        if not texts:
            raise reader.wrong("^", f"joins texts, not {words(left.kind)} and {words(right.kind)}")
        if left.known and right.known:
            return constant(left.constant + right.constant, TEXT)
        text = f"concat({left.text}, {right.text})"
        return Leaf(text, TEXT, draws=left.draws or right.draws)
    if not numbers and not (texts and word in COMPARED):
        raise reader.wrong(
            word, f"takes two numbers, not {words(left.kind)} and {words(right.kind)}"
        )
    if REAL in (left.kind, right.kind) or word == "/":
        kind = REAL
    result = BOOL if word in COMPARED else kind
    if left.known and right.known:
        found = computed(word, left.constant, right.constant)
        if found is not None:
            return constant(found, result)  # type: ignore[arg-type]
    drawn = left.draws or right.draws
    if word in COMPARED:
        # With NaN, a comparison of reals and its opposite are both false. The opposite is therefore
        # not the negation, so no opposite is stored for comparisons of reals.
        whole = REAL not in (left.kind, right.kind)
        return compared(left.text, word, right.text, drawn, OPPOSITE[word] if whole else "")
    return Leaf(f"({left.text} {word} {right.text})", result, draws=drawn)


def computed(word: str, left: Any, right: Any) -> Any:
    """Returns the result of an operator for two known numbers. Returns None if the result is an
    error, such as an overflow. The caller then leaves the operation to the run, which reports the
    error."""
    if word in COMPARED:
        return COMPARED[word](left, right)
    if word in ("/", "//", "%") and right == 0:
        return None
    found = COMPUTED[word](left, right)
    if isinstance(found, int):
        return found if -INT_MOST <= found < INT_MOST else None
    return found if math.isfinite(found) else None


def listed(value: CpnValue, word: str, reader: MergeReader) -> Items:
    """Returns a list in two parts: its known elements, and the unknown remainder. Raises
    InputError for any other value. `word` is the operator that the message names."""
    if isinstance(value, Items):
        return value
    if isinstance(value, Leaf) and (value.kind == UNKNOWN or isinstance(value.kind, ListType)):
        return Items((), value)
    raise reader.wrong(words(kind_of(value)), f"'{word}' takes a list here")


def consed(head: CpnValue, tail: CpnValue, reader: MergeReader) -> Items:
    """Returns the list `head :: tail`. Raises InputError if element types differ."""
    found = listed(tail, "::", reader)
    return of_one_type(Items((head, *found.items), found.tail), reader)


def of_one_type(found: Items, reader: MergeReader) -> Items:
    """Returns the list `found` unchanged. Raises InputError if its elements have different
    types."""
    kinds = [kind_of(one) for one in found.items]
    if found.tail is not None and isinstance(found.tail.kind, ListType):
        kinds += [found.tail.kind.inner] if found.tail.kind.inner else []
    for one in kinds[1:]:
        if joined(kinds[0], one) is None:
            reason = f"a list holds one type, not {words(kinds[0])} and {words(one)}"
            raise reader.wrong("list", reason)
    return found


def concatenated(left: CpnValue, right: CpnValue, reader: MergeReader) -> CpnValue:
    """Returns the list `left ^^ right`. Raises InputError if element types differ."""
    first, second = listed(left, "^^", reader), listed(right, "^^", reader)
    if first.tail is None:
        return of_one_type(Items((*first.items, *second.items), second.tail), reader)
    if joined(kind_of(first), kind_of(second)) is None:
        kinds = words(kind_of(first)), words(kind_of(second))
        raise reader.wrong("^^", f"joins lists of one type, not {kinds[0]} and {kinds[1]}")
    parts = [reader.colours.leaf(one, reader.context) for one in (first, second)]
    kind = first.tail.kind if first.tail.kind != UNKNOWN else parts[1].kind
    text = f"concat({parts[0].text}, {parts[1].text})"
    return Leaf(text, kind, draws=any(one.draws for one in parts))


def number_of_tokens(bag: Bag, reader: MergeReader) -> Leaf:
    """Returns the number of tokens of a multiset."""
    total = constant(0, INT)
    for entry in bag.entries:
        count: CpnValue = entry.count
        if entry.when is not None:
            count = merged(entry.when, count, constant(0, INT), reader)
        assert isinstance(count, Leaf)
        total = count if total.constant == 0 else operated("+", total, count, reader)
    return total
