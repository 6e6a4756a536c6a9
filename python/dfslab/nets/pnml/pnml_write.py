"""Writes nets as PNML.

Every net is written as a place/transition net. In PNML, such a net has no guards, delays,
priorities, weights of transitions or token values. These properties are written as tool-specific
text of dfslab, and `losses` lists them.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Mapping

from dfslab.documents.net_definition import NetDefinition, TransitionDefinition
from dfslab.documents.net_run import NetFile
from dfslab.nets.build import Net, definition_of
from dfslab.nets.losses import Loss, lines
from dfslab.nets.pnml.pnml_read import NAMESPACE, PTNET

KEPT = "written as tool-specific text, which other programs ignore"
UNIT = "unit"


def losses(file: NetFile) -> list[str]:
    """Returns a line for each property of a net that a place/transition net in PNML lacks."""
    net = file.net
    places, steps = net.places, net.transitions
    plain = {name for name, fields in net.colours.items() if not fields}
    pages = {one.page for one in steps}
    arcs = [put for one in steps for put in one.out]
    shared = [
        ("values of tokens", sum(one.colour not in plain for one in places), "place"),
        ("disciplines", sum(one.discipline != "fifo" for one in places), "place"),
        ("guards", sum(bool(one.guard) for one in steps), "transition"),
        ("delays", sum(one.delay is not None for one in steps), "transition"),
        ("priorities", sum(one.priority != 0 for one in steps), "transition"),
        ("unequal weights", sum(one.weight not in (None, 1.0) for one in steps), "transition"),
        ("values that a firing computes", sum(bool(one.locals) for one in steps), "transition"),
        ("delays of arcs", sum(one.delay is not None for one in arcs), "arc"),
        ("counts of tokens that vary", sum(_number(one.count) is None for one in arcs), "arc"),
        ("functions", len(net.functions), "function"),
        ("constants", len(net.constants), "constant"),
        ("tables", len(net.tables), "table"),
        ("pages of a flat net", len(pages) if len(pages) > 1 else 0, "page"),
    ]
    return lines("pnml", [Loss(what, count, thing, KEPT) for what, count, thing in shared])


def _number(count: object) -> int | None:
    """Returns the number of tokens that an output arc produces; None if the number varies."""
    if count is None:
        return 1
    text = str(count)
    return int(text) if text.isascii() and text.isdigit() else None


def write(net: Net | NetDefinition) -> str:
    """Returns a net as PNML text. Whatever a place/transition net cannot express is written as
    tool-specific text."""
    definition = definition_of(net)
    root = ET.Element("pnml", xmlns=NAMESPACE)
    made = ET.SubElement(root, "net", id="net", type=PTNET)
    _label(made, "name", definition.name)
    _tool(made, _declared(definition))
    page = ET.SubElement(made, "page", id="page")
    pages = {one.page for one in definition.transitions}
    places = {one.name: f"p{at}" for at, one in enumerate(definition.places)}
    for place in definition.places:
        node = ET.SubElement(page, "place", id=places[place.name])
        _label(node, "name", place.name)
        if place.initial:
            _label(node, "initialMarking", str(len(place.initial)))
        kept: dict[str, object] = {}
        if place.colour != UNIT:
            kept = {"colour": place.colour, "initial": place.initial}
        if place.discipline != "fifo":
            kept["discipline"] = place.discipline
        _tool(node, kept)
    for at, one in enumerate(definition.transitions):
        node = ET.SubElement(page, "transition", id=f"t{at}")
        _label(node, "name", one.name)
        noted = {
            "guard": one.guard,
            "delay": one.delay,
            "priority": one.priority,
            "weight": one.weight,
            "locals": [local.model_dump() for local in one.locals] or None,
            "page": one.page if len(pages) > 1 else None,
        }
        _tool(node, {key: value for key, value in noted.items() if value not in (None, "", 0)})
        _arcs(page, one, f"t{at}", places)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _declared(definition: NetDefinition) -> Mapping[str, object]:
    """Returns the declarations of a net that PNML has no words for, as JSON data."""
    found = definition.model_dump(mode="json", exclude_unset=True)
    keys = ("enums", "constants", "tables", "functions")
    kept = {key: found[key] for key in keys if found.get(key)}
    colours = {name: fields for name, fields in definition.colours.items() if name != UNIT}
    return kept | ({"colours": colours} if colours else {})


def _arcs(
    page: ET.Element, transition: TransitionDefinition, node: str, places: Mapping[str, str]
) -> None:
    counts: dict[tuple[str, str, str], int] = {}
    notes: dict[tuple[str, str, str], list[Mapping[str, object]]] = {}

    def add(source: str, target: str, kind: str, weight: int, note: Mapping[str, object]) -> None:
        key = (source, target, kind)
        counts[key] = counts.get(key, 0) + weight
        if note:
            notes.setdefault(key, []).append(note)

    for taken in transition.in_:
        var = {} if taken.var is None else {"var": taken.var}
        add(places[taken.place], node, "normal", 1, var)
    for blocking in transition.inhibit:
        add(places[blocking.place], node, "inhibitor", blocking.at_least, {})
    for emptied in transition.reset:
        add(places[emptied.place], node, "reset", 1, {})
    for put in transition.out:
        number = _number(put.count)
        varying = put.count if number is None else None
        note = {"token": put.token or None, "delay": put.delay, "count": varying}
        kept = {key: value for key, value in note.items() if value is not None}
        if number != 0:
            add(node, places[put.place], "normal", 1 if number is None else number, kept)
    for (source, target, kind), weight in counts.items():
        key = f"{source}-{target}" + ("" if kind == "normal" else f"-{kind}")
        made = ET.SubElement(page, "arc", id=key, source=source, target=target)
        if kind != "normal":
            _label(made, "type", kind)
        if weight > 1:
            _label(made, "inscription", str(weight))
        _tool(
            made, {"arcs": notes[source, target, kind]} if (source, target, kind) in notes else {}
        )


def _label(parent: ET.Element, tag: str, text: str) -> None:
    ET.SubElement(ET.SubElement(parent, tag), "text").text = text


def _tool(parent: ET.Element, values: Mapping[str, object]) -> None:
    if values:
        made = ET.SubElement(parent, "toolspecific", tool="dfslab", version="1")
        made.text = json.dumps(values)
