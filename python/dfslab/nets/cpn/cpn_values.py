"""Types and values of CPN ML, as they are represented while a file is read. A value that is known
only during a run is represented as text of the engine's language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dfslab.nets.cpn.cpn_ml import Tree


@dataclass(frozen=True)
class Plain:
    """The type of a single value. Its name is int, real, bool, text, or the name of an
    enumeration."""

    name: str


@dataclass(frozen=True)
class ListType:
    """The type of a list. `inner` is the type of its elements; None for the empty list `[]`, whose
    type fits every list type."""

    inner: ValueType | None


@dataclass(frozen=True)
class Struct:
    """The type of a record, product or union. `fields` has the label and type of each field. The
    labels of a product are numbers. A union has a tag, and a field for each constructor with an
    argument."""

    fields: tuple[tuple[str, ValueType], ...]
    union: str = ""


@dataclass(frozen=True)
class Multi:
    """The type of a multiset of tokens."""

    inner: ValueType | None


@dataclass(frozen=True)
class Arrow:
    """The type of a function."""

    name: str


ValueType = Plain | ListType | Struct | Multi | Arrow
INT, REAL, BOOL, TEXT = Plain("int"), Plain("real"), Plain("bool"), Plain("text")
# Placeholder for the result type of a recursive function while the function's body is being read.
UNKNOWN = Plain("?")
UNIT = Struct(())


class _Missing:
    """The type of MISSING, which marks a value that is not known while the file is read."""


MISSING = _Missing()


@dataclass(frozen=True)
class Leaf:
    """A single value or a list, as text of the engine's language. `constant` is the value if it is
    known while the file is read. `draws` is true if the value is random."""

    text: str
    kind: Plain | ListType
    constant: Any = MISSING
    draws: bool = False
    # `opposite`: for a comparison, the text of the opposite comparison; otherwise "". `conditions`:
    # for a conjunction, the texts of the conditions that `&&` joins; otherwise empty.
    opposite: str = ""
    conditions: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Returns whether the value is known while the file is read."""
        return self.constant is not MISSING


@dataclass(frozen=True)
class Items:
    """A list. `items` has its first elements, as far as they are known individually. `tail` is the
    remainder as text of the engine's language; None if there is no remainder."""

    items: tuple[CpnValue, ...]
    tail: Leaf | None = None


@dataclass(frozen=True)
class Rec:
    """A record, product or union.

    `fields` has the label and value of each field. `union` is the name of the union type (empty for
    other types). `base` is the text of the whole value in the engine's language; `base` is empty if
    there is no such text.
    """

    fields: tuple[tuple[str, CpnValue], ...] = ()
    union: str = ""
    base: str = ""

    def at(self, label: str) -> CpnValue | None:
        """Returns the value of a field; None if the record has no such field."""
        return dict(self.fields).get(label)


@dataclass(frozen=True)
class BagEntry:
    """Equal tokens of a multiset. `value` is their value, and `count` is the number of these
    tokens. `when` is the condition under which they are present (None: always). `delay` is their
    delay; `is_stamped` is whether the file writes the delay as a time stamp (`@`), which only an
    initial marking may have. `each`, if given, is a list with one token of the multiset for each of
    its elements."""

    value: CpnValue
    count: Leaf
    when: Leaf | None = None
    delay: Leaf | None = None
    each: Leaf | None = None
    is_stamped: bool = False


@dataclass(frozen=True)
class Bag:
    """A multiset of tokens."""

    entries: tuple[BagEntry, ...] = ()


@dataclass(frozen=True, eq=False)
class Closure:
    """A function of the file, with the arguments that it has received so far. `group` has the
    clauses of all functions of its declaration, which may call each other."""

    name: str
    clauses: tuple[Tree, ...]
    env: Mapping[str, CpnValue]
    group: Mapping[str, tuple[Tree, ...]] = field(default_factory=dict)
    given: tuple[CpnValue, ...] = ()

    @property
    def wanted(self) -> int:
        """Returns the number of arguments that the function needs before it is evaluated."""
        return len(self.clauses[0].parts) - 1


@dataclass(frozen=True, eq=False)
class Builtin:
    """A predefined function of CPN ML. It takes its arguments one after another, and is evaluated
    when it has received `wanted` arguments."""

    name: str
    wanted: int
    run: BuiltinFunction
    given: tuple[CpnValue, ...] = ()
    # Whether the function's text in the engine's language contains an argument more than once.
    repeats: bool = False


# A predefined function. Its arguments are the words by which error messages name the text with the
# call, and the values to which the function is applied.
BuiltinFunction = Callable[[str, Sequence["CpnValue"]], "CpnValue"]
CpnValue = Leaf | Items | Rec | Bag | Closure | Builtin
# The values of the local names that an expression may use.
Env = Mapping[str, CpnValue]
TRUE = Leaf("true", BOOL, True)
FALSE = Leaf("false", BOOL, False)
ONE = Leaf("1", INT, 1)


def clean(name: str) -> str:
    """Converts a name of CPN ML to a valid name of the engine's language. Characters that are not
    allowed become underscores."""
    return re.sub(r"\W", "_", name.replace("'", "_"))


def constant(value: Any, kind: Plain) -> Leaf:
    """Returns the representation of a single value that is known while the file is read."""
    if kind == TEXT:
        text = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    elif kind == BOOL:
        text = str(value).lower()
    elif kind in (INT, REAL):
        value = float(value) if kind == REAL else value
        text = f"({value})" if value < 0 else str(value)
    else:
        text = f"{kind.name}.{value}"
    return Leaf(text, kind, value)


def flat(kind: ValueType) -> list[tuple[str, Plain | ListType]]:
    """Returns the label and type of each field that a token of the type `kind` has. A record within
    a record is replaced by its fields, and labels are made unique."""
    found: dict[str, Plain | ListType] = {}
    for label, inner in _flat(kind, ""):
        while label in found:
            label += "_"
        found[label] = inner
    return list(found.items())


def _flat(kind: ValueType, name: str) -> Iterator[tuple[str, Plain | ListType]]:
    if isinstance(kind, Struct):
        for label, inner in kind.fields:
            own = f"f{label}" if label.isdigit() else clean(label)
            yield from _flat(inner, f"{name}_{own}" if name else own)
    elif isinstance(kind, Plain | ListType):
        yield name or "value", kind


def made_of(kind: ValueType, texts: Iterator[str], base: str = "") -> CpnValue:
    """Returns a value of the type `kind` from texts of the engine's language. `texts` has the text
    of each field, in the order of the function `flat`. `base` is the text of the whole value; it is
    used only for a record."""
    if isinstance(kind, Struct):
        fields = tuple((label, made_of(inner, texts)) for label, inner in kind.fields)
        return Rec(fields, kind.union, base)
    if isinstance(kind, Multi):
        listed = Leaf(next(texts), ListType(kind.inner))
        return Bag((each_of(listed),))
    assert not isinstance(kind, Arrow), "fields are no functions"
    return Leaf(next(texts), kind)


def element_of(text: str, kind: ValueType, is_drawn: bool = False) -> CpnValue:
    """Returns an element of a list as a value. `text`: the expression that takes the element out of
    the list. `kind`: the type of the element."""
    if isinstance(kind, ListType):
        found = made_of(kind, iter([f"{text}.value"]))
    elif not isinstance(kind, Struct):
        found = made_of(kind, iter([text]))
    else:
        labels = [label for label, _ in flat(kind)]
        found = made_of(kind, (f"{text}.{label}" for label in labels), text)
    return drawn(found) if is_drawn else found


def each_of(listed: Leaf) -> BagEntry:
    """Returns an entry of a multiset with one token for each element of a list."""
    inner = listed.kind.inner if isinstance(listed.kind, ListType) else None
    value = element_of(f"at({listed.text}, turn)", inner or INT, listed.draws)
    count = Leaf(f"length({listed.text})", INT, draws=listed.draws)
    return BagEntry(value, count, each=listed)


def kind_of(value: CpnValue) -> ValueType:
    """Returns the type of a value."""
    if isinstance(value, Leaf):
        return value.kind
    if isinstance(value, Rec):
        return Struct(tuple((label, kind_of(one)) for label, one in value.fields), value.union)
    if isinstance(value, Items):
        kinds = [kind_of(one) for one in value.items]
        known = [one for one in kinds if one != UNKNOWN]
        if known:
            return ListType(known[0])
        return value.tail.kind if value.tail else ListType(None)
    if isinstance(value, Bag):
        kinds = [kind_of(entry.value) for entry in value.entries]
        return Multi(kinds[0] if kinds else None)
    return Arrow(value.name)


def joined(left: ValueType, right: ValueType) -> ValueType | None:
    """Returns a type to which the values of both types belong. Returns None if there is no such
    type."""
    if left == right or right == UNKNOWN:
        return left
    if left == UNKNOWN:
        return right
    if isinstance(left, ListType) and isinstance(right, ListType):
        return ListType(_inner(left, right)) if _fits(left, right) else None
    if isinstance(left, Multi) and isinstance(right, Multi):
        return Multi(_inner(left, right)) if _fits(left, right) else None
    if isinstance(left, Struct) and isinstance(right, Struct) and left.union == right.union:
        pairs = [
            (a, joined(one, other))
            for (a, one), (b, other) in zip(left.fields, right.fields, strict=False)
            if a == b
        ]
        whole = len(pairs) == len(left.fields) == len(right.fields)
        fields = tuple((label, kind) for label, kind in pairs if kind is not None)
        return Struct(fields, left.union) if whole and len(fields) == len(pairs) else None
    return None


def _inner(left: ListType | Multi, right: ListType | Multi) -> ValueType | None:
    if left.inner is None or right.inner is None:
        return left.inner or right.inner
    return joined(left.inner, right.inner)


def _fits(left: ListType | Multi, right: ListType | Multi) -> bool:
    return left.inner is None or right.inner is None or _inner(left, right) is not None


def words(kind: ValueType) -> str:
    """Returns the words by which error messages call a type."""
    if isinstance(kind, Plain):
        return "something unknown" if kind == UNKNOWN else kind.name
    if isinstance(kind, ListType):
        return f"a list of {words(kind.inner)}" if kind.inner else "an empty list"
    if isinstance(kind, Multi):
        return f"a multiset of {words(kind.inner)}" if kind.inner else "an empty multiset"
    if isinstance(kind, Arrow):
        return f"the function {kind.name}"
    if kind.union:
        return kind.union
    if not kind.fields:
        return "unit"
    if all(label.isdigit() for label, _ in kind.fields):
        return "(" + ", ".join(words(one) for _, one in kind.fields) + ")"
    return "{" + ", ".join(f"{label}: {words(one)}" for label, one in kind.fields) + "}"


def is_static(value: CpnValue) -> bool:
    """Returns whether a call with this argument can be evaluated while the file is read, as far as
    the argument decides it. Of a list, only the number of elements must be known. Of a multiset,
    only the number of each token must be known."""
    if isinstance(value, Leaf):
        return value.known
    if isinstance(value, Rec):
        return all(is_static(one) for _, one in value.fields)
    if isinstance(value, Items):
        return value.tail is None
    if isinstance(value, Bag):
        return all(entry.count.known and entry.when is None for entry in value.entries)
    return True


def is_constant(value: CpnValue) -> bool:
    """Returns whether all parts of a value are known while the file is read."""
    if isinstance(value, Items):
        return value.tail is None and all(is_constant(one) for one in value.items)
    if isinstance(value, Rec):
        return all(is_constant(one) for _, one in value.fields)
    if isinstance(value, Bag):
        return is_static(value) and all(is_constant(entry.value) for entry in value.entries)
    return is_static(value)


def draws(value: CpnValue) -> bool:
    """Returns whether any part of a value is random."""
    if isinstance(value, Leaf):
        return value.draws
    if isinstance(value, Rec):
        return any(draws(one) for _, one in value.fields)
    if isinstance(value, Items):
        return any(map(draws, value.items)) or (value.tail is not None and value.tail.draws)
    if isinstance(value, Bag):
        return any(draws(entry.value) or entry.count.draws for entry in value.entries)
    return False


def drawn(value: CpnValue) -> CpnValue:
    """Returns the value with all its parts marked as random."""
    if isinstance(value, Leaf):
        return Leaf(value.text, value.kind, draws=True)
    if isinstance(value, Rec):
        return Rec(tuple((label, drawn(one)) for label, one in value.fields), value.union)
    return value


# The constants below name predefined functions of CPN ML that are not supported, or whose effect is
# left out.

# Names of functions with side effects, which are not supported. An entry that ends in a dot stands
# for all names that begin with it.
EFFECTS = (
    *("print", "TextIO.", "output", "input", "OS.", "Time.", "Date.", "ConnManagementLayer."),
    *("MSC.", "BitMap.", "Report.", "openIn", "openOut", "closeIn", "closeOut", "stop"),
)
# Functions that only write a log. A call returns the unit value `()`, and the log is discarded.
LOGS = (
    *("print", "TextIO.print", "TextIO.output", "TextIO.openOut", "TextIO.openAppend"),
    *("TextIO.flushOut", "TextIO.closeOut"),
)
EFFECTS_REFUSED = (
    "has side effects, which inscriptions here have not; log values with a monitor, keep what "
    "changes in a token"
)
# Functions of the type `option`, which are not supported, and the reason for the error message.
OPTIONS = (
    "SOME NONE valOf isSome getOpt Option.valOf Option.isSome Option.getOpt List.find "
    "List.mapPartial List.getItem Int.fromString Real.fromString Int.maxInt Int.minInt"
)
NO_OPTIONS = "options (SOME, NONE) are not read; use List.filter, or a list of no or one value"
NO_PARTS = "is not read: texts are joined (^), compared and measured; keep their parts in fields"
# Other functions that are not supported, each with the reason for the error message.
OTHERWISE = {
    **dict.fromkeys(
        ("hypergeometric", "lognormal", "random"),
        "is no distribution that is read; use discrete, bernoulli, exponential, normal or uniform",
    ),
    **dict.fromkeys(
        ("String.substring", "substring", "String.sub", "explode", "implode", "ord", "chr", "str"),
        NO_PARTS,
    ),
    **dict.fromkeys(
        ("Int.compare", "Real.compare", "String.compare", "List.collate"),
        "gives LESS, EQUAL or GREATER, which is not read; compare with <, = and >",
    ),
    **dict.fromkeys(
        ("iter", "List.iter", "repeat"),
        "is no loop that is read; use List.tabulate, foldl, or a function that calls itself",
    ),
    **dict.fromkeys(
        ("rint", "Real.rint"), "rounds in no way that is read; use round, floor, ceil, trunc"
    ),
    **dict.fromkeys(
        ("Math.sin", "Math.cos", "Math.tan", "Math.atan", "Math.asin", "Math.acos", "Math.atan2"),
        "is not read: the engine has ln, exp, sqrt and powers; list the values (List.nth)",
    ),
}
# The beginnings of names of functions that are not supported, each with the reason for the error
# message.
OTHERWISE_STARTS = {
    "Char.": NO_PARTS,
    "String.": NO_PARTS,
    "Substring.": NO_PARTS,
    "StringCvt.": NO_PARTS,
    "Random.": "is no distribution that is read; use discrete or uniform",
    "Array.": "is no list; use a list (List.nth, List.tabulate)",
    "Vector.": "is no list; use a list (List.nth, List.tabulate)",
    "Word.": "is no whole number of the engine; use int, div and mod",
    "Math.": "is not read: the engine has ln, exp, sqrt and powers; list the values (List.nth)",
}
UNDECLARED = "is no function that is read, nor declared as one; declare it with fun"


def unread(name: str) -> str:
    """Returns the reason why a function that the file does not declare cannot be read."""
    starts = (reason for start, reason in OTHERWISE_STARTS.items() if name.startswith(start))
    return EFFECTS_REFUSED if has_effects(name) else next(starts, UNDECLARED)


def has_effects(name: str) -> bool:
    """Returns whether the function with this name has side effects."""
    if name in (*LOGS, "TextIO.stdOut", "TextIO.stdErr"):
        return False
    return any(name == one or (one[-1] == "." and name.startswith(one)) for one in EFFECTS)
