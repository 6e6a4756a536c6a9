"""Reads the declarations of a `.cpn` file in order: colour sets, variables, values and functions.

If a declaration cannot be read, only nets that use it are rejected.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence

from dfslab.nets.cpn.cpn_builtins import add_builtins, of_colour
from dfslab.nets.cpn.cpn_colours import PLAIN, Colours, between, booleans, text_of
from dfslab.nets.cpn.cpn_evaluate import Evaluator
from dfslab.nets.cpn.cpn_functions import CalledFunctions
from dfslab.nets.cpn.cpn_ml import Declaration, parse, parse_declaration, uncommented
from dfslab.nets.cpn.cpn_values import (
    BOOL,
    INT,
    ONE,
    REAL,
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
    ValueType,
    clean,
    constant,
    kind_of,
    words,
)
from dfslab.nets.cpn.library.basis import BASIS
from dfslab.spec.input_error import InputError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_']*")

# The keywords that begin a declaration.
HEADS = "val|fun|datatype|type|exception|open|infix|infixr|nonfix"


def declarations(text: str, context: str) -> Iterator[Declaration]:
    """Parses the `val` and `fun` declarations in a text, and yields them in order. Each declaration
    is parsed separately, so that an error in one declaration does not affect the next. A
    declaration with an error has no tree."""
    text = _opened(uncommented(text))
    depth, heads = 0, []
    for found in re.finditer(rf"\b(let|in|end|{HEADS})\b|\"(?:[^\"\\]|\\.)*\"", text):
        depth += {"let": 1, "end": -1}.get(found[0], 0)
        if depth == 0 and re.fullmatch(HEADS, found[0]):
            heads.append(found.start())
    if text[: heads[0] if heads else None].strip(" ;\n\t"):
        yield _unread(text[: heads[0] if heads else None], context)
    for start, end in zip(heads, [*heads[1:], len(text)], strict=False):
        piece = text[start:end].strip().rstrip("; ")
        if not re.match(r"(?:val|fun)\b", piece):
            yield _unread(piece, context)
            continue
        try:
            yield parse_declaration(piece, context)
        except InputError as error:
            yield _unread(piece, context, error)


def _opened(text: str) -> str:
    """Returns the text of declarations without `local` blocks. Each block `local … in … end` is
    replaced by the declarations that it contains."""
    pieces, opened, at = [], list[str](), 0
    for found in re.finditer(r"\b(let|local|in|end)\b|\"(?:[^\"\\]|\\.)*\"", text):
        word = found[0]
        is_local = word == "local" or (word in ("in", "end") and opened[-1:] == ["local"])
        if is_local:
            pieces.append(text[at : found.start()])
            at = found.end()
        if word in ("let", "local"):
            opened.append(word)
        elif word == "end" and opened:
            opened.pop()
    return " ; ".join([*pieces, text[at:]])


def _unread(text: str, context: str, error: InputError | None = None) -> Declaration:
    names = re.findall(r"\b(?:val|fun|and)\s+(?:rec\s+)?([A-Za-z][\w']*)", text)
    if text.startswith("datatype"):
        names += re.findall(r"[=|]\s*([A-Za-z][\w']*)", text)
        reason = "`datatype` is not read; declare a colour set (an enumeration or a union)"
        error = InputError(context, " ".join(text.split())[:60], reason)
    if error is None:
        error = InputError(context, " ".join(text.split())[:60], "is no `val` or `fun`")
    return Declaration(tuple(names), None, error)


class Declarations:
    """All names that a `.cpn` file declares, read from its `cpnet` element."""

    def __init__(self, net: ET.Element) -> None:
        self.colours = Colours()
        self.functions = CalledFunctions()
        self.evaluator = Evaluator(self.colours, self.functions.called, of_colour)
        add_builtins(self.evaluator, declarations(BASIS, "functions of CPN ML"))
        self.variables: dict[str, str] = {}
        self.constants: dict[str, float] = {}
        texts = " ".join(net.itertext())
        self.assigned = set(re.findall(r"([A-Za-z][\w']*)\s*:=", texts))
        box = net.find("globbox")
        for element in self.elements(box) if box is not None else ():
            self.declare(element)
        # Reading the declarations has added colours for records in lists. These colours are removed
        # here. Later, each place or function that uses such a colour adds the colour again, so
        # unused colours stay out.
        self.colours.held.clear()

    def elements(self, box: ET.Element) -> Iterator[ET.Element]:
        """Yields the declarations in an element of the file, and those in its nested blocks."""
        for element in box:
            if element.tag == "block":
                yield from self.elements(element)
            else:
                yield element

    def declare(self, element: ET.Element) -> None:
        """Reads one declaration: a colour set, variables, values and functions, or a reference."""
        if element.tag == "color":
            self.colour(element)
        elif element.tag == "var":
            self.variable(element)
        elif element.tag == "ml":
            text = (element.text or "").strip() or (element.findtext("layout") or "")
            self.values(text)
        elif element.tag == "globref":
            self.reference(text_of(element.find("id")), whole_text(element.find("ml")))

    def values(self, text: str) -> None:
        """Reads the values and functions that a text declares."""
        for found in declarations(text, "declarations"):
            words_of = f"declaration of {', '.join(found.names) or 'a value'}"
            self.evaluator.reading(words_of).declare(found)
            for name in found.names:
                self.name_constant(name)

    def name_constant(self, name: str) -> None:
        """Turns a declared number into a named constant of the net definition. A user of the
        definition can then change its value. Values that are not numbers, and names that are not
        valid in the engine's language, do not become constants."""
        value = self.evaluator.globals.get(name)
        number = isinstance(value, Leaf) and value.known and value.kind in (INT, REAL)
        if isinstance(value, Leaf) and number and clean(name) == name:
            self.constants[name] = value.constant
            self.evaluator.globals[name] = Leaf(name, value.kind, value.constant)

    def reference(self, name: str, text: str) -> None:
        """Declares a reference (`globref`). Its initial value is taken as a constant value.

        If the file assigns to the reference, or if the value cannot be read, the error is stored.
        Only nets that use the reference are then rejected.
        """
        context = f"globref {name}"
        try:
            if name in self.assigned:
                raise InputError(context, name, "is assigned to; keep what changes in a token")
            value = self.evaluator.reading(context).value(parse(text, context), {})
            self.evaluator.references[name] = value
        except InputError as error:
            self.evaluator.broken[name] = error

    def variable(self, element: ET.Element) -> None:
        """Declares variables with the colour set that they share."""
        colour = text_of(element.find("type/id"))
        for one in element.findall("id"):
            self.variables[text_of(one)] = colour

    def tokens(self, value: CpnValue, colour: str) -> tuple[BagEntry, ...]:
        """Converts a value to tokens of a colour set.

        - The tokens of a multiset are kept.
        - A list becomes one token if the colour set is a list, otherwise one token for each
          element.
        - Any other value becomes one token.
        """
        kind = self.colours.sets[colour].kind
        listed = isinstance(value, Items) or (
            isinstance(value, Leaf) and isinstance(value.kind, ListType)
        )
        if isinstance(value, Bag) or (listed and not isinstance(kind, ListType)):
            return self.evaluator.bag(value).entries
        return (BagEntry(value, ONE),)

    # Declarations of colour sets.

    def colour(self, element: ET.Element) -> None:
        """Declares a colour set. If its declaration cannot be read, the error is stored, and only
        nets that use the colour set are rejected."""
        name = text_of(element.find("id"))
        context = f"colset {name}"
        kinds = [one for one in element if one.tag not in ("id", "layout", "timed", "declare")]
        aliased = [text_of(one) for kind in kinds if kind.tag == "alias" for one in kind]
        if element.find("timed") is not None or not self.colours.timed.isdisjoint(aliased):
            self.colours.timed.add(name)
        try:
            if not NAME.fullmatch(name) or len(kinds) != 1:
                raise InputError(context, None, "has no name or no kind of colour set")
            self.add(name, kinds[0], context)
        except InputError as error:
            self.colours.sets.pop(name, None)
            self.colours.broken[name] = error

    def add(self, name: str, kind: ET.Element, context: str) -> None:
        """Adds a colour set with the name `name`. The element `kind` of the file describes its
        type."""
        colours = self.colours
        ids = [text_of(one) for one in kind.findall("id")]
        if kind.tag in ("alias", "subset"):
            other = colours.known(ids[0] if ids else "", context)
            if kind.tag == "alias":
                colours.add(name, other.kind, other.members)
            else:
                self.subset(name, other.name, kind, context)
        elif kind.tag == "unit":
            colours.add(name, Struct(()), lambda: [Rec()])
            self.evaluator.globals.update(dict.fromkeys(ids or with_ids(kind), Rec()))
        elif kind.tag == "bool":
            colours.add(name, BOOL, booleans)
            for word, value in zip(ids or with_ids(kind), booleans(), strict=False):
                self.construct(word, value)
        elif kind.tag in ("int", "intinf") and kind.find("with") is not None:
            low, high = self.bounds(kind, context)
            colours.add(name, INT, lambda: between(low, high, context))
        elif kind.tag in PLAIN:
            colours.add(name, PLAIN[kind.tag])
        elif kind.tag == "index":
            low, high = self.bounds(kind, context)
            colours.add(name, INT, lambda: between(low, high, context))
            if ids:
                index = ids[0]
                self.construct(index, Builtin(f"index {index}", 1, lambda context, given: given[0]))
        elif kind.tag == "enum":
            self.enumeration(name, ids or with_ids(kind))
        elif kind.tag == "list":
            inner = colours.known(ids[0] if ids else "", context)
            colours.add(name, ListType(inner.kind))
            colours.type_name(ListType(inner.kind), context)
        else:
            self.compound(name, kind, context)

    def compound(self, name: str, kind: ET.Element, context: str) -> None:
        """Declares a product, record or union colour set."""
        if kind.tag == "product":
            ids = [text_of(one) for one in kind.findall("id")]
            parts = [(str(at + 1), one) for at, one in enumerate(ids)]
        elif kind.tag == "record":
            parts = []
            for one in kind.findall("recordfield"):
                ids = [text_of(inner) for inner in one.iter("id")]
                if len(ids) != 2:
                    raise InputError(context, None, "a record field has a name and a type")
                parts.append((ids[0], ids[1]))
        elif kind.tag == "union":
            self.union(name, kind, context)
            return
        else:
            raise InputError(
                context,
                kind.tag,
                "is no kind of colour set that is read: unit, bool, int, intinf, time, real, "
                "string, enum, index, list, product, record, union, subset, alias",
            )
        if not parts:
            raise InputError(context, kind.tag, "has no parts")
        fields = [(label, self.colours.known(one, context).kind) for label, one in parts]
        found = Struct(tuple(fields))
        small = all(self.colours.sets[one].members is not None for _, one in parts)
        members = (lambda: self.colours.structs(found, parts, context)) if small else None
        self.colours.add(name, found, members)

    def enumeration(self, name: str, ids: list[str]) -> None:
        """Adds a colour set whose values are the names in `ids`, and declares each name as a
        value."""
        kind = self.colours.enumeration(name, [clean(one) for one in ids])
        values: list[CpnValue] = [constant(clean(one), kind) for one in ids]
        self.colours.add(name, kind, lambda: values)
        for word, value in zip(ids, values, strict=True):
            self.construct(word, value)

    def construct(self, word: str, value: CpnValue) -> None:
        """Declares a constructor, such as a value of an enumeration. In patterns, the name `word`
        then means the constructor: it is compared with the value instead of being bound to it."""
        self.evaluator.globals[word] = value
        self.evaluator.constructors.add(word)

    def union(self, name: str, kind: ET.Element, context: str) -> None:
        """Declares a union type as a record. The record has a tag with the name of a constructor,
        and one field for each constructor that has an argument. In a value of the union, the field
        of the value's constructor has the argument. The other fields are zero."""
        payloads: list[tuple[str, ValueType]] = []
        tags = []
        for one in kind.findall("unionfield"):
            ids = [text_of(inner) for inner in one.iter("id")]
            if not ids:
                raise InputError(context, None, "a part of a union has a name")
            tags.append(ids[0])
            if len(ids) > 1:
                payloads.append((ids[0], self.colours.known(ids[1], context).kind))
        if not tags:
            raise InputError(context, "union", "has no parts")
        tag = self.colours.enumeration(f"{name}_tag", [clean(one) for one in tags])
        found = Struct((("tag", tag), *payloads), name)
        self.colours.add(name, found)
        zeros = tuple((label, self.zero(inner)) for label, inner in payloads)
        kinds = dict(payloads)
        for word in tags:
            known = constant(clean(word), tag)
            if word not in kinds:
                self.construct(word, Rec((("tag", known), *zeros), name))
                continue

            def made(
                context: str, given: Sequence[CpnValue], word: str = word, known: Leaf = known
            ) -> CpnValue:
                value = given[0]
                fields = ((label, value if label == word else zero) for label, zero in zeros)
                return Rec((("tag", known), *fields), name)

            self.construct(word, Builtin(f"union {word}", 1, made))

    def zero(self, kind: ValueType) -> CpnValue:
        """Returns the zero value of a type: 0, false, an empty text or list, or the first value of
        an enumeration. For a record, all fields are zero."""
        if isinstance(kind, Struct):
            fields = tuple((label, self.zero(inner)) for label, inner in kind.fields)
            return Rec(fields, kind.union)
        if isinstance(kind, ListType):
            return Leaf("[]", kind)
        assert isinstance(kind, Plain)
        if kind.name in self.colours.enums:
            return constant(self.colours.enums[kind.name][0], kind)
        return constant({"bool": False, "text": ""}.get(kind.name, 0), kind)

    def subset(self, name: str, other: str, kind: ET.Element, context: str) -> None:
        """Declares the colour set `name`, which is a subset of the colour set `other`. The file
        gives either a function that is true for the values of the subset, or a list of these
        values. Raises InputError if the file gives neither."""
        of = self.colours.known(other, context)
        by, listed = kind.find("by"), kind.find("with")
        if by is not None:
            evaluator = self.evaluator.reading(context)
            test = evaluator.value(parse(whole_text(by), context), {})
            members_of = of.members

            def kept() -> list[CpnValue]:
                assert members_of is not None, "only the values of a finite set are listed"
                return [one for one in members_of() if holds(evaluator, test, one)]

            self.colours.add(name, of.kind, kept if members_of is not None else None)
        elif listed is not None:
            values = self.evaluator.reading(context).value(parse(whole_text(listed), context), {})
            if not isinstance(values, Items) or values.tail is not None:
                raise InputError(context, words(kind_of(values)), "a subset lists its values")
            members = [*values.items]
            self.colours.add(name, of.kind, lambda: members)
        else:
            raise InputError(context, "subset", "says `by` a function or `with` a list")

    def bounds(self, kind: ET.Element, context: str) -> tuple[int, int]:
        """Returns the first and last number of a range in a declaration. Raises InputError if the
        bounds are not two numbers."""
        texts = [text_of(one) for one in kind.iter("ml")]
        evaluator = self.evaluator.reading(context)
        found = [evaluator.value(parse(one, context), {}) for one in texts if one]
        numbers = [one.constant for one in found if isinstance(one, Leaf) and one.kind == INT]
        if len(numbers) != 2 or not all(isinstance(one, int) for one in numbers):
            raise InputError(context, ", ".join(texts), "a range has two whole numbers")
        if numbers[0] > numbers[1]:
            raise InputError(context, f"{numbers[0]}..{numbers[1]}", "the range is empty")
        return numbers[0], numbers[1]


def holds(evaluator: Evaluator, test: CpnValue, one: CpnValue) -> bool:
    """Returns whether the function `test` of the file yields true for a value."""
    found = evaluator.apply(test, one)
    return isinstance(found, Leaf) and found.constant is True


def with_ids(kind: ET.Element) -> list[str]:
    """Returns the names that a declaration lists after the word `with`."""
    return [text_of(one) for one in kind.findall("with/id")]


def whole_text(element: ET.Element | None) -> str:
    """Returns the text of an XML element and of the elements in it, with lines joined by spaces."""
    return " ".join("".join(element.itertext()).split()) if element is not None else ""
