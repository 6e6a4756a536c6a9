"""Converts functions of CPN ML that must be evaluated during a run to functions of the net. If a
function is called with several combinations of argument types, it is converted once for each
combination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dfslab.nets.build import Net
from dfslab.nets.cpn.cpn_evaluate import Evaluator
from dfslab.nets.cpn.cpn_ml import free_names
from dfslab.nets.cpn.cpn_values import (
    INT,
    UNKNOWN,
    Bag,
    BagEntry,
    Builtin,
    Closure,
    CpnValue,
    Items,
    Leaf,
    ListType,
    Multi,
    Rec,
    Struct,
    ValueType,
    clean,
    drawn,
    flat,
    is_constant,
    kind_of,
    made_of,
)

FUNCTIONS_MOST, ROUNDS_MOST, COPIES_MOST = 1_000, 5, 100


@dataclass
class _Made:
    """The name of a function of the net, and the type of its result. The type is UNKNOWN until the
    function's body has been evaluated."""

    name: str
    result: ValueType = UNKNOWN


@dataclass(frozen=True)
class _Written:
    """A function of the file as one or several functions of the net, in the engine's language. If
    the result of the function is a record, there is one function of the net for each field, and
    `whole` is the common start of the names of these functions. Otherwise `whole` is the name of
    the only function of the net."""

    parameters: dict[str, str]
    result: str
    body: str
    draws: bool
    whole: str


class CalledFunctions:
    """Converts functions of a file to functions of the net. A function is converted when an
    inscription first calls it."""

    def __init__(self) -> None:
        self.written: dict[str, _Written] = {}
        self.made: dict[Any, _Made] = {}
        self.kept: list[Any] = []

    def called(self, evaluator: Evaluator, closure: Closure, given: Sequence[CpnValue]) -> CpnValue:
        """Returns a call of a function of the net for a call that is evaluated during the run, as
        text of the engine's language. Each argument is computed only once. `evaluator` is the
        evaluator of the text that calls the function."""
        abstract = _Abstract(evaluator)
        own = abstract.closure(closure)
        parts = [abstract.value(one) for one in given]
        key = (own[0], tuple(one[0] for one in parts))
        found = self.made.get(key)
        if found is None:
            found = self.make(key, closure.name, own[1], [one[1] for one in parts], abstract)
        arguments = ", ".join(one.text for one in abstract.arguments)
        is_drawn = any(one.draws for one in abstract.arguments) or found.name in self.drawing
        names = self.names(found)
        texts = iter([f"{name}({arguments})" for name in names])
        value = made_of(found.result, texts)
        return drawn(value) if is_drawn else value

    @property
    def drawing(self) -> set[str]:
        """Returns the names of those functions of the net that draw at random."""
        return {one.whole for one in self.written.values() if one.draws}

    def names(self, made: _Made) -> list[str]:
        """Returns the names of the net's functions that represent one function of the file. If the
        result of that function is a record, there is one function of the net for each field of the
        record."""
        if not isinstance(made.result, Struct):
            return [made.name]
        return [f"{made.name}_{label}" for label, _ in flat(made.result)]

    def make(
        self, key: Any, name: str, closure: Closure, given: list[CpnValue], abstract: _Abstract
    ) -> _Made:
        """Converts a function for one combination of argument types, which `key` identifies. The
        body of a recursive function depends on the type of the function's result. Therefore the
        body is evaluated repeatedly until that type no longer changes."""
        # In the body of a function of the net, locals are impossible, and the call depth starts at
        # 0.
        evaluator = replace(abstract.evaluator, hoist=None, depth=0)
        if len(self.made) >= FUNCTIONS_MOST:
            raise evaluator.wrong(name, f"is used in more than {FUNCTIONS_MOST} ways")
        made = self.made[key] = _Made(self.free(name))
        # `key` contains the ids of these two objects. The objects are kept alive, so that Python
        # does not give their ids to later objects.
        self.kept.append((closure, given))
        for _ in range(ROUNDS_MOST):
            body = evaluator.ran(closure, given)
            leaves = self.leaves(evaluator, body)
            kind = kind_of(body)
            if isinstance(kind, Multi) and isinstance(leaves[0].kind, ListType):
                kind = Multi(leaves[0].kind.inner)
            if kind == made.result:
                break
            made.result = kind
        if made.result == UNKNOWN:
            raise evaluator.wrong(name, "has no case that ends")
        self.document(made, leaves, abstract)
        return made

    def leaves(self, evaluator: Evaluator, body: CpnValue) -> list[Leaf]:
        """Returns the single values of which a function's result consists, as text. A multiset
        becomes one list of its tokens."""
        if isinstance(body, Bag):
            return [self.listed(evaluator, body)]
        return evaluator.colours.leaves(body, evaluator.context)

    def document(self, made: _Made, leaves: list[Leaf], abstract: _Abstract) -> None:
        """Stores a converted function in the form of the net definition. There is one function of
        the net for each field of its result."""
        colours, context = abstract.evaluator.colours, f"function {made.name}"
        for name, leaf in zip(self.names(made), leaves, strict=True):
            kind = leaf.kind
            self.written[name] = _Written(
                parameters={
                    one: colours.type_name(sort, context) for one, sort in abstract.parameters
                },
                result=colours.type_name(kind, context),
                body=leaf.text,
                draws=leaf.draws or any(f"{one}(" in leaf.text for one in self.drawing),
                whole=made.name,
            )

    def free(self, name: str) -> str:
        """Returns a name for a function of the net that is not in use."""
        name = clean(name)
        taken = {one.name for one in self.made.values()} | set(self.written)
        at, own = 1, f"{name}_1"
        while own in taken or any(one.startswith(f"{own}_") for one in taken):
            at += 1
            own = f"{name}_{at}"
        return own

    def listed(self, evaluator: Evaluator, bag: Bag) -> Leaf:
        """Converts a multiset to a list, since a function of the net cannot return a multiset."""
        text = ""
        kind: ValueType | None = None
        is_drawn = False
        for entry in bag.entries:
            if entry.delay is not None:
                raise evaluator.wrong("@+", "a function gives tokens without delays")
            one, inner = self.part(evaluator, entry)
            kind = kind or inner
            is_drawn = is_drawn or one.draws or (entry.when is not None and entry.when.draws)
            part = one.text if entry.when is None else f"if({entry.when.text}, {one.text}, [])"
            text = f"concat({text}, {part})" if text else part
        listed = Leaf(text or "[]", ListType(kind), draws=is_drawn)
        evaluator.colours.type_name(listed.kind, evaluator.context)
        return listed

    def part(self, evaluator: Evaluator, entry: BagEntry) -> tuple[Leaf, ValueType | None]:
        """Converts one entry of a multiset to a list of its tokens. Returns the list and the type
        of the tokens."""
        if entry.each is not None:
            each = entry.each.kind
            return entry.each, each.inner if isinstance(each, ListType) else None
        kind = kind_of(entry.value)
        if entry.count.known and 0 <= entry.count.constant <= COPIES_MOST:
            known = Items((entry.value,) * entry.count.constant)
            return evaluator.colours.leaf(known, evaluator.context), kind
        count = Rec((("1", entry.value), ("2", entry.count)))
        copies = evaluator.apply(evaluator.globals["copies"], count)
        return evaluator.colours.leaf(copies, evaluator.context), kind


class _Abstract:
    """Replaces the single values and lists in a call's arguments by parameters of a function of the
    net."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.arguments: list[Leaf] = []
        self.parameters: list[tuple[str, Any]] = []

    def value(self, value: CpnValue) -> tuple[Any, CpnValue]:
        """Returns (key, value with parameters in place of its parts). A single value or a list is
        replaced by a parameter, even if it is known while the file is read. In a record, each field
        is replaced. For functions, see `closure`.

        Two calls with equal keys can use the same function of the net.
        """
        if isinstance(value, Closure):
            return self.closure(value)
        if isinstance(value, Builtin):
            parts = [self.value(one) for one in value.given]
            given = tuple(one[1] for one in parts)
            key: Any = (value.name, tuple(one[0] for one in parts))
            return key, replace(value, given=given)
        if isinstance(value, Rec):
            made = [(label, self.value(one)) for label, one in value.fields]
            key = tuple((label, one[0]) for label, one in made)
            fields = tuple((label, one[1]) for label, one in made)
            return (value.union, key), Rec(fields, value.union)
        if isinstance(value, Bag):
            raise self.evaluator.wrong(
                "function", "takes a multiset that only a run knows; pass a list"
            )
        leaf = self.evaluator.colours.leaf(value, self.evaluator.context)
        name = f"p{len(self.parameters) + 1}"
        self.parameters.append((name, leaf.kind))
        self.arguments.append(leaf)
        return leaf.kind, Leaf(name, leaf.kind if leaf.kind != UNKNOWN else INT)

    def closure(self, closure: Closure) -> tuple[Any, Closure]:
        """Returns (key, function with parameters). The parameters replace those values that the
        function takes from outside its definition and that are known only during a run.

        Two functions with equal keys can use the same function of the net.
        """
        names = set().union(*(free_names(one) for one in closure.clauses))
        for clauses in closure.group.values():
            names |= set().union(*(free_names(one) for one in clauses))
        env, keys = dict(closure.env), []
        for name in sorted(names & env.keys() - closure.group.keys()):
            inner = env[name]
            if self.is_outside(inner):
                key, env[name] = self.value(inner)
                keys.append((name, key))
        parts = [self.value(one) for one in closure.given]
        keys.append(tuple(one[0] for one in parts))
        given = tuple(one[1] for one in parts)
        key = (id(closure.clauses[0]), tuple(keys))
        return key, Closure(closure.name, closure.clauses, env, closure.group, given)

    def is_outside(self, value: CpnValue) -> bool:
        """Returns whether a value must become a parameter of the function that takes it from
        outside its definition. True if the value, or a part of the value, is known only during a
        run."""
        if isinstance(value, Closure):
            env = value.env
            inner = set().union(*(free_names(one) for one in value.clauses))
            used = (env[name] for name in inner & env.keys() - value.group.keys())
            return any(self.is_outside(one) for one in used) or any(
                map(self.is_outside, value.given)
            )
        if isinstance(value, Builtin):
            return any(self.is_outside(one) for one in value.given)
        return not is_constant(value)


def add_functions(functions: CalledFunctions, net: Net) -> None:
    """Adds the converted functions to the net."""
    for name, one in functions.written.items():
        net.function(name, one.parameters, one.result, one.body)
