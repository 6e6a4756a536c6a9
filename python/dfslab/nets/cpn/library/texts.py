"""Defines the predefined functions of CPN ML whose values are texts, and functions of texts.

The engine joins, compares and measures texts, but takes no parts of texts. Functions that need
parts are computed only for texts that are known while the file is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dfslab.nets.cpn.cpn_evaluate import Evaluator
from dfslab.nets.cpn.cpn_match import equal
from dfslab.nets.cpn.cpn_merge import merged, operated
from dfslab.nets.cpn.cpn_ml import parse
from dfslab.nets.cpn.cpn_values import (
    BOOL,
    INT,
    REAL,
    TEXT,
    UNKNOWN,
    Builtin,
    CpnValue,
    Items,
    Leaf,
    ListType,
    Plain,
    Rec,
    Struct,
    ValueType,
    constant,
    kind_of,
    words,
)

PARTS = (
    "is read of texts that are known with the file; texts of tokens are joined (^), compared and "
    "measured: keep their parts in fields"
)
# Functions of two texts whose values are truth values, by the names in CPN ML.
COMPARED: Mapping[str, Callable[[str, str], bool]] = {
    "String.isPrefix": lambda part, whole: whole.startswith(part),
    "String.isSuffix": lambda part, whole: whole.endswith(part),
    "String.isSubstring": lambda part, whole: part in whole,
}


def digits(reader: Evaluator, value: CpnValue) -> Leaf:
    """Converts a whole number to a text in decimal digits (`Int.toString`)."""
    if not isinstance(value, Leaf) or value.kind not in (INT, UNKNOWN):
        raise reader.wrong(words(kind_of(value)), "is no whole number")
    if value.known:
        return constant(str(value.constant).replace("-", "~"), TEXT)
    return Leaf(f"text({value.text})", TEXT, draws=value.draws)


def truth(reader: Evaluator, value: CpnValue) -> Leaf:
    """Converts a truth value to the text "true" or "false" (`Bool.toString`)."""
    if not isinstance(value, Leaf) or value.kind not in (BOOL, UNKNOWN):
        raise reader.wrong(words(kind_of(value)), "is no truth value")
    if value.known:
        return constant(str(value.constant).lower(), TEXT)
    return Leaf(f'if({value.text}, "true", "false")', TEXT, draws=value.draws)


def real_digits(reader: Evaluator, value: CpnValue) -> Leaf:
    """Converts a known real number to a text (`Real.toString`). The engine writes no real numbers
    as texts."""
    if not isinstance(value, Leaf) or value.kind not in (INT, REAL, UNKNOWN):
        raise reader.wrong(words(kind_of(value)), "is no real number")
    if not value.known:
        reason = "is read of known numbers; write whole units as a text: Int.toString (round …)"
        raise reader.wrong("Real.toString", reason)
    text = repr(float(value.constant)).replace("e+", "E").replace("e", "E")
    return constant(text.replace("-", "~"), TEXT)


def comparison(name: str) -> Callable[[Evaluator, Sequence[CpnValue]], CpnValue]:
    """Returns the function `name` of the table COMPARED."""

    def run(reader: Evaluator, given: Sequence[CpnValue]) -> CpnValue:
        leaves = [one for one in given if isinstance(one, Leaf) and one.kind == TEXT]
        if len(leaves) != len(given):
            raise reader.wrong(name, "takes two texts")
        part, whole = leaves
        if not part.known or not whole.known:
            raise reader.wrong(name, PARTS)
        return constant(COMPARED[name](part.constant, whole.constant), BOOL)

    return run


def joined(reader: Evaluator, parts: Sequence[Leaf]) -> Leaf:
    """Joins texts to one text."""
    whole = constant("", TEXT)
    for one in parts:
        whole = one if whole.known and not whole.constant else operated("^", whole, one, reader)
    return whole


def known(text: str) -> Leaf:
    """Returns a text that is known while the file is read."""
    return constant(text, TEXT)


def shown(reader: Evaluator, kind: ValueType, value: CpnValue) -> Leaf:
    """Converts a value to the text by which CPN Tools shows it (`mkstr` of its colour set), such as
    `{no=1,owner="a"}`."""
    if isinstance(kind, ListType):
        return _shown_list(reader, kind, value)
    if isinstance(kind, Struct):
        return _shown_record(reader, kind, value)
    if kind == INT:
        return digits(reader, value)
    if kind == BOOL:
        return truth(reader, value)
    if kind == REAL:
        return real_digits(reader, value)
    if kind == TEXT:
        if not isinstance(value, Leaf) or value.kind not in (TEXT, UNKNOWN):
            raise reader.wrong(words(kind_of(value)), "is no text")
        return joined(reader, [known('"'), value, known('"')])
    assert isinstance(kind, Plain), "the type of a field is a single value, a list or a record"
    values = reader.colours.enums[kind.name]
    found: CpnValue = known(values[-1])
    for one in reversed(values[:-1]):
        condition = equal(constant(one, kind), value, reader)
        found = merged(condition, known(one), found, reader)
    assert isinstance(found, Leaf)
    return found


def _shown_record(reader: Evaluator, kind: Struct, value: CpnValue) -> Leaf:
    if not kind.fields:
        return known("()")
    if kind.union or not isinstance(value, Rec):
        reason = "of a union is not read; choose the text by case … of"
        raise reader.wrong("mkstr", reason)
    is_tuple = [label for label, _ in kind.fields] == [
        str(at + 1) for at in range(len(kind.fields))
    ]
    parts = [known("(" if is_tuple else "{")]
    for at, (label, inner) in enumerate(kind.fields):
        field = value.at(label)
        if field is None:
            raise reader.wrong(label, "is no field of the record")
        head = ("," if at else "") + ("" if is_tuple else f"{label}=")
        parts += [known(head)] * bool(head) + [shown(reader, inner, field)]
    return joined(reader, [*parts, known(")" if is_tuple else "}")])


def _shown_list(reader: Evaluator, kind: ListType, value: CpnValue) -> Leaf:
    inner = kind.inner
    if isinstance(value, Items) and value.tail is None:
        if not value.items:
            return known("[]")
        assert inner is not None, "a list with elements has a type"
        parts = [known("[")]
        for at, one in enumerate(value.items):
            parts += [known(",")] * (at > 0) + [shown(reader, inner, one)]
        return joined(reader, [*parts, known("]")])
    if inner is None:
        raise reader.wrong("mkstr", "takes a list with elements of a known type")
    each = Builtin(
        f"mkstr {inner}", 1, lambda context, given: shown(reader.reading(context), inner, given[0])
    )
    form = parse('fn f => fn l => "[" ^ String.concatWith "," (map f l) ^ "]"', reader.context)
    found = reader.apply(reader.apply(reader.value(form, {}), each), value)
    assert isinstance(found, Leaf)
    return found
