"""Writes the parts of a `.cpn` file that concern its picture: positions, sizes, colours of lines,
and the window in which CPN Tools shows a page. CPN Tools needs these parts to open a file.

Places are in rows, and the transitions are in the rows between them.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

COLUMNS, WIDTH, HEIGHT = 6, 260.0, 240.0
TOOL = {"tool": "CPN Tools", "version": "4.0.1"}
# The line before the root element, in the form of CPN Tools.
HEAD = (
    '<?xml version="1.0" encoding="iso-8859-1"?>\n'
    '<!DOCTYPE workspaceElements PUBLIC "-//CPN//DTD CPNXML 1.0//EN" '
    '"http://cpntools.org/DTD/6/cpn.dtd">\n'
)


@dataclass(frozen=True)
class Spot:
    """A position in the picture of a page."""

    x: float = 0.0
    y: float = 0.0

    def moved(self, x: float, y: float) -> Spot:
        """Returns the position that is `x` to the right and `y` above."""
        return Spot(self.x + x, self.y + y)


def place_spot(number: int) -> Spot:
    """Returns the position of the place with an index."""
    return Spot(number % COLUMNS * WIDTH, -(number // COLUMNS) * HEIGHT)


def transition_spot(number: int) -> Spot:
    """Returns the position of the transition with an index."""
    return place_spot(number).moved(WIDTH / 2, -HEIGHT / 2)


def dressed(node: ET.Element, spot: Spot) -> ET.Element:
    """Adds the position of an element and its colours. Returns the element."""
    ET.SubElement(node, "posattr", x=f"{spot.x:.6f}", y=f"{spot.y:.6f}")
    ET.SubElement(node, "fillattr", colour="White", pattern="", filled="false")
    ET.SubElement(node, "lineattr", colour="Black", thick="1", type="Solid")
    ET.SubElement(node, "textattr", colour="Black", bold="false")
    return node


def shape(node: ET.Element, form: str) -> None:
    """Adds the outline of a node: `form` is "ellipse" or "box"."""
    ET.SubElement(node, form, w="100.000000", h="50.000000")


def marking(place: ET.Element) -> None:
    """Adds the positions at which CPN Tools shows the marking of a place."""
    ET.SubElement(place, "token", x="-10.000000", y="0.000000")
    ET.SubElement(place, "marking", x="0.000000", y="0.000000", hidden="false")


def label(node: ET.Element, tag: str, key: str, text: str, spot: Spot) -> None:
    """Adds an inscription to a node or an arc. `key` is the id of the inscription."""
    made = dressed(ET.SubElement(node, tag, id=key), spot)
    ET.SubElement(made, "text", TOOL).text = text


def window(net: ET.Element, key: str, sheet: str, instance: str) -> None:
    """Adds the window that shows a page instance. `key` and `sheet` are ids of the window and its
    sheet."""
    binder = ET.SubElement(
        ET.SubElement(net, "binders"),
        "cpnbinder",
        {"id": key, "x": "260", "y": "120", "width": "900", "height": "600"},
    )
    places = {"panx": "0.000000", "pany": "0.000000", "zoom": "1.000000"}
    sheets = ET.SubElement(binder, "sheets")
    made = ET.SubElement(sheets, "cpnsheet", {"id": sheet, **places, "instance": instance})
    for one in (made, binder):
        ET.SubElement(ET.SubElement(one, "zorder"), "position", value="0")
