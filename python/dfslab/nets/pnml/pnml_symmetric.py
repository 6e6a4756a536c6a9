"""Translates symmetric nets of PNML (ISO/IEC 15909-2) to the form of CPN Tools, with terms in CPN
ML. The reader of `.cpn` files then reads the result.

The values of finite and cyclic enumerations become numbers from 0 in the order of declaration, so
that a successor is a sum. Products, ranges and dots have direct counterparts in CPN ML.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping

from dfslab.nets.cpn.cpn_ml import RESERVED
from dfslab.nets.cpn.cpn_values import clean
from dfslab.spec.input_error import InputError

OPERATORS: Mapping[str, str] = {
    "and": "({0} andalso {1})",
    "or": "({0} orelse {1})",
    "imply": "(not {0} orelse {1})",
    "equality": "({0} = {1})",
    "inequality": "({0} <> {1})",
    "lessthan": "({0} < {1})",
    "lessthanorequal": "({0} <= {1})",
    "greaterthan": "({0} > {1})",
    "greaterthanorequal": "({0} >= {1})",
    "subtract": "({0} -- {1})",
}
JOINED = {"and": " andalso ", "or": " orelse ", "add": " ++ "}
# The function of CPN ML that returns all values of a colour set. MOST_COPIES is the largest number
# of copies of these values that a term may have.
ALL = ".all()"
MOST_COPIES = 100
SYMMETRIC = ("symmetricnet", "symmetric-net", "hlnet", "highlevelnet")


def tag(element: ET.Element) -> str:
    """Returns the tag of an XML element without its namespace; "comment" for a comment."""
    return element.tag.rsplit("}", 1)[-1] if isinstance(element.tag, str) else "comment"


def child(element: ET.Element | None, *path: str) -> ET.Element | None:
    """Returns the element that is reached along a path of tags. For each tag, the first child with
    that tag is followed. Returns None if there is no such element."""
    for name in path:
        found = [one for one in element or () if tag(one) == name]
        element = found[0] if found else None
    return element


class Symmetric:
    """Reads the declarations of a symmetric net, and translates its terms to CPN ML."""

    def __init__(self, net: ET.Element) -> None:
        self.block = ET.Element("block", id="declarations")
        self.variables: dict[str, str] = {}
        # `sorts` maps the id of each sort to its colour set. `constants` maps the id of each
        # constant to (value in CPN ML, colour set). `cycles` maps each colour set whose values have
        # a successor to (smallest value, number of values).
        self.sorts: dict[str, str] = {}
        self.cycles: dict[str, tuple[int, int]] = {}
        self.constants: dict[str, tuple[str, str]] = {}
        self.context = "declaration"
        self.colour("UNIT", ET.Element("unit"))
        for one in self.declarations(net):
            self.declare(one)

    def declarations(self, net: ET.Element) -> Iterator[ET.Element]:
        """Yields the XML elements of all declarations of a net, without comments."""
        for one in net.iter():
            if tag(one) == "declarations":
                yield from (inner for inner in one if tag(inner) != "comment")

    def wrong(self, value: str, reason: str) -> InputError:
        """Returns an InputError for a value. The error's key names the declaration that is being
        read."""
        return InputError(self.context, value, reason)

    def colour(self, name: str, kind: ET.Element) -> None:
        """Adds a colour set to the declarations, in the form of a `.cpn` file. `kind`: element that
        describes the type of the colour set."""
        made = ET.SubElement(self.block, "color", id=f"colour {name}")
        ET.SubElement(made, "id").text = name
        made.append(kind)

    def declare(self, one: ET.Element) -> None:
        """Translates one declaration of a sort or a variable. Raises InputError for any other
        declaration."""
        key, kind = one.get("id", ""), tag(one)
        self.context = f"{kind} {one.get('name') or key}".rstrip()
        if kind == "namedsort":
            self.sort(key, one)
        elif kind == "variabledecl":
            sort = self.sort_of(child(one, "usersort"))
            name = clean(key)
            name = f"{name}_" if name in RESERVED or not name[:1].isalpha() else name
            self.variables[key] = f"v{name}" if not name[:1].isalpha() else name
            made = ET.SubElement(self.block, "var", id=f"variable {key}")
            ET.SubElement(ET.SubElement(made, "type"), "id").text = sort
            ET.SubElement(made, "id").text = self.variables[key]
        else:
            raise self.wrong(kind, "is not read: sorts and variables are; write sorts out instead")

    def sort_of(self, element: ET.Element | None) -> str:
        """Returns the name of the colour set that represents the sort to which an element
        refers."""
        if element is None:
            raise self.wrong("sort", "is missing")
        if tag(element) == "dot":
            return "UNIT"
        key = element.get("declaration", "")
        if key not in self.sorts:
            raise self.wrong(key, f"is no sort that is declared: {', '.join(self.sorts) or 'none'}")
        return self.sorts[key]

    def sort(self, key: str, one: ET.Element) -> None:
        """Translates a named sort to a colour set. `key`: id of the sort. `one`: its declaration.
        Raises InputError if the sort is not supported."""
        inner = [part for part in one if tag(part) != "comment"]
        if len(inner) != 1:
            raise self.wrong(key, "a sort is declared by one other")
        kind, name = tag(inner[0]), f"S{len(self.sorts)}_{clean(key)}"
        if kind == "dot":
            self.sorts[key] = "UNIT"
        elif kind in ("cyclicenumeration", "finiteenumeration"):
            constants = [part.get("id", "") for part in inner[0] if tag(part) == "feconstant"]
            for at, constant in enumerate(constants):
                self.constants[constant] = (str(at), name)
            self.range(key, name, 0, len(constants) - 1)
            if kind == "cyclicenumeration":
                self.cycles[name] = 0, len(constants)
        elif kind == "finiteintrange":
            ends = [inner[0].get(end, "") for end in ("start", "end")]
            if not all(end.lstrip("-").isdigit() for end in ends):
                raise self.wrong(", ".join(ends), "a range has two whole numbers")
            low, high = int(ends[0]), int(ends[1])
            self.range(key, name, low, high)
            self.cycles[name] = low, high - low + 1
        elif kind == "productsort":
            made = ET.Element("product")
            for part in inner[0]:
                ET.SubElement(made, "id").text = self.sort_of(part)
            self.colour(name, made)
            self.sorts[key] = name
        else:
            raise self.wrong(kind, "is not read: dots, enumerations, ranges and products are")

    def range(self, key: str, name: str, low: int, high: int) -> None:
        """Adds the colour set of the whole numbers from `low` to `high`."""
        made = ET.Element("int")
        ends = ET.SubElement(made, "with")
        for end in (low, high):
            ET.SubElement(ends, "ml").text = str(end).replace("-", "~")
        self.colour(name, made)
        self.sorts[key] = name

    def terms(self, element: ET.Element) -> list[str]:
        """Returns the terms inside an element, each as text in CPN ML."""
        parts = (one for one in element if tag(one) != "comment")
        return [
            text
            for one in parts
            for text in (self.terms(one) if tag(one) == "subterm" else [self.term(one)])
        ]

    def only_term(self, element: ET.Element) -> str:
        """Returns the only term inside an element as text in CPN ML. Raises InputError if there is
        no term, or more than one."""
        found = self.terms(element)
        if len(found) != 1:
            raise self.wrong(tag(element), f"has {len(found)} terms; it needs one")
        return found[0]

    def term(self, element: ET.Element) -> str:
        """Translates a term of a symmetric net to text in CPN ML. Raises InputError for an
        unsupported term."""
        kind = tag(element)
        if kind == "variable":
            return self.named(element.get("refvariable", ""), self.variables)
        if kind == "useroperator":
            known = {key: text for key, (text, _) in self.constants.items()}
            return self.named(element.get("declaration", ""), known)
        if kind == "dotconstant":
            return "()"
        if kind in ("numberconstant", "finiteintrangeconstant"):
            return element.get("value", "").replace("-", "~")
        if kind == "booleanconstant":
            return element.get("value", "")
        if kind == "all":
            name = self.sort_of(next(iter(element), None))
            return "1`()" if name == "UNIT" else f"{name}{ALL}"
        if kind in ("successor", "predecessor"):
            return self.moved(element, 1 if kind == "successor" else -1)
        return self.operation(kind, self.terms(element))

    def operation(self, kind: str, parts: list[str]) -> str:
        """Returns the text in CPN ML for an operation on terms. `kind`: tag of the operation in
        PNML. `parts`: texts of the terms. Raises InputError if the operation is not supported."""
        if kind == "tuple":
            return f"({', '.join(parts)})"
        if kind == "numberof" and len(parts) in (1, 2):
            return self.multiple(parts[0] if len(parts) == 2 else "1", parts[-1])
        if kind == "scalarproduct":
            raise self.wrong(kind, "is not read: write the number of each token")
        if kind == "empty":
            return "empty"
        if kind == "not" and len(parts) == 1:
            return f"(not {parts[0]})"
        if kind in JOINED and parts:
            return f"({JOINED[kind].join(parts)})"
        if kind in OPERATORS and len(parts) == 2:
            return OPERATORS[kind].format(*parts)
        raise self.wrong(kind, "is no operator of the symmetric nets that are read")

    def named(self, key: str, known: Mapping[str, str]) -> str:
        """Returns the translation of the identifier `key` from `known`. Raises InputError if the
        identifier is not declared."""
        if key not in known:
            raise self.wrong(key, f"is not declared: {', '.join(known) or 'none'}")
        return known[key]

    def multiple(self, number: str, part: str) -> str:
        """Returns the text in CPN ML for `number` copies of `part`, which is a value, or the
        multiset of all values of a colour set. Raises InputError if a multiset is copied more than
        MOST_COPIES times."""
        if not part.endswith(ALL):
            return f"{number}`({part})"
        if not number.isdigit() or not 1 <= int(number) <= MOST_COPIES:
            allowed = f"the number of copies of all values is from 1 to {MOST_COPIES}"
            raise self.wrong(number, allowed)
        return f"({' ++ '.join([part] * int(number))})" if int(number) > 1 else part

    def moved(self, element: ET.Element, step: int) -> str:
        """Translates the successor (`step` 1) or predecessor (`step` -1) of a value in a cyclic
        enumeration or in a range. The smallest value follows the largest one. Raises InputError for
        values of other sorts."""
        inner = self.only_term(element)
        cycle = self.cycle_of(next((one for one in element.iter() if tag(one) in ATOMS), element))
        if cycle is None:
            allowed = "is read of a variable or constant of a cyclic enumeration or a range"
            raise self.wrong(tag(element), allowed)
        low, count = cycle
        from_low = str(step % count - low).replace("-", "~")
        return f"(({inner} + {from_low}) mod {count} + {str(low).replace('-', '~')})"

    def cycle_of(self, element: ET.Element) -> tuple[int, int] | None:
        """Returns (smallest value, number of values) of the sort of a variable or a constant; None
        if its values have no successor."""
        if tag(element) != "finiteintrangeconstant":
            return self.cycles.get(self.sort_of_term(element))
        ends = child(element, "finiteintrange")
        texts = ["", ""] if ends is None else [ends.get(end, "") for end in ("start", "end")]
        if not all(end.lstrip("-").isdigit() for end in texts):
            return None
        low, high = (int(end) for end in texts)
        return low, high - low + 1

    def sort_of_term(self, element: ET.Element) -> str:
        """Returns the colour set of a variable or a constant in a term; "" if it is not
        declared."""
        if tag(element) == "useroperator":
            return self.constants.get(element.get("declaration", ""), ("", ""))[1]
        name = self.variables.get(element.get("refvariable", ""), "")
        for one in self.block:
            if one.tag == "var" and one.findtext("id") == name:
                return one.findtext("type/id") or ""
        return ""


ATOMS = ("variable", "useroperator", "finiteintrangeconstant")


def converted(net: ET.Element) -> ET.Element:
    """Converts a PNML net to a `cpnet` element, as in the files of CPN Tools."""
    known = Symmetric(net)
    made = ET.Element("cpnet")
    ET.SubElement(made, "globbox").append(known.block)
    page = ET.SubElement(made, "page", id="page")
    name = child(net, "name", "text")
    title = (name.text if name is not None else None) or net.get("id") or "net"
    ET.SubElement(page, "pageattr", name=" ".join(title.split()))
    places = {one.get("id", "") for one in net.iter() if tag(one) == "place"}
    for element in net.iter():
        kind = tag(element)
        key = element.get("id", "")
        known.context = f"{kind} {key}"
        if kind in ("place", "transition"):
            node = ET.SubElement(page, "place" if kind == "place" else "trans", id=key)
            named = child(element, "name", "text")
            ET.SubElement(node, "text").text = (named.text if named is not None else None) or key
            _labels(known, element, node)
        elif kind == "arc":
            _arc(known, places, element, page)
        elif kind in ("referencePlace", "referenceTransition"):
            raise known.wrong(kind, "is not read: put all nodes on their own page")
    return made


def _labels(known: Symmetric, element: ET.Element, node: ET.Element) -> None:
    """Adds the labels of a PNML element to the converted node. The labels of a place are its colour
    set and its initial tokens. The label of a transition is its guard."""
    if node.tag == "place":
        sort = child(element, "type", "structure")
        colour = known.sort_of(next(iter(sort), None)) if sort is not None else "UNIT"
        ET.SubElement(ET.SubElement(node, "type"), "text").text = colour
        marking = child(element, "hlinitialMarking", "structure")
        text = _initial(known, marking, colour) if marking is not None and len(marking) else ""
        ET.SubElement(ET.SubElement(node, "initmark"), "text").text = text
        return
    condition = child(element, "condition", "structure")
    if condition is not None and len(condition):
        text = f"[{known.only_term(condition)}]"
        ET.SubElement(ET.SubElement(node, "cond"), "text").text = text


def _initial(known: Symmetric, marking: ET.Element, colour: str) -> str:
    """Returns the initial tokens of a place with the colour set `colour` as text in CPN ML. A tuple
    of all values of each field stands for all values of the colour set."""
    found = child(marking, "tuple")
    fields = [] if found is None else [tag(one) for part in found for one in part]
    is_whole = bool(fields) and all(kind == "all" for kind in fields)
    return f"{colour}{ALL}" if is_whole else known.only_term(marking)


def _arc(known: Symmetric, places: set[str], element: ET.Element, page: ET.Element) -> None:
    source, target = element.get("source", ""), element.get("target", "")
    takes = source in places
    made = ET.SubElement(
        page, "arc", id=element.get("id", ""), orientation="PtoT" if takes else "TtoP"
    )
    ET.SubElement(made, "transend", idref=target if takes else source)
    ET.SubElement(made, "placeend", idref=source if takes else target)
    inscription = child(element, "hlinscription", "structure")
    text = known.only_term(inscription) if inscription is not None and len(inscription) else "()"
    ET.SubElement(ET.SubElement(made, "annot"), "text").text = text
