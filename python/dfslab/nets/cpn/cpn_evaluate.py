"""Evaluates expressions of CPN ML while a file is read.

Values that depend on tokens are known only during a run. Expressions for them are converted to text
of the engine's inscription language. All other values are computed while the file is read. A
recursion over known numbers and lists is therefore unrolled. A recursion over values that are known
only during a run becomes a function of the net.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dfslab.nets.cpn import cpn_multiset
from dfslab.nets.cpn.cpn_colours import Colours
from dfslab.nets.cpn.cpn_match import Match, equal, matched
from dfslab.nets.cpn.cpn_merge import (
    both,
    concatenated,
    consed,
    fault,
    is_rest,
    merged,
    negated,
    of_one_type,
    operated,
)
from dfslab.nets.cpn.cpn_ml import Declaration, Tree, free_names
from dfslab.nets.cpn.cpn_values import (
    BOOL,
    INT,
    ONE,
    REAL,
    TEXT,
    UNKNOWN,
    Bag,
    BagEntry,
    Builtin,
    Closure,
    CpnValue,
    Env,
    Items,
    Leaf,
    ListType,
    Rec,
    constant,
    draws,
    each_of,
    is_static,
    kind_of,
    unread,
    words,
)
from dfslab.spec.input_error import InputError

CALLS_DEEP_MOST, CALLS_MOST = 300, 200_000


@dataclass(frozen=True)
class Evaluator:
    """Evaluates the expressions of one text of a file, in which the names that the file declares
    may occur.

    The evaluators of all texts of a file share the tables of names. The evaluators differ in the
    fields `context`, `unknown`, `hoist` and `depth`. An evaluator never changes these fields:
    `reading` and `hoisting` return another evaluator.
    """

    colours: Colours
    # Handles a call that only a run can evaluate.
    specialised: Callable[[Evaluator, Closure, Sequence[CpnValue]], CpnValue]
    # Returns the value of a name with a dot, such as `CS.all`; None for an unknown name.
    dotted: Callable[[Evaluator, str], CpnValue | None]
    # The values of declared names, and the errors of names whose declarations cannot be read.
    globals: dict[str, CpnValue] = field(default_factory=dict)
    broken: dict[str, InputError] = field(default_factory=dict)
    constructors: set[str] = field(default_factory=set)
    # The initial values of references (`globref`) to which the file never assigns.
    references: dict[str, CpnValue] = field(default_factory=dict)
    # Counts the calls that are evaluated while the file is read.
    calls: Iterator[int] = field(default_factory=itertools.count)
    cached: dict[int, tuple[Tree, tuple[Tree, ...]]] = field(default_factory=dict)
    # The words by which error messages name the text.
    context: str = "declarations"
    # The reason for the InputError if a name is unknown.
    unknown: str = "is not declared"
    # Turns a random value into a local of a transition, for the text that the second argument
    # names; None if the text is not evaluated at firings of a transition.
    hoist: Callable[[Leaf, str], Leaf] | None = None
    # The number of calls of functions of the file inside which the text is evaluated.
    depth: int = 0

    def reading(self, context: str, unknown: str = "is not declared") -> Evaluator:
        """Returns the evaluator of the text that `context` names. `unknown` is the reason for the
        error if a name of the text is unknown."""
        return replace(self, context=context, unknown=unknown)

    def hoisting(self, hoist: Callable[[Leaf, str], Leaf]) -> Evaluator:
        """Returns the evaluator of the same text that turns random values into locals by
        `hoist`."""
        return replace(self, hoist=hoist)

    def local(self, value: Leaf) -> Leaf:
        """Returns the local of a transition for a random value. Must be called only if locals are
        possible (`hoist`)."""
        assert self.hoist is not None, "the text has no transition"
        return self.hoist(value, self.context)

    def wrong(self, value: Any, reason: str) -> InputError:
        """Returns an InputError for `value`. Its key names the text that is read (`context`)."""
        return InputError(self.context, value, reason)

    # Declarations of values and functions.

    def declare(self, found: Declaration) -> None:
        """Adds the names of a declaration, each with its value. If the declaration cannot be read,
        each name gets the error instead."""
        for name in found.names:
            self.globals.pop(name, None)
            self.broken.pop(name, None)
        try:
            if found.error is not None:
                raise found.error
            if found.tree is not None:
                self.globals.update(self.declared(found.tree, {}))
        except InputError as error:
            self.broken.update(dict.fromkeys(found.names, error))

    def declared(self, tree: Tree, env: Env) -> dict[str, CpnValue]:
        """Returns the names that a `val` or `fun` declaration defines, each with its value."""
        if tree.kind == "fun":
            group = {one.word: one.parts for one in tree.parts}
            outside = {**self.globals, **env}
            called = {name for one in tree.parts for name in free_names(one)}
            own = group if called & group.keys() else {}
            return {name: Closure(name, clauses, outside, own) for name, clauses in group.items()}
        made: dict[str, CpnValue] = {}
        for part in tree.parts:
            pattern, value = part.parts
            found = self.once(self.value(value, env))
            made.update(self.bound(pattern, found))
        return made

    def bound(self, pattern: Tree, value: CpnValue) -> dict[str, CpnValue]:
        """Returns the values of a pattern's names. Raises InputError if the match could fail."""
        match = self.match(pattern, value)
        if match is None or match.condition is not None:
            raise self.wrong(words(kind_of(value)), "a pattern of `val` must always fit")
        return match.names

    def match(self, pattern: Tree, value: CpnValue) -> Match | None:
        """Returns the match of a value with a pattern; None if the pattern never matches."""
        return matched(pattern, value, self)

    # Methods that evaluate expressions, one for each kind of syntax.

    def value(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates an expression that may use the names in `env`. Raises InputError for
        unsupported syntax."""
        read = READERS.get(tree.kind)
        if read is None:
            raise self.wrong(tree.kind, "cannot stand inside an expression of the subset read")
        return read(self, tree, env)

    def leaf(self, tree: Tree, env: Env, wanted: tuple[Any, ...], words_of: str) -> Leaf:
        """Evaluates an expression that must have a single value of a type in `wanted` (else
        InputError). `words_of`: the words for the expected type in the message."""
        value = self.value(tree, env)
        if not isinstance(value, Leaf) or value.kind not in (*wanted, UNKNOWN):
            raise self.wrong(words(kind_of(value)), f"stands where {words_of} is expected")
        return value

    def name(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates a name: a local name, else a name that the file or CPN ML declares."""
        name = tree.word
        if name in env:
            return env[name]
        if name in self.globals:
            return self.globals[name]
        if name in self.broken:
            raise self.broken[name]
        found = self.dotted(self, name)
        if found is not None:
            return found
        raise self.wrong(name, self.unknown)

    def reference(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates `!name`, the initial value of the reference. InputError if the reference is
        unknown."""
        del env
        name = tree.parts[0].word
        if name in self.broken:
            raise self.broken[name]
        if name not in self.references:
            reason = "references are not read; keep what changes in a token"
            raise self.wrong(f"!{name}", reason)
        return self.references[name]

    def literal(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates a literal: a whole or real number, a text, a truth value or the unit value."""
        del env
        if tree.kind == "int":
            return constant(int(tree.word), INT)
        if tree.kind == "real":
            return constant(float(tree.word), REAL)
        if tree.kind == "bool":
            return constant(tree.word == "true", BOOL)
        return constant(tree.word, TEXT)

    def compound(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates a list, a tuple or a record."""
        if tree.kind == "list":
            return of_one_type(Items(tuple(self.value(one, env) for one in tree.parts)), self)
        if tree.kind == "tuple":
            parts = [(str(at + 1), self.value(one, env)) for at, one in enumerate(tree.parts)]
            return Rec(tuple(parts))
        if tree.word == "...":
            raise self.wrong("...", "stands in patterns only")
        fields = tuple((one.word, self.value(one.parts[0], env)) for one in tree.parts)
        for order in self.colours.names:
            labels = [label for label, _ in order.fields]
            if not order.union and sorted(labels) == sorted(label for label, _ in fields):
                return Rec(tuple((label, dict(fields)[label]) for label in labels))
        return Rec(fields)

    def typed(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates an expression with a type annotation. An empty list gets the annotated type."""
        value = self.value(tree.parts[0], env)
        empty = isinstance(value, Items) and not value.items and value.tail is None
        if empty and tree.word in self.colours.sets:
            kind = self.colours.sets[tree.word].kind
            if isinstance(kind, ListType):
                return Leaf("[]", kind)
        return value

    def operation(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates an infix operation on two operands."""
        word = tree.word
        if word in ("&&", "||"):
            first = self.leaf(tree.parts[0], env, (BOOL,), "a truth value")
            if first.known and first.constant == (word == "||"):
                return first
            return both(word, first, self.leaf(tree.parts[1], env, (BOOL,), "a truth value"))
        left, right = (self.value(one, env) for one in tree.parts)
        if word == "::":
            return consed(left, right, self)
        if word == "^^":
            return concatenated(left, right, self)
        if word == "**" or word.endswith("ms"):
            return cpn_multiset.operated(self, word, left, right)
        if word in ("==", "!="):
            same = equal(left, right, self)
            return same if word == "==" else negated(same)
        if not isinstance(left, Leaf) or not isinstance(right, Leaf):
            odd = right if isinstance(left, Leaf) else left
            raise self.wrong(words(kind_of(odd)), f"is no operand of '{word}'")
        return operated(word, left, right, self)

    def prefixed(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates `not` on a truth value, or `~` on a number."""
        if tree.kind == "not":
            return negated(self.leaf(tree.parts[0], env, (BOOL,), "a truth value"))
        found = self.leaf(tree.parts[0], env, (INT, REAL), "a number")
        if found.known:
            return constant(-found.constant, found.kind)  # type: ignore[arg-type]
        return Leaf(f"(-{found.text})", found.kind, draws=found.draws)

    def choice(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates `if`. If the condition is known only during the run, the result contains both
        branches."""
        condition = self.leaf(tree.parts[0], env, (BOOL,), "a truth value")
        if condition.known:
            return self.value(tree.parts[1 if condition.constant else 2], env)
        if condition.draws and self.hoist is None:
            # A condition that draws at random must be evaluated only once. A function of the net
            # has no locals for its result, so the result is an argument of an additional function.
            truths = (Tree("bool", "true"), Tree("bool", "false"))
            clauses = self.clauses(tree, zip(truths, tree.parts[1:], strict=True))
            return self.call(Closure("if", clauses, env), [condition])
        yes, no = (self.value(one, env) for one in tree.parts[1:])
        if condition.draws and not (isinstance(yes, Leaf) and isinstance(no, Leaf)):
            condition = self.local(condition)
        return merged(condition, yes, no, self)

    def let(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates `let … in … end`: the body, with the local declarations added to `env`."""
        *parts, body = tree.parts
        inner = dict(env)
        for at, part in enumerate(parts):
            single = part.kind == "val" and len(part.parts) == 1
            if single and self.hoist is None:
                pattern, bound = part.parts[0].parts
                found = self.value(bound, inner)
                if draws(found):
                    # A random value must be drawn only once. A function of the net has no locals
                    # for it, so the value is an argument of an additional function.
                    rest = Tree("let", "", (*parts[at + 1 :], body))
                    clauses = self.clauses(part, [(pattern, rest)])
                    return self.call(Closure("let", clauses, inner), [found])
            inner.update(self.declared(part, inner))
        return self.value(body, inner)

    def case(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates `case`: the body of the first clause whose pattern matches."""
        subject, *clauses = tree.parts
        return self.call(Closure("case", tuple(clauses), env), [self.value(subject, env)])

    def function(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates `fn`. The function stores the values of the local names around it."""
        return Closure("fn", tree.parts, dict(env))

    def clauses(self, tree: Tree, pairs: Iterable[tuple[Tree, Tree]]) -> tuple[Tree, ...]:
        """Returns one clause for each pair of pattern and body. A second call for the same tree
        returns the same objects, because a function is identified by its clauses."""
        if id(tree) not in self.cached:
            self.cached[id(tree)] = tree, tuple(Tree("clause", "", pair) for pair in pairs)
        return self.cached[id(tree)][1]

    def label(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates `#label`: the function that returns this field of a record."""
        del env
        return Builtin(
            f"#{tree.word}",
            1,
            lambda context, given: self.reading(context).part(given[0], tree.word),
        )

    def part(self, value: CpnValue, label: str) -> CpnValue:
        """Returns a field of a record. Raises InputError if the value has no such field."""
        found = value.at(label) if isinstance(value, Rec) else None
        if found is None:
            raise self.wrong(f"#{label}", f"is no field of {words(kind_of(value))}")
        return found

    def application(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates the application of a function to an argument."""
        head, argument = tree.parts
        if head.kind == "name" and not self.is_known(head.word, env):
            self.unknown_function(head.word)
        return self.apply(self.value(head, env), self.value(argument, env))

    def is_known(self, name: str, env: Env) -> bool:
        """Returns whether a name is local (in `env`), declared in the file, or predefined."""
        known = name in env or name in self.globals or name in self.broken
        return known or self.dotted(self, name) is not None

    def unknown_function(self, name: str) -> None:
        """Raises InputError for a function that is not declared, or that has side effects."""
        raise self.wrong(name, unread(name))

    def apply(self, function: CpnValue, argument: CpnValue) -> CpnValue:
        """Applies a function to its next argument, and evaluates the function if no further
        argument is missing."""
        if not isinstance(function, Closure | Builtin):
            raise self.wrong(words(kind_of(function)), "is no function")
        given = (*function.given, argument)
        if len(given) < function.wanted:
            if isinstance(function, Builtin):
                return replace(function, given=given)
            return replace(function, given=given)
        if isinstance(function, Builtin):
            return function.run(self.context, self.arguments(function, given))
        return self.call(function, given)

    def arguments(self, function: Builtin, given: Sequence[CpnValue]) -> Sequence[CpnValue]:
        """Returns the arguments of a predefined function. A function with `repeats` contains an
        argument more than once in its text. Random arguments of such a function become locals, so
        that each is drawn only once. Raises InputError where locals are impossible."""
        if not function.repeats or not any(draws(one) for one in given):
            return given
        if self.hoist is None:
            reason = "of a random value stands in a function; draw it where the function is called"
            raise self.wrong(function.name, reason)
        return [self.once(one) for one in given]

    def call(self, closure: Closure, given: Sequence[CpnValue]) -> CpnValue:
        """Calls a function of the file with all its arguments. If possible, the call is evaluated
        while the file is read. Otherwise it becomes a call of a function of the net."""
        if next(self.calls) >= CALLS_MOST or self.depth >= CALLS_DEEP_MOST:
            raise self.wrong(
                closure.name,
                f"calls itself more than {CALLS_DEEP_MOST} deep or {CALLS_MOST} times "
                "while the file is read",
            )
        if closure.group and not all(is_static(one) for one in given):
            return self.specialised(self, closure, given)
        if self.hoist is None and any(draws(one) for one in given):
            return self.specialised(self, closure, given)
        inside = replace(self, depth=self.depth + 1)
        return inside.ran(closure, [self.once(one) for one in given])

    def ran(self, closure: Closure, given: Sequence[CpnValue]) -> CpnValue:
        """Evaluates the first clause whose patterns match the arguments. If only the tokens of a
        run decide which clause matches, the result is a conditional expression over the clauses."""
        group = closure.group
        fellows = {name: Closure(name, group[name], closure.env, group) for name in group}
        env = {**closure.env, **fellows}
        found: list[tuple[Leaf | None, CpnValue]] = []
        for clause in closure.clauses:
            *patterns, body = clause.parts
            matches = [self.match(*pair) for pair in zip(patterns, given, strict=True)]
            if any(one is None for one in matches):
                continue
            names: dict[str, CpnValue] = {}
            condition: Leaf | None = None
            for one in matches:
                names.update(one.names)  # type: ignore[union-attr]
                new = one.condition  # type: ignore[union-attr]
                condition = (
                    new
                    if condition is None
                    else condition
                    if new is None
                    else both("&&", condition, new)
                )
            if condition is not None and is_rest(condition, [one for one, _ in found]):
                condition = None
            found.append((condition, self.value(body, {**env, **names})))
            if condition is None:
                break
        if not found:
            raise self.wrong(closure.name, "has no case for a value that it is given")
        condition, value = found.pop()
        if condition is not None:
            value = merged(condition, value, fault(kind_of(value), self), self)
        for condition, other in reversed(found):
            value = merged(condition, other, value, self)  # type: ignore[arg-type]
        return value

    def once(self, value: CpnValue) -> CpnValue:
        """Returns the value with its random parts replaced by locals of the transition, which are
        computed once per firing. Where locals are impossible, the value is returned unchanged."""
        if self.hoist is None or not draws(value):
            return value
        if isinstance(value, Leaf):
            return self.local(value)
        if isinstance(value, Rec):
            return Rec(tuple((label, self.once(one)) for label, one in value.fields), value.union)
        if isinstance(value, Items):
            return self.local(self.colours.leaf(value, self.context))
        if isinstance(value, Bag):
            return Bag(tuple(self.once_each(entry) for entry in value.entries))
        return value

    def once_each(self, entry: BagEntry) -> BagEntry:
        """Returns an entry of a multiset with its value and count computed once per firing."""
        count = self.once(entry.count)
        assert isinstance(count, Leaf)
        return replace(entry, value=self.once(entry.value), count=count)

    def sequence(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates expressions separated by semicolons. Returns the value of the last
        expression."""
        values = [self.value(one, env) for one in tree.parts]
        return values[-1]

    # Conversion of values to multisets.

    def bag(self, value: CpnValue) -> Bag:
        """Converts a value to a multiset. A multiset is returned unchanged. The elements of a list
        become tokens; any other value becomes one token."""
        if isinstance(value, Bag):
            return value
        if isinstance(value, Items):
            entries = tuple(BagEntry(one, ONE) for one in value.items)
            return Bag((*entries, each_of(value.tail)) if value.tail else entries)
        if isinstance(value, Leaf) and value.kind == UNKNOWN:
            return Bag()
        if isinstance(value, Leaf) and isinstance(value.kind, ListType):
            return Bag((each_of(value),))
        return Bag((BagEntry(value, ONE),))


READERS: Mapping[str, Callable[[Evaluator, Tree, Env], CpnValue]] = {
    **dict.fromkeys(("int", "real", "bool", "str"), Evaluator.literal),
    **dict.fromkeys(("list", "tuple", "record"), Evaluator.compound),
    **dict.fromkeys(("not", "negative"), Evaluator.prefixed),
    **dict.fromkeys(("at", "stamp"), cpn_multiset.timed),
    "name": Evaluator.name,
    "reference": Evaluator.reference,
    "typed": Evaluator.typed,
    "op": Evaluator.operation,
    "if": Evaluator.choice,
    "let": Evaluator.let,
    "case": Evaluator.case,
    "fn": Evaluator.function,
    "label": Evaluator.label,
    "apply": Evaluator.application,
    "sequence": Evaluator.sequence,
    "many": cpn_multiset.many,
    "sum": cpn_multiset.total,
    "less": cpn_multiset.less,
    "empty": lambda self, tree, env: Bag(),
}
