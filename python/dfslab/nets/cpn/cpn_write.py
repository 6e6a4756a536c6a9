"""Writes a net as a `.cpn` file for CPN Tools. Times are reals in seconds.

Raises InputError for anything that CPN Tools cannot express and that changes which transitions can
fire. Properties that are left out, such as the disciplines of places, are listed in
writing/unwritten.py.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence

from dfslab.documents.net_definition import (
    Cell,
    NetDefinition,
    OutputDefinition,
    PlaceDefinition,
    TransitionDefinition,
    WrittenToken,
)
from dfslab.documents.net_run import FileMonitors, NetFile
from dfslab.nets.build import Net, definition_of
from dfslab.nets.colour import LIST
from dfslab.nets.cpn.cpn_expression import Scope, quoted, written
from dfslab.nets.cpn.writing import layout
from dfslab.nets.cpn.writing.monitors import MonitorWriter, writable
from dfslab.spec.input_error import InputError

SORTS = {"int": "INT", "real": "REAL", "bool": "BOOL", "text": "STRING"}
NORMAL = 1000
# The positions of a transition's guard, delay, code segment and priority, relative to the
# transition.
LABELS = ((-60, 40), (60, 40), (60, -40), (-60, -40))


def write(net: Net | NetDefinition) -> str:
    """Returns the text of a `.cpn` file with one page that contains all nodes of the net."""
    return _CpnWriter(definition_of(net), FileMonitors()).text()


def write_file(file: NetFile) -> str:
    """Returns the text of a `.cpn` file with a net and those of its monitors that CPN Tools can
    run."""
    return _CpnWriter(file.net, file.monitors).text()


class _CpnWriter:
    def __init__(self, definition: NetDefinition, monitors: FileMonitors) -> None:
        self.definition = definition
        self.ids = 0
        self.root = ET.Element("workspaceElements")
        ET.SubElement(self.root, "generator", tool="dfslab", version="1", format="6")
        self.net = ET.SubElement(self.root, "cpnet")
        self.block = ET.SubElement(ET.SubElement(self.net, "globbox"), "block", id=self.key())
        ET.SubElement(self.block, "id").text = "Declarations"
        self.page = ET.SubElement(self.net, "page", id=self.key())
        ET.SubElement(self.page, "pageattr", name=definition.name)
        self.declare()
        self.places = {
            one.name: self.place(one, layout.place_spot(at))
            for at, one in enumerate(definition.places)
        }
        # The ids of the transitions, and the names that the inscriptions of each may use.
        self.transitions: dict[str, str] = {}
        self.scopes: dict[str, Scope] = {}
        for at, each in enumerate(definition.transitions):
            self.transition(each, layout.transition_spot(at))
        ET.SubElement(self.page, "constraints")
        self.surroundings(monitors)

    def text(self) -> str:
        ET.indent(self.root)
        # Characters outside of ASCII become character references, so that the text is valid in
        # every encoding that programs take for that of the file.
        text: str = ET.tostring(self.root, encoding="us-ascii").decode()
        return layout.HEAD + text + "\n"

    def surroundings(self, monitors: FileMonitors) -> None:
        """Writes the parts of the file after the page: the page instance, the window that shows the
        page, and the monitors."""
        instance = self.key()
        ET.SubElement(
            ET.SubElement(self.net, "instances"),
            "instance",
            id=instance,
            page=self.page.get("id", ""),
        )
        ET.SubElement(self.net, "options")
        layout.window(self.net, self.key(), self.key(), instance)
        nodes = {name: key for name, (key, _) in self.places.items()} | self.transitions
        writer = MonitorWriter(self.definition.name, instance, nodes, self.scopes, self.key)
        writer.add(self.net, writable(monitors))

    def key(self) -> str:
        self.ids += 1
        return f"ID{self.ids}"

    def declare(self) -> None:
        for sort in SORTS.values():
            made = ET.SubElement(self.block, "color", id=self.key())
            ET.SubElement(made, "id").text = sort
            ET.SubElement(made, sort.lower())
        for name, values in self.definition.enums.items():
            made = ET.SubElement(self.block, "color", id=self.key())
            ET.SubElement(made, "id").text = name
            kind = ET.SubElement(made, "enum")
            for value in values:
                ET.SubElement(kind, "id").text = value
        taken = {*SORTS.values(), *self.definition.enums}
        self.sets = {
            name: f"{name}_set" if name in taken else name for name in self.definition.colours
        }
        self.lists: dict[str, str] = {}
        self.declared: set[str] = set()
        names = taken | set(self.sets.values())
        for name in self.definition.colours:
            self.declare_colour(name, names)
        for sort in self.sorts():
            self.declare_sort(sort, names)
        for name, number in self.definition.constants.items():
            text = str(number).replace("-", "~")
            ET.SubElement(self.block, "ml", id=self.key()).text = f"val {name} = {text};"
        self.variables: dict[str, str] = {}
        self.declare_functions()

    def declare_functions(self) -> None:
        """Writes all functions of the net as one declaration, joined by `and`, so that each
        function may call any other."""
        texts = []
        for name, one in self.definition.functions.items():
            parameters = dict(one.parameters)
            scope = Scope(self.definition, {key: key for key in parameters}, {}, parameters)
            sorts = (f"{key} : {self.sort(kind)}" for key, kind in parameters.items())
            body = written(one.body, scope, f"function {name}")
            texts.append(f"{name} ({', '.join(sorts)}) = {body}")
        if texts:
            made = ET.SubElement(self.block, "ml", id=self.key())
            made.text = "fun " + " and ".join(texts) + ";"

    def sort(self, kind: str) -> str:
        """Returns the name of the file's colour set that corresponds to the engine's type
        `kind`."""
        return self.lists.get(kind) or SORTS.get(kind, kind)

    def declare_colour(self, name: str, taken: set[str]) -> None:
        """Declares the colour set for a colour of the net: a record colour set, or a unit colour
        set if the colour has no fields. The colour sets of the fields are declared before the
        colour set of the record."""
        if name in self.declared:
            return
        self.declared.add(name)
        fields = self.definition.colours[name]
        for _, sort in fields:
            self.declare_sort(sort, taken)
        made = ET.SubElement(self.block, "color", id=self.key())
        ET.SubElement(made, "id").text = self.sets[name]
        ET.SubElement(made, "timed")
        kind = ET.SubElement(made, "record" if fields else "unit")
        for label, sort in fields:
            one = ET.SubElement(kind, "recordfield")
            ET.SubElement(one, "id").text = label
            ET.SubElement(one, "id").text = self.sort(sort)

    def sorts(self) -> Iterator[str]:
        """Yields the type names of all fields, parameters, results and locals of the net."""
        for fields in self.definition.colours.values():
            yield from (sort for _, sort in fields)
        for one in self.definition.functions.values():
            yield from (sort for _, sort in one.parameters)
            yield one.result
        for transition in self.definition.transitions:
            yield from (local.type for local in transition.locals)

    def declare_sort(self, sort: str, taken: set[str]) -> None:
        """Declares the colour set for a list type, under a name that is not in `taken`. Does
        nothing for other types."""
        if not sort.startswith(LIST) or sort in self.lists:
            return
        inner = sort.removeprefix(LIST)
        if inner in self.definition.colours:
            self.declare_colour(inner, taken)
        held = SORTS.get(inner) or (
            inner if inner in self.definition.enums else self.sets.get(inner, inner)
        )
        name = f"{held}_list"
        while name in taken:
            name += "_"
        taken.add(name)
        self.lists[sort] = name
        made = ET.SubElement(self.block, "color", id=self.key())
        ET.SubElement(made, "id").text = name
        ET.SubElement(ET.SubElement(made, "list"), "id").text = held

    def variable(self, name: str, sort: str, context: str) -> str:
        """Returns the name of a variable in the file, and declares the variable if needed.

        In a file, each variable has one type. If the net uses the name `name` with several types,
        only the variable of the first type keeps the name. The names of the other variables contain
        the type.
        """
        own = name if self.variables.get(name, sort) == sort else f"{name}_{sort}"
        if own not in self.variables:
            self.variables[own] = sort
            made = ET.SubElement(self.block, "var", id=self.key())
            ET.SubElement(ET.SubElement(made, "type"), "id").text = sort
            ET.SubElement(made, "id").text = own
        if self.variables[own] != sort:
            raise InputError(context, name, "the name is used for another colour")
        return own

    def place(self, one: PlaceDefinition, spot: layout.Spot) -> tuple[str, str]:
        node = layout.dressed(ET.SubElement(self.page, "place", id=self.key()), spot)
        ET.SubElement(node, "text").text = one.name
        layout.shape(node, "ellipse")
        layout.marking(node)
        layout.label(node, "type", self.key(), self.sets[one.colour], spot.moved(60, -30))
        fields = self.definition.colours[one.colour]
        counts: dict[str, int] = {}
        for row in one.initial:
            value = self.row(fields, row)
            counts[value] = counts.get(value, 0) + 1
        terms = [f"{count}`{value}" for value, count in counts.items()]
        layout.label(node, "initmark", self.key(), "++".join(terms), spot.moved(60, 30))
        return node.get("id", ""), one.colour

    def row(self, fields: Sequence[Sequence[str]], row: Sequence[Cell]) -> str:
        def cell(value: Cell, sort: str) -> str:
            if sort == "text":
                return quoted(str(value))
            if isinstance(value, list | tuple) and not sort.startswith(LIST):
                return self.row(self.definition.colours[sort], value)
            if isinstance(value, list | tuple):
                return "[" + ",".join(cell(one, sort.removeprefix(LIST)) for one in value) + "]"
            text = str(float(value) if sort == "real" else value)
            return text.lower() if isinstance(value, bool) else text.replace("-", "~")

        if not fields:
            return "()"
        cells = [
            f"{label}={cell(value, sort)}" for (label, sort), value in zip(fields, row, strict=True)
        ]
        return "{" + ",".join(cells) + "}"

    def transition(self, one: TransitionDefinition, spot: layout.Spot) -> None:
        context = f"page {one.page}, transition {one.name}"
        check_expressible(one, context)
        key = self.transitions[one.name] = self.key()
        node = ET.SubElement(self.page, "trans", id=key, explicit="false")
        layout.dressed(node, spot)
        ET.SubElement(node, "text").text = one.name
        layout.shape(node, "box")
        ET.SubElement(node, "binding", x="7.200000", y="-3.000000")
        scope = self.scopes[one.name] = self.taken(one, node, context)
        guard = f"[{written(one.guard, scope, context)}]" if one.guard else ""
        code = self.code(one, scope, context)
        delay = "" if one.delay is None else f"@+{written(one.delay, scope, context)}"
        priority = str(NORMAL - one.priority) if one.priority else ""
        labels = (("cond", guard), ("time", delay), ("code", code), ("priority", priority))
        for (tag, text), (x, y) in zip(labels, LABELS, strict=True):
            layout.label(node, tag, self.key(), text, spot.moved(x, y))
        for blocking in one.inhibit:
            self.arc("Inhibitor", node, self.places[blocking.place][0], "")
        for emptied in one.reset:
            self.arc("Reset", node, self.places[emptied.place][0], "")
        for arc in one.out:
            place, colour = self.places[arc.place]
            text = self.counted(arc, colour, scope, context)
            if arc.delay is not None:
                text += f" @+ {written(arc.delay, scope, context)}"
            self.arc("TtoP", node, place, text)

    def taken(self, one: TransitionDefinition, node: ET.Element, context: str) -> Scope:
        """Writes the input arcs of a transition. Returns the names that the transition's
        inscriptions may use."""
        names: dict[str, str] = {}
        kinds: dict[str, dict[str, str]] = {}
        for at, arc in enumerate(one.in_):
            place, colour = self.places[arc.place]
            fields = self.definition.colours[colour]
            word = arc.var or f"t{at + 1}"
            own = "()" if not fields else self.variable(word, self.sets[colour], context)
            names[word], kinds[word] = own, dict(fields)
            self.arc("PtoT", node, place, own)
        return Scope(self.definition, names, kinds, {})

    def code(self, one: TransitionDefinition, scope: Scope, context: str) -> str:
        """Returns a code segment that computes a transition's locals; "" if there are none. CPN
        Tools evaluates a code segment once per firing. Adds the locals to the names in `scope`."""
        steps, inputs = [], [name for name in scope.names.values() if name != "()"]
        outputs = []
        for local in one.locals:
            value = written(local.value, scope, context)
            own = self.variable(local.name, self.sort(local.type), context)
            scope.names[local.name], scope.singles[local.name] = own, local.type
            steps.append(f"val {own} = {value}")
            outputs.append(own)
        if not steps:
            return ""
        given = ", ".join(outputs)
        action = f"let {' '.join(steps)} in ({given}) end"
        return f"input ({', '.join(inputs)}); output ({given}); action ({action});"

    def counted(self, arc: OutputDefinition, colour: str, scope: Scope, context: str) -> str:
        """Returns the inscription of an output arc. The arc produces one token, several equal
        tokens, or one token for each element of a list."""
        count = arc.count
        if count is None:
            return self.token(arc.token, colour, scope, context)
        listed = str(count).removeprefix("length(").removesuffix(")")
        each, fields = f"at({listed}, turn)", self.definition.colours[colour]
        token = arc.token
        if token == [each] or token in (each, [f"{each}.{label}" for label, _ in fields]):
            text = written(listed, scope, context)
            if token == [each]:
                text = f"(map (fn x => {{{fields[0][0]}=x}}) ({text}))"
            return f"list_to_ms ({text})"
        if "turn" in str(token) or "turn" in str(arc.delay):
            raise InputError(context, token, "CPN Tools does not number the tokens of an arc")
        value = self.token(token, colour, scope, context)
        return f"({written(count, scope, context)})`{value}"

    def token(self, token: WrittenToken | None, colour: str, scope: Scope, context: str) -> str:
        fields = self.definition.colours[colour]
        if not fields:
            return "()"
        if isinstance(token, str):
            return scope.names.get(token) or written(token, scope, context)
        cells = [
            f"{label}={written(value, scope, context)}"
            for (label, _), value in zip(fields, token or (), strict=True)
        ]
        return "{" + ",".join(cells) + "}"

    def arc(self, kind: str, node: ET.Element, place: str, text: str) -> None:
        made = ET.SubElement(self.page, "arc", id=self.key(), orientation=kind, order="1")
        layout.dressed(made, layout.Spot())
        ET.SubElement(made, "arrowattr", headsize="1.200000", currentcyckle="2")
        ET.SubElement(made, "transend", idref=node.get("id", ""))
        ET.SubElement(made, "placeend", idref=place)
        layout.label(made, "annot", self.key(), text, layout.Spot())


def check_expressible(one: TransitionDefinition, context: str) -> None:
    """Raises InputError if CPN Tools has no words for a property that determines when a transition
    fires."""
    if one.weight not in (None, 1.0):
        reason = "CPN Tools has no weights; draw the choice in a guard or write --as json"
        raise InputError(context, one.weight, reason)
    if one.priority > NORMAL:
        reason = f"CPN Tools has whole numbers from 0 as priorities; at most {NORMAL} here"
        raise InputError(context, one.priority, reason)
    for blocking in one.inhibit:
        if blocking.at_least != 1:
            reason = "CPN Tools inhibits on any token; write --as json or pnml"
            raise InputError(context, blocking.at_least, reason)
