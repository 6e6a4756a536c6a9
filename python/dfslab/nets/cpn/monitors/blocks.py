"""Reads the monitor blocks of a `.cpn` file, without translating the monitors for the engine.

The form is that of CPN Tools' document type: a `monitorblock` has monitors; a monitor has the nodes
that it observes, declarations of functions in CPN ML, and options.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MARKING_SIZE, LIST_LENGTH, OCCURRENCES = "Marking size", "List length", "Count of occurrences"
DATA_COLLECTION, BREAKPOINT = "Data collection", "Breakpoint"
# The kinds of monitors, by the numbers that CPN Tools writes for them. The editor CPN IDE lists all
# these kinds.
KINDS: Mapping[str, str] = {
    "0": MARKING_SIZE,
    "1": BREAKPOINT,
    "2": "User defined",
    "3": DATA_COLLECTION,
    "4": "Write in file",
    "5": LIST_LENGTH,
    "6": OCCURRENCES,
    "7": "Place content break point",
    "8": "Transition enabled break point",
}


@dataclass(frozen=True)
class WrittenNode:
    """A place or transition that a monitor observes: its id in the file, and the id of the page
    instance that contains it."""

    key: str
    instance: str


@dataclass(frozen=True)
class WrittenMonitor:
    """A monitor of the file. `functions` has the CPN ML text of its functions, by their names in
    the file: "Predicate", "Observer", "Init function", "Stop". `is_timed` is the option "Timed"."""

    name: str
    kind: str
    nodes: tuple[WrittenNode, ...]
    functions: Mapping[str, str]
    is_timed: bool

    @property
    def context(self) -> str:
        """Returns the text by which error messages name the monitor."""
        return f"monitor {self.name}"


def enabled_monitors(net: ET.Element) -> list[WrittenMonitor]:
    """Returns the monitors of a `cpnet` element that are not disabled, also those in nested
    blocks, in the order of the file."""
    blocks = net.findall("monitorblock")
    elements = [one for block in blocks for one in block.iter("monitor")]
    return [_monitor(one) for one in elements if one.get("disabled", "false") != "true"]


def _monitor(element: ET.Element) -> WrittenMonitor:
    number = element.get("type", "")
    described = element.get("typedescription", "") or f"type {number}"
    options = {one.get("name", ""): one.get("value", "") for one in element.findall("option")}
    return WrittenMonitor(
        name=" ".join(element.get("name", "").split()) or element.get("id", ""),
        kind=KINDS.get(number, described),
        nodes=tuple(
            WrittenNode(one.get("idref", ""), one.get("pageinstanceidref", ""))
            for one in element.findall("node")
        ),
        functions={
            one.get("name", ""): _text(one.find("ml")) for one in element.findall("declaration")
        },
        is_timed=options.get("Timed") == "true",
    )


def _text(ml: ET.Element | None) -> str:
    """Returns the CPN ML text of a declaration; "" if there is no text. The text is in the element
    `ml`. The editor CPN IDE writes the text in the child element `layout` instead."""
    if ml is None:
        return ""
    return (ml.text or "").strip() or (ml.findtext("layout") or "").strip()


def instance_paths(net: ET.Element, names: Mapping[str, str]) -> dict[str, str]:
    """Returns the path of each page instance of a file, by the id of the instance. The path is the
    prefix of the names of the instance's nodes in the flat net. `names` has the names of
    transitions by their ids."""
    found: dict[str, str] = {}
    for instances in net.findall("instances"):
        for one in instances.findall("instance"):
            found.update(_paths(one, "", names))
    return found


def _paths(instance: ET.Element, path: str, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield instance.get("id", ""), path
    for one in instance.findall("instance"):
        transition = one.get("trans", "")
        yield from _paths(one, f"{path}{names.get(transition, transition)}.", names)
