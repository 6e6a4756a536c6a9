"""Parses inscriptions and declarations in the supported subset of CPN ML to syntax trees.

The subset has:

- numbers (`~` negates), strings, `()`, names, tuples, records, lists, `#field`;
- function application, `::`, `^^`, `^`, `+ - * / div mod`, comparisons, `andalso`, `orelse`, `not`;
- `if then else`, `let`, `case`, `fn`, patterns with `_` and `as`, and type annotations;
- multisets with `` ` ``, `++`, `--`, `**`, `empty`, `@+` and their comparisons;
- the declarations `val` and `fun`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dfslab.spec.input_error import InputError

TOKEN = re.compile(
    r"\s*(?:(?P<real>~?\d+\.\d+(?:[eE]~?\d+)?|~?\d+[eE]~?\d+)|(?P<int>~?\d+)"
    r"|(?P<str>\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<name>[A-Za-z][A-Za-z0-9_']*(?:\.[A-Za-z][A-Za-z0-9_']*)*)|(?P<any>_(?![A-Za-z0-9_]))"
    r"|(?P<op>\+\+\+|\+\+|---|--|->|=>|:=|\.\.\.|@\+|::|\^\^"
    r"|<><>|<<=|>>=|<<|>>|==|\*\*|<>|<=|>=|[-+*/=<>`#(),{}@\[\]~^;:|!]))"
)
MARK = re.compile(r"\"(?:[^\"\\]|\\.)*\"|\(\*|\*\)", re.DOTALL)
CHARACTERS_MOST, DEPTH_MOST, TREE_DEEP_MOST = 100_000, 400, 120
BAG_COMPARISONS = {one: f"{one}ms" for one in ("==", "<><>", "<<", "<<=", ">>", ">>=")}
LEVELS: tuple[Mapping[str, str], ...] = (
    {"orelse": "||"},
    {"andalso": "&&"},
    {"o": "o"},
    {"=": "==", "<>": "!=", **{one: one for one in ("<", "<=", ">", ">=")}, **BAG_COMPARISONS},
    {"::": "::", "^^": "^^"},
    {"+": "+", "-": "-", "^": "^"},
    {"**": "**", "*": "*", "/": "/", "div": "//", "mod": "%"},
)
LISTED = 4
OPENERS = ("(", "[", "{", "#", "!")
# Words of CPN ML that are not supported, each with the alternative that the error message suggests.
REFUSED: Mapping[str, str] = {
    ":=": "references are not read; keep what changes in a token",
    "ref": "references are not read; keep what changes in a token",
    "while": "loops are not read; write a function that calls itself",
    "raise": "exceptions are not read; give a value for every case",
    "handle": "exceptions are not read; give a value for every case",
    "structure": "structures are not read; declare the functions one after another",
    "open": "structures are not read; write the function's whole name",
    "use": "files are not read; put the declarations into the net",
}
RESERVED = {
    *("if", "then", "else", "case", "of", "let", "in", "end", "fn", "fun", "val", "and", "rec"),
    *("andalso", "orelse", "not", "div", "mod", "true", "false", "empty", "nil", "as", "op"),
    *REFUSED,
}


@dataclass(frozen=True)
class Tree:
    """A node of a syntax tree. `kind`: type of syntax. `word`: text of the node, such as a name or
    an operator. `parts`: child nodes."""

    kind: str
    word: str = ""
    parts: tuple[Tree, ...] = ()


EMPTY = Tree("empty")
UNIT = Tree("tuple")


def uncommented(text: str) -> str:
    """Returns a text without its comments `(* … *)`. Comments may be nested."""
    kept, depth, at = [], 0, 0
    for found in MARK.finditer(text):
        opens, closes = found[0] == "(*", found[0] == "*)" and depth > 0
        if opens and depth == 0:
            kept.append(text[at : found.start()])
        depth += opens - closes
        if closes and depth == 0:
            at = found.end()
    return " ".join([*kept, text[at:] if depth == 0 else ""])


def parse(text: str, context: str) -> Tree:
    """Parses an inscription. Raises InputError with a message of one line, in which `context` names
    the inscription."""
    return _MlParser(text, context).whole()


def conjuncts(text: str, context: str) -> list[Tree]:
    """Parses a guard and returns its conditions. The guard is a list `[a, b]` of conditions or one
    expression."""
    text = uncommented(text).strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].strip()
    if not text:
        return []
    tree = parse(f"({text})", context)
    return list(tree.parts) if tree.kind == "tuple" else [tree]


@dataclass(frozen=True)
class Declaration:
    """A declaration: the names that it declares, and its syntax tree. If it could not be read,
    `tree` is None and `error` has the reason."""

    names: tuple[str, ...]
    tree: Tree | None
    error: InputError | None = None


def parse_declaration(text: str, context: str) -> Declaration:
    """Parses one `val` or `fun` declaration. Raises InputError if it cannot be read."""
    tree = _MlParser(text, context).declared()
    return Declaration(tuple(_declared_names(tree)), tree)


def _declared_names(tree: Tree) -> Iterator[str]:
    for part in tree.parts:
        if part.kind == "function":
            yield part.word
        else:
            yield from names_of(part.parts[0])


def names_of(pattern: Tree) -> Iterator[str]:
    """Yields the names in a pattern, including the names of constructors."""
    if pattern.kind in ("name", "as"):
        yield pattern.word
    for part in pattern.parts:
        yield from names_of(part)


def free_names(tree: Tree, bound: frozenset[str] = frozenset()) -> set[str]:
    """Returns the names that occur in a syntax tree but are neither bound in it nor in `bound`."""
    if tree.kind == "name":
        return set() if tree.word in bound else {tree.word}
    if tree.kind == "clause":
        *patterns, body = tree.parts
        return free_names(body, bound.union(*(names_of(one) for one in patterns)))
    if tree.kind == "fun":
        inner = bound.union(one.word for one in tree.parts)
        return set().union(*(free_names(one, inner) for one in tree.parts))
    if tree.kind == "let":
        *declared, body = tree.parts
        found: set[str] = set()
        for one in declared:
            values = one.parts if one.kind == "fun" else [pair.parts[1] for pair in one.parts]
            own = bound.union(_declared_names(one)) if one.kind == "fun" else bound
            found = found.union(*(free_names(value, own) for value in values))
            bound = bound.union(_declared_names(one))
        return found | free_names(body, bound)
    return set().union(*(free_names(one, bound) for one in tree.parts))


class _MlParser:
    """A recursive-descent parser. It limits the depth of nesting, so that no text causes a stack
    overflow."""

    def __init__(self, text: str, context: str) -> None:
        if len(text) > CHARACTERS_MOST:
            raise InputError(context, len(text), f"at most {CHARACTERS_MOST} characters")
        text = uncommented(text)
        self.text, self.context, self.depth = " ".join(text.split()), context, 0
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(self.text):
            found = TOKEN.match(self.text, at)
            if found is None:
                raise self.wrong(f"'{self.text[at : at + 10]}' is not read")
            self.tokens.append((str(found.lastgroup), found.group().strip()))
            at = found.end()
        self.at = 0

    def wrong(self, reason: str) -> InputError:
        return InputError(self.context, self.text[:100], f"{reason}; see the subset of CPN ML")

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, *words: str) -> bool:
        if self.peek() in words and self.at < len(self.tokens):
            self.at += 1
            return True
        return False

    def need(self, word: str) -> None:
        if not self.take(word):
            self.stop()
            raise self.wrong(f"'{word}' is expected before '{self.peek() or 'the end'}'")

    def stop(self) -> None:
        """Raises InputError if the next word belongs to syntax that is known to be unsupported."""
        if self.peek() in REFUSED and self.kind() != "str":
            raise self.wrong(f"'{self.peek()}': {REFUSED[self.peek()]}")

    def whole(self) -> Tree:
        return self.ended(self.inner())

    def ended(self, tree: Tree) -> Tree:
        """Returns `tree`. Raises InputError if the text continues after the tree's text, or if the
        tree is nested too deeply."""
        if self.peek():
            self.stop()
            raise self.wrong(f"'{self.peek()}' is not expected")
        level, deep = [tree], 0
        while level:
            level, deep = [part for one in level for part in one.parts], deep + 1
        if deep > TREE_DEEP_MOST:
            raise self.wrong("the expression is nested too deeply or too long")
        return tree

    # Parsing of expressions, from the lowest precedence of operators to the highest.

    def inner(self) -> Tree:
        """Parses an expression or pattern in brackets, with `as` or a type annotation."""
        tree = self.multiset()
        if tree.kind == "name" and self.take("as"):
            tree = Tree("as", tree.word, (self.inner(),))
        if self.take(":"):
            tree = Tree("typed", self.type_words(), (tree,))
        return tree

    def type_words(self) -> str:
        words, open_brackets = [], 0
        while self.kind() == "name" or self.peek() in ("*", "->", "(", ")"):
            if self.peek() == ")" and not open_brackets:
                break
            open_brackets += {"(": 1, ")": -1}.get(self.peek(), 0)
            words.append(self.peek())
            self.at += 1
        if not words:
            raise self.wrong("a type is expected")
        return " ".join(words)

    def multiset(self) -> Tree:
        tree = self.timed()
        while self.peek() in ("++", "+++", "--", "---"):
            kind = "sum" if self.peek()[0] == "+" else "less"
            self.at += 1
            parts = tree.parts if kind == "sum" == tree.kind else (tree,)
            tree = Tree(kind, "", (*parts, self.timed()))
        return tree

    def timed(self) -> Tree:
        value = self.level(0)
        while self.peek() in ("@+", "@"):
            kind = "at" if self.peek() == "@+" else "stamp"
            self.at += 1
            value = Tree(kind, "", (value, self.level(LISTED)))
        return value

    def level(self, at: int) -> Tree:
        self.depth += 1
        if self.depth > DEPTH_MOST:
            raise self.wrong("the expression is nested too deeply or too long")
        if at == len(LEVELS):
            tree = self.counted()
        else:
            tree = self.level(at + 1)
            while self.peek() in LEVELS[at] and self.kind() != "str":
                word = LEVELS[at][self.peek()]
                self.at += 1
                if word == "o":
                    tree = _composed(tree, self.level(at + 1))
                    continue
                # The list operators `::` and `^^` are right-associative.
                after = at if at == LISTED else at + 1
                tree = Tree("op", word, (tree, self.level(after)))
        self.depth -= 1
        return tree

    def counted(self) -> Tree:
        value = self.application()
        if self.take("`"):
            return Tree("many", "", (value, self.application()))
        return value

    def application(self) -> Tree:
        tree = self.atom()
        while tree.kind in ("name", "apply", "label", "fn", "brackets") and self.starts():
            tree = Tree("apply", "", (tree, self.atom()))
        return tree

    def starts(self) -> bool:
        """Returns whether the next word of the text can begin an argument of a function."""
        if self.kind() == "name":
            values = ("true", "false", "nil", "empty", "op")
            return self.peek() not in {*RESERVED, "o"} or self.peek() in values
        return self.kind() in ("int", "real", "str", "any") or self.peek() in OPENERS

    def tight(self) -> Tree:
        """Parses the operand of a prefix operator. Raises InputError if the nesting is too deep."""
        self.depth += 8
        if self.depth > DEPTH_MOST:
            raise self.wrong("the expression is nested too deeply or too long")
        tree = self.application()
        self.depth -= 8
        return tree

    def atom(self) -> Tree:
        kind, word = self.kind(), self.peek()
        if not word:
            raise self.wrong("the expression ends too soon")
        self.stop()
        self.at += 1
        if kind in ("int", "real"):
            return Tree(kind, word.replace("~", "-"))
        if kind == "str":
            return Tree("str", re.sub(r"\\(.)", r"\1", word[1:-1].replace("\\n", "\n")))
        if kind == "any":
            return Tree("any")
        if kind == "name" and word not in RESERVED:
            return Tree("name", word)
        if word in ("true", "false"):
            return Tree("bool", word)
        if word in ("empty", "nil"):
            return EMPTY if word == "empty" else Tree("list")
        operators = {name: one for level in LEVELS for name, one in level.items()}
        if word == "op" and self.peek() in operators:
            self.at += 1
            return _function_of(operators[self.tokens[self.at - 1][1]])
        if word in self.BRACKETS:
            return self.BRACKETS[word](self)
        raise self.wrong(f"'{word}' is not read")

    def parenthesised(self) -> Tree:
        if self.take(")"):
            return UNIT
        parts = [self.inner()]
        if self.peek() == ";":
            while self.take(";"):
                parts.append(self.inner())
            self.need(")")
            return Tree("sequence", "", tuple(parts))
        while self.take(","):
            parts.append(self.inner())
        self.need(")")
        return parts[0] if len(parts) == 1 else Tree("tuple", "", tuple(parts))

    def listed(self) -> Tree:
        parts: list[Tree] = []
        if self.take("]"):
            return Tree("list")
        while not parts or self.take(","):
            parts.append(self.inner())
        self.need("]")
        return Tree("list", "", tuple(parts))

    def record(self) -> Tree:
        parts = []
        while not self.take("..."):
            name = self.peek()
            self.at += 1
            # In a record pattern, a label without a value binds a variable with the label's name.
            value = self.inner() if self.take("=") else Tree("name", name)
            parts.append(Tree("entry", name, (value,)))
            if not self.take(","):
                self.need("}")
                return Tree("record", "", tuple(parts))
        self.need("}")
        return Tree("record", "...", tuple(parts))

    def field(self) -> Tree:
        label = Tree("label", self.peek())
        self.at += 1
        return Tree("apply", "", (label, self.atom())) if self.starts() else label

    def choice(self) -> Tree:
        condition = self.level(0)
        self.need("then")
        yes = self.multiset()
        self.need("else")
        return Tree("if", "", (condition, yes, self.multiset()))

    def rules(self) -> tuple[Tree, ...]:
        found: list[Tree] = []
        while not found or self.take("|"):
            pattern = self.inner()
            self.need("=>")
            found.append(Tree("clause", "", (pattern, self.multiset())))
        return tuple(found)

    def case(self) -> Tree:
        subject = self.multiset()
        self.need("of")
        return Tree("case", "", (subject, *self.rules()))

    def let(self) -> Tree:
        parts: list[Tree] = []
        while not self.take("in"):
            parts.append(self.declaration())
            self.take(";")
        body = [self.multiset()]
        while self.take(";"):
            body.append(self.multiset())
        self.need("end")
        last = body[0] if len(body) == 1 else Tree("sequence", "", tuple(body))
        return Tree("let", "", (*parts, last))

    def negative(self) -> Tree:
        return Tree("negative", "", (self.tight(),))

    def negated(self) -> Tree:
        return Tree("not", "", (self.tight(),))

    def reference(self) -> Tree:
        return Tree("reference", "", (self.atom(),))

    def function_value(self) -> Tree:
        return Tree("fn", "", self.rules())

    BRACKETS = {
        "(": parenthesised,
        "[": listed,
        "{": record,
        "#": field,
        "~": negative,
        "not": negated,
        "!": reference,
        "if": choice,
        "case": case,
        "let": let,
        "fn": function_value,
    }

    # Parsing of declarations.

    def declared(self) -> Tree:
        return self.ended(self.declaration())

    def declaration(self) -> Tree:
        """Parses `val pattern = value` or `fun name patterns = body | …`, and declarations joined
        by `and`."""
        if self.take("fun"):
            functions = [self.function()]
            while self.take("and"):
                functions.append(self.function())
            return Tree("fun", "", tuple(functions))
        self.need("val")
        recursive = self.take("rec")
        parts = [self.value()]
        while self.take("and"):
            parts.append(self.value())
        if not recursive:
            return Tree("val", "", tuple(parts))
        named = [part for part in parts if part.parts[1].kind == "fn"]
        if len(named) != len(parts):
            raise self.wrong("`val rec` names functions")
        return Tree("fun", "", tuple(_function(part.parts[0], part.parts[1]) for part in parts))

    def value(self) -> Tree:
        pattern = self.level(LISTED)
        if self.take(":"):
            pattern = Tree("typed", self.type_words(), (pattern,))
        self.need("=")
        return Tree("value", "", (pattern, self.multiset()))

    def function(self) -> Tree:
        """Parses the clauses of one function, each with patterns and a body."""
        name, clauses = self.peek(), list[Tree]()
        while not clauses or self.take("|"):
            if self.kind() != "name" or self.peek() != name or name in RESERVED:
                raise self.wrong("a function has one name in all its clauses")
            self.at += 1
            patterns = []
            while self.starts():
                patterns.append(self.atom())
            if self.take(":"):
                self.type_words()
            self.need("=")
            clauses.append(Tree("clause", "", (*patterns, self.multiset())))
        if len({len(clause.parts) for clause in clauses}) != 1 or len(clauses[0].parts) < 2:
            raise self.wrong("a function's clauses have one number of patterns, at least one")
        return Tree("function", name, tuple(clauses))


def _composed(outer: Tree, inner: Tree) -> Tree:
    """Returns the tree of the composition `outer o inner`: a function that applies `inner` to its
    argument, and then `outer` to the result."""
    name = Tree("name", "x'")
    body = Tree("apply", "", (outer, Tree("apply", "", (inner, name))))
    return Tree("fn", "", (Tree("clause", "", (name, body)),))


def _function_of(operator: str) -> Tree:
    """Returns the tree of an operator as a function of a pair of values, such as `op +`."""
    names = Tree("name", "x'"), Tree("name", "y'")
    clause = Tree("clause", "", (Tree("tuple", "", names), Tree("op", operator, names)))
    return Tree("fn", "", (clause,))


def _function(name: Tree, fn: Tree) -> Tree:
    """Converts `val rec name = fn pattern => body` to the tree of a `fun` declaration."""
    return Tree("function", name.word, fn.parts)
