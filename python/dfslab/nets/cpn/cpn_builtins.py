"""Defines the supported predefined functions of CPN ML: functions of numbers, random draws, texts,
lists and colour sets."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dfslab.nets.cpn.cpn_evaluate import Evaluator
from dfslab.nets.cpn.cpn_match import equal
from dfslab.nets.cpn.cpn_merge import both, compared, fault, listed, merged, number_of_tokens
from dfslab.nets.cpn.cpn_ml import Declaration, parse
from dfslab.nets.cpn.cpn_values import (
    BOOL,
    FALSE,
    INT,
    LOGS,
    NO_OPTIONS,
    ONE,
    OPTIONS,
    OTHERWISE,
    REAL,
    TEXT,
    UNKNOWN,
    Bag,
    BagEntry,
    Builtin,
    CpnValue,
    Items,
    Leaf,
    ListType,
    Plain,
    Rec,
    Struct,
    constant,
    draws,
    element_of,
    kind_of,
    words,
)
from dfslab.nets.cpn.library.texts import COMPARED as COMPARED_TEXTS
from dfslab.nets.cpn.library.texts import comparison, digits, real_digits, shown, truth
from dfslab.spec.input_error import InputError

# The functions of numbers, by their CPN ML names. Each entry has the number of arguments, the text
# in the engine's language, and the type of the result (None: the type of the argument).
NUMBERS: Mapping[str, tuple[int, str, Plain | None]] = {
    "exponential": (1, "exponential(1 / ({0}))", REAL),
    "uniform": (2, "uniform({0}, {1})", REAL),
    "erlang": (2, "erlang({0}, ({0}) / ({1}))", REAL),
    "discrete": (2, "floor(uniform({0}, ({1}) + 1))", INT),
    "bernoulli": (1, "discrete({0})", INT),
    # A normal variable is a random sign times the root of a chi-squared variable.
    "normal": (2, "({0} + sqrt({1}) * (2 * discrete(0.5) - 1) * sqrt(gamma(0.5, 2)))", REAL),
    "gamma": (2, "gamma({1}, 1 / ({0}))", REAL),
    "chisq": (1, "gamma(({0}) / 2, 2)", REAL),
    "weibull": (2, "weibull({0}, {1})", REAL),
    "rayleigh": (1, "weibull(({0}) * sqrt(2), 2)", REAL),
    "round": (1, "round({0})", INT),
    "floor": (1, "floor({0})", INT),
    "ceil": (1, "ceil({0})", INT),
    "trunc": (1, "if({0} < 0, ceil({0}), floor({0}))", INT),
    "abs": (1, "abs({0})", None),
    "real": (1, "({0} * 1.0)", REAL),
    "Int.min": (2, "min({0}, {1})", None),
    "Int.max": (2, "max({0}, {1})", None),
    "Math.ln": (1, "ln({0})", REAL),
    "Math.exp": (1, "exp({0})", REAL),
    "Math.sqrt": (1, "sqrt({0})", REAL),
}
CHANCE = (
    *("exponential", "uniform", "erlang", "discrete", "bernoulli"),
    *("normal", "gamma", "chisq", "weibull", "rayleigh"),
)
COMPUTED: Mapping[str, Callable[..., Any]] = {
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "abs": abs,
    "real": float,
    "Int.min": min,
    "Int.max": max,
}
# The simulated time in whole time units (seconds). Like a random value, the time is read once per
# firing.
NOW = Leaf("floor(now())", INT, draws=True)
SAME = {
    "intTime": "time",
    "ModelTime.time": "time",
    "IntInf.fromInt": "IntInf.toInt",
    "Int.toLarge": "IntInf.toInt",
    "Int.fromLarge": "IntInf.toInt",
    "Real.fromInt": "real",
    "Real.floor": "floor",
    "Real.ceil": "ceil",
    "Real.round": "round",
    "Real.trunc": "trunc",
    "Real.min": "Int.min",
    "Real.max": "Int.max",
    "Int.abs": "abs",
    "Real.abs": "abs",
    "IntInf.toString": "Int.toString",
    "ModelTime.toString": "Int.toString",
    "List.length": "length",
    "List.hd": "hd",
    "List.tl": "tl",
    "List.rev": "rev",
    "List.null": "null",
    "String.size": "size",
    "String.concat": "concat",
    "List.map": "map",
    "List.filter": "filter",
    "List.exists": "exists",
    "List.all": "all",
    "List.foldl": "foldl",
    "List.foldr": "foldr",
    "List.take": "take",
    "List.drop": "drop",
    "List.last": "last",
    "List.concat": "flatten",
    "List.tabulate": "tabulate",
    "List.partition": "partition",
    "List.app": "app",
    "ListPair.zip": "zip",
    "ListPair.unzip": "unzip",
    "String.explode": "explode",
    "String.implode": "implode",
    "ModelTime.fromInt": "IntInf.toInt",
    "ModelTime.toInt": "IntInf.toInt",
}


# The implementation of a predefined function. Its arguments are the evaluator of the text with the
# call, and the arguments of the call.
ReaderFunction = Callable[[Evaluator, Sequence[CpnValue]], CpnValue]
# The functions of lists, texts and time, each with the number of its arguments.
FUNCTIONS: Mapping[str, tuple[int, ReaderFunction]] = {
    "hd": (1, lambda reader, given: head(reader, given[0])),
    "tl": (1, lambda reader, given: tail(reader, given[0])),
    "null": (1, lambda reader, given: null(reader, given[0])),
    "length": (1, lambda reader, given: length(reader, given[0])),
    "rev": (1, lambda reader, given: reverse(reader, given[0])),
    "mem": (2, lambda reader, given: member(reader, given[0], given[1])),
    "List.nth": (1, lambda reader, given: nth(reader, arguments(reader, given[0], 2, "List.nth"))),
    "size": (1, lambda reader, given: length(reader, given[0])),
    "Int.toString": (1, lambda reader, given: digits(reader, given[0])),
    "Bool.toString": (1, lambda reader, given: truth(reader, given[0])),
    "Real.toString": (1, lambda reader, given: real_digits(reader, given[0])),
    "time": (1, lambda reader, given: NOW),
    "IntInf.toInt": (1, lambda reader, given: given[0]),
    "list_to_ms": (1, lambda reader, given: reader.bag(given[0])),
    "ms_to_list": (1, lambda reader, given: flattened(reader, given[0])),
}


def add_builtins(evaluator: Evaluator, prelude: Iterable[Declaration]) -> None:
    """Adds the predefined functions to the names that an evaluator knows."""
    names = evaluator.globals
    for name in NUMBERS:
        repeats = any(NUMBERS[name][1].count(f"{{{at}}}") > 1 for at in (0, 1))
        names[name] = builtin(evaluator, name, 1, number(name), repeats)
    for name, (wanted, run) in FUNCTIONS.items():
        names[name] = builtin(evaluator, name, wanted, run, name in ("mem", "List.nth"))
    for name in COMPARED_TEXTS:
        names[name] = builtin(evaluator, name, 2, comparison(name))
    for name in LOGS:
        names[name] = Builtin(name, 1, lambda context, given: Rec())
    names["TextIO.stdOut"] = names["TextIO.stdErr"] = Rec()
    for name in OPTIONS.split():
        evaluator.broken[name] = InputError("declarations", name, NO_OPTIONS)
    for found in prelude:
        evaluator.declare(found)
    for name, reason in OTHERWISE.items():
        names[name] = builtin(evaluator, name, 1, refused(name, reason))
    for name, other in SAME.items():
        names[name] = names[other]


def builtin(
    evaluator: Evaluator, name: str, wanted: int, function: ReaderFunction, repeats: bool = False
) -> Builtin:
    """Returns a predefined function that takes `wanted` arguments one after another."""
    run = lambda context, given: function(evaluator.reading(context), given)  # noqa: E731
    return Builtin(name, wanted, run, repeats=repeats)


def refused(name: str, reason: str) -> ReaderFunction:
    """Returns a function whose call raises InputError with `reason`. `name`: its CPN ML name."""

    def run(reader: Evaluator, given: Sequence[CpnValue]) -> CpnValue:
        raise reader.wrong(name, reason)

    return run


def arguments(reader: Evaluator, value: CpnValue, count: int, name: str) -> list[CpnValue]:
    """Returns the elements of a tuple. Raises InputError if their number is not `count`. `name`
    is the name of the called function for the message."""
    found: list[CpnValue] = [value]
    if isinstance(value, Rec):
        found = [one for _, one in value.fields]
    if len(found) != count:
        raise reader.wrong(name, f"takes {count} arguments, not {len(found)}")
    return found


def number(name: str) -> ReaderFunction:
    """Returns the function `name` of the table NUMBERS, whose arguments are numbers."""
    wanted, form, kind = NUMBERS[name]

    def run(reader: Evaluator, given: Sequence[CpnValue]) -> CpnValue:
        leaves = []
        for one in arguments(reader, given[0], wanted, name):
            if not isinstance(one, Leaf) or one.kind not in (INT, REAL, UNKNOWN):
                raise reader.wrong(name, f"takes numbers, not {words(kind_of(one))}")
            leaves.append(one)
        own = kind or (REAL if REAL in [one.kind for one in leaves] else leaves[0].kind)
        if name in COMPUTED and all(one.known for one in leaves):
            assert isinstance(own, Plain)
            return constant(COMPUTED[name](*(one.constant for one in leaves)), own)
        drawn = name in CHANCE or any(one.draws for one in leaves)
        return Leaf(form.format(*(one.text for one in leaves)), own, draws=drawn)

    return run


def head(reader: Evaluator, value: CpnValue) -> CpnValue:
    """Returns the first element of a list (`hd`)."""
    found = listed(value, "hd", reader)
    if found.items:
        return found.items[0]
    kind = found.tail.kind if found.tail else ListType(None)
    inner = kind.inner if isinstance(kind, ListType) else UNKNOWN
    if found.tail is None or inner is None:
        raise reader.wrong("hd", "of an empty list has no value")
    return element_of(f"head({found.tail.text})", inner, found.tail.draws)


def tail(reader: Evaluator, value: CpnValue) -> CpnValue:
    """Returns a list without its first element (`tl`)."""
    found = listed(value, "tl", reader)
    if found.items:
        return Items(found.items[1:], found.tail)
    if found.tail is None:
        raise reader.wrong("tl", "of an empty list has no value")
    return Leaf(f"tail({found.tail.text})", found.tail.kind, draws=found.tail.draws)


def null(reader: Evaluator, value: CpnValue) -> CpnValue:
    """Returns the expression for whether a list is empty (`null`)."""
    found = listed(value, "null", reader)
    if found.items or found.tail is None:
        return constant(not found.items, BOOL)
    return compared(found.tail.text, "==", "[]", found.tail.draws)


def length(reader: Evaluator, value: CpnValue) -> CpnValue:
    """Returns the length of a list or text, or the number of tokens of a multiset."""
    if isinstance(value, Leaf) and value.kind == TEXT and value.known:
        return constant(len(value.constant), INT)
    if isinstance(value, Bag):
        return number_of_tokens(value, reader)
    if not isinstance(value, Leaf) or value.kind != TEXT:
        found = listed(value, "length", reader)
        if found.tail is None:
            return constant(len(found.items), INT)
    leaf = reader.colours.leaf(value, reader.context)
    return Leaf(f"length({leaf.text})", INT, draws=leaf.draws)


def reverse(reader: Evaluator, value: CpnValue) -> CpnValue:
    """Returns a list in reverse order (`rev`)."""
    found = listed(value, "rev", reader)
    if found.tail is None:
        return Items(found.items[::-1])
    leaf = reader.colours.leaf(found, reader.context)
    return Leaf(f"reverse({leaf.text})", leaf.kind, draws=leaf.draws)


def member(reader: Evaluator, value: CpnValue, wanted: CpnValue) -> CpnValue:
    """Returns the expression for whether a list contains the value `wanted` (`mem`)."""
    found = listed(value, "mem", reader)
    if found.tail is None:
        answer: Leaf = FALSE
        for one in found.items:
            answer = both("||", answer, equal(one, wanted, reader))
        return answer
    leaf = reader.colours.leaf(found, reader.context)
    kind = leaf.kind.inner if isinstance(leaf.kind, ListType) else None
    one = reader.colours.element(wanted, kind, reader.context)
    return Leaf(f"contains({leaf.text}, {one.text})", BOOL, draws=leaf.draws or one.draws)


def nth(reader: Evaluator, given: list[CpnValue]) -> CpnValue:
    """Returns the element at a position of a list (`List.nth`); positions count from 0."""
    value, at = given
    found = listed(value, "List.nth", reader)
    known = isinstance(at, Leaf) and at.known
    if known and isinstance(at, Leaf) and 0 <= at.constant < len(found.items):
        item: CpnValue = found.items[at.constant]
        return item
    kind = kind_of(found)
    inner = kind.inner if isinstance(kind, ListType) else None
    if isinstance(inner, Struct) and found.tail is None and isinstance(at, Leaf):
        return nth_of_known(reader, found, at, inner)
    if inner is None or not isinstance(at, Leaf) or at.kind != INT:
        raise reader.wrong("List.nth", "takes a list with elements and a number")
    leaf = reader.colours.leaf(found, reader.context)
    return element_of(f"at({leaf.text}, {at.text})", inner, leaf.draws or at.draws)


def nth_of_known(reader: Evaluator, found: Items, at: Leaf, kind: Struct) -> CpnValue:
    """Returns the record at position `at`, which is not known, of a list of known elements."""
    value = fault(kind, reader)
    for number, item in reversed(list(enumerate(found.items))):
        condition = compared(at.text, "==", str(number), at.draws)
        value = merged(condition, item, value, reader)
    return value


def flattened(reader: Evaluator, value: CpnValue) -> CpnValue:
    """Converts a multiset to a list. If the multiset was made from one list, returns that list.
    Raises InputError if the counts of its tokens are known only during the run."""
    items: list[CpnValue] = []
    bag = reader.bag(value)
    for entry in bag.entries:
        if entry.each is not None and len(bag.entries) == 1 and entry.when is None:
            return entry.each
        if not entry.count.known or entry.when is not None or entry.each is not None:
            raise reader.wrong("ms_to_list", "takes a multiset of known counts")
        items += [entry.value] * entry.count.constant
    return Items(tuple(items))


def of_colour(reader: Evaluator, name: str) -> CpnValue | None:
    """Returns the function `colour_set.function` or `of_colour_set'constructor`. Returns None
    if the name contains no colour set of the file, or the colour set has no such function."""
    drawn = re.fullmatch(r"ran'(\w+)", name)
    if drawn:
        # The name of the function in files of earlier versions of CPN Tools.
        return of_colour(reader, f"{drawn[1]}.ran")
    tested = re.fullmatch(r"of_(\w+)'(\w+)", name)
    if tested and tested[1] in reader.colours.sets:
        return is_made_by(reader, tested[1], tested[2])
    colour, dot, word = name.rpartition(".")
    if not dot or colour not in {*reader.colours.sets, *reader.colours.broken}:
        return None
    kind = reader.colours.known(colour, reader.context).kind
    if word in ("all", "ran", "size"):
        of = {"all": all_values, "ran": random_value, "size": size}[word]
        return builtin(reader, name, 1, lambda caller, given: of(caller, colour))
    if word == "mkstr":
        return builtin(reader, name, 1, lambda caller, given: shown(caller, kind, given[0]), True)
    if word == "lt" and kind in (INT, REAL, TEXT):
        return reader.value(parse("fn (x, y) => x < y", reader.context), {})
    if word.startswith("set_") and isinstance(kind, Struct):
        label = word.removeprefix("set_")
        run = lambda caller, given: updated(caller, given[0], label, given[1])  # noqa: E731
        return builtin(reader, name, 2, run)
    if word in ("col", "ord"):
        run = lambda caller, given: ordered(caller, colour, word, given[0])  # noqa: E731
        return builtin(reader, name, 1, run, True)
    if word == "mult" and isinstance(kind, Struct):
        return builtin(reader, name, 1, lambda caller, given: multiplied(caller, kind, given[0]))
    if word == "legal":
        run = lambda caller, given: legal(caller, colour, given[0])  # noqa: E731
        return builtin(reader, name, 1, run, True)
    return None


def is_made_by(reader: Evaluator, colour: str, constructor: str) -> CpnValue | None:
    """Returns the function that tests whether `constructor` made a value; None if `constructor` is
    not declared."""
    kind = reader.colours.sets[colour].kind
    if not isinstance(kind, Struct) or constructor not in reader.constructors:
        return None
    pattern = f"{constructor} _" if constructor in dict(kind.fields) else constructor
    return reader.value(parse(f"fn {pattern} => true | _ => false", reader.context), {})


def values_of(reader: Evaluator, colour: str) -> list[CpnValue]:
    """Returns all values of a colour set. Raises InputError if there are too many values to
    list."""
    return reader.colours.members(colour, reader.context)


def all_values(reader: Evaluator, colour: str) -> CpnValue:
    """Returns the multiset that holds every value of a colour set once (`CS.all`)."""
    return Bag(tuple(BagEntry(one, ONE) for one in values_of(reader, colour)))


def size(reader: Evaluator, colour: str) -> CpnValue:
    """Returns the number of values of a colour set (`CS.size`)."""
    return constant(len(values_of(reader, colour)), INT)


def random_value(reader: Evaluator, colour: str) -> CpnValue:
    """Returns a value of a colour set, drawn uniformly at each firing. Raises InputError if the
    set is too large to list, or if its values are compound, such as records."""
    members = Items(tuple(values_of(reader, colour)))
    leaf = reader.colours.leaf(members, reader.context)
    kind = kind_of(members.items[0])
    if not isinstance(kind, Plain):
        raise reader.wrong(f"{colour}.ran", "draws single values; draw the fields")
    return Leaf(f"at({leaf.text}, floor(uniform(0, {len(members.items)})))", kind, draws=True)


def updated(reader: Evaluator, value: CpnValue, label: str, new: CpnValue) -> CpnValue:
    """Returns a record in which the field `label` has the value `new` (`CS.set_label`)."""
    if not isinstance(value, Rec) or value.at(label) is None:
        raise reader.wrong(f"set_{label}", "is no field of the record")
    fields = ((one, new if one == label else old) for one, old in value.fields)
    return Rec(tuple(fields), value.union)


def ordered(reader: Evaluator, colour: str, word: str, value: CpnValue) -> CpnValue:
    """Returns a value that `word` selects: "ord": position of `value` in its colour set; "col":
    value at the position `value`."""
    members = values_of(reader, colour)
    numbers: list[CpnValue] = [constant(at, INT) for at in range(len(members))]
    orders = {"ord": (members, numbers), "col": (numbers, members)}
    known, wanted = orders[word]
    found = wanted[-1]
    for one, other in zip(reversed(known[:-1]), reversed(wanted[:-1]), strict=True):
        found = merged(equal(one, value, reader), other, found, reader)
    return found


def legal(reader: Evaluator, colour: str, value: CpnValue) -> CpnValue:
    """Returns the expression for whether a value is in a colour set (`CS.legal`)."""
    answer: Leaf = FALSE
    for one in values_of(reader, colour):
        answer = both("||", answer, equal(one, value, reader))
    return answer


def multiplied(reader: Evaluator, kind: Struct, value: CpnValue) -> CpnValue:
    """Returns the product of two or more multisets: all combinations of their tokens, as
    values of the product colour set `kind`."""
    if not isinstance(value, Rec) or len(value.fields) != len(kind.fields):
        raise reader.wrong("mult", f"takes {len(kind.fields)} multisets")
    made: list[tuple[tuple[CpnValue, ...], Leaf, Leaf | None]] = [((), ONE, None)]
    for _, one in value.fields:
        longer = []
        for entry in reader.bag(one).entries:
            if entry.each or draws(entry.value) or entry.delay:
                raise reader.wrong("mult", "takes listed tokens without delays")
            for values, count, when in made:
                longer.append(((*values, entry.value), *product(reader, count, when, entry)))
        made = longer
    labels = [label for label, _ in kind.fields]
    entries = (
        BagEntry(Rec(tuple(zip(labels, values, strict=True)), kind.union), count, when)
        for values, count, when in made
    )
    return Bag(tuple(entries))


def product(
    reader: Evaluator, count: Leaf, when: Leaf | None, entry: BagEntry
) -> tuple[Leaf, Leaf | None]:
    """Returns (product of the counts, conjunction of the conditions or None without any)."""
    number = Leaf(f"({count.text} * {entry.count.text})", INT)
    if count.known and entry.count.known:
        number = constant(count.constant * entry.count.constant, INT)
    elif count == ONE:
        number = entry.count
    both_hold = when if entry.when is None else entry.when
    if when is not None and entry.when is not None:
        both_hold = both("&&", when, entry.when)
    return number, both_hold
