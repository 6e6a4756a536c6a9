"""Reads place/transition nets and symmetric nets from PNML.

A file must contain one net. A place/transition net (`ptnet`) has places with initial markings,
transitions, and normal, inhibitor and reset arcs, on any number of pages. Weights of arcs are whole
numbers. InputError is raised for reference nodes and other types of nets.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, field

from dfslab.documents.net_definition import NetDefinition
from dfslab.nets.build import Net, Place, Put, Take, with_equal_chances
from dfslab.nets.cpn.cpn_read import definition_of_element
from dfslab.nets.pnml.pnml_symmetric import SYMMETRIC, converted
from dfslab.spec.input_error import InputError

NAMESPACE = "http://www.pnml.org/version-2009/grammar/pnml"
PTNET = "http://www.pnml.org/version-2009/grammar/ptnet"
TOKENS_MOST, CHARACTERS_MOST = 1_000_000, 50_000_000
# Largest weight of an output arc. The engine's net has one output arc for a weight of more than
# ARCS_MOST, and otherwise an arc for each token.
WEIGHT_MOST, ARCS_MOST = 100_000, 20
# Largest number of tokens that a firing takes. The engine's net has an input arc for each token.
TAKEN_MOST = 900
IGNORED = {"name", "graphics", "toolspecific"}


def read(text: str) -> NetDefinition:
    """Converts PNML text to a flat net definition. In a place/transition net, tokens have no
    fields; in a symmetric net, tokens have the fields of their colours. Raises InputError for any
    other content."""
    root = _parse(text)
    if _tag(root) != "pnml":
        raise InputError("pnml", _tag(root), "the outermost element must be pnml")
    nets = [child for child in root if _tag(child) == "net"]
    if len(nets) != 1:
        raise InputError("pnml", len(nets), "must hold exactly one net")
    kind = nets[0].get("type", "")
    if kind.rsplit("/", 1)[-1] in SYMMETRIC:
        return definition_of_element(converted(nets[0]))
    if kind.rsplit("/", 1)[-1] != "ptnet":
        raise InputError("net type", kind, f"{PTNET} and symmetric nets are read")
    return _PnmlReader(nets[0]).definition()


def _parse(text: str) -> ET.Element:
    if len(text) > CHARACTERS_MOST:
        raise InputError("pnml", len(text), f"at most {CHARACTERS_MOST} characters")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError("pnml", None, "document types and entities are not read")
    try:
        return ET.fromstring(text)
    except (ET.ParseError, ValueError) as error:
        raise InputError("pnml", None, f"is no XML: {error}") from None


def _tag(element: ET.Element) -> str:
    return element.tag.rsplit("}", 1)[-1] if isinstance(element.tag, str) else "comment"


@dataclass
class _TransitionNode:
    """A transition that is being read, with the arcs that have been found so far."""

    name: str
    page: str
    takes: list[Take] = field(default_factory=list)
    puts: list[Put] = field(default_factory=list)
    inhibit: list[tuple[Place, int]] = field(default_factory=list)
    reset: list[Place] = field(default_factory=list)


class _PnmlReader:
    """Reads a place/transition net: first the nodes of all pages, then the arcs, which refer to the
    nodes."""

    def __init__(self, net: ET.Element) -> None:
        self.name = self.text(net, "name") or net.get("id") or "net"
        self.net = Net(self.name)
        self.places: dict[str, Place] = {}
        self.transitions: dict[str, _TransitionNode] = {}
        self.arcs: list[ET.Element] = []
        self.taken: set[str] = set()
        self.gather(net, "main")
        for arc in self.arcs:
            self.arc(arc)

    def definition(self) -> NetDefinition:
        """Returns the flat definition of the net that was read."""
        for one in self.transitions.values():
            number = sum(take.count for take in one.takes)
            if number > TAKEN_MOST:
                reason = (
                    f"input arcs take at most {TAKEN_MOST} tokens; if the weights and the initial "
                    "marking of a place have a common divisor, divide them by it"
                )
                raise InputError(f"transition {one.name}, inscriptions", number, reason)
            self.net.transition(
                one.name, one.takes, one.puts, inhibit=one.inhibit, reset=one.reset, page=one.page
            )
        self.net.transitions = with_equal_chances(self.net.transitions)
        return self.net.document()

    def gather(self, parent: ET.Element, page: str) -> None:
        for child in parent:
            tag = _tag(child)
            if tag == "page":
                self.gather(child, self.text(child, "name") or child.get("id") or page)
            elif tag == "place":
                tokens = self.number(child, "initialMarking", 0, TOKENS_MOST)
                key = self.identity(child)
                self.places[key] = self.net.place(self.named(child), initial=[()] * tokens)
            elif tag == "transition":
                key = self.identity(child)
                self.transitions[key] = _TransitionNode(self.named(child), page)
            elif tag == "arc":
                self.arcs.append(child)
            elif tag not in IGNORED and tag != "comment":
                raise InputError(tag, child.get("id"), "is not read; see the P/T subset of PNML")

    def identity(self, element: ET.Element) -> str:
        key = element.get("id", "")
        if not key:
            raise InputError(_tag(element), None, "has no id")
        if key in self.places or key in self.transitions:
            raise InputError(f"{_tag(element)} {key}", None, "the id is used twice")
        return key

    def named(self, element: ET.Element) -> str:
        """Returns a unique name for an element: its name, or its id if it has no name or the name
        is already used."""
        key = element.get("id", "")
        name = self.text(element, "name") or key
        chosen = key if name in self.taken else name
        self.taken.add(chosen)
        return chosen

    def text(self, element: ET.Element, label: str) -> str:
        for child in element:
            if _tag(child) == label:
                inner = [one for one in child if _tag(one) == "text"]
                return " ".join((inner[0].text or "").split()) if inner else ""
        return ""

    def number(self, element: ET.Element, label: str, least: int, most: int) -> int:
        if all(_tag(child) != label for child in element):
            return least
        text = self.text(element, label)
        if not (text.isascii() and text.isdigit() and least <= int(text[:12]) <= most):
            raise InputError(
                f"{_tag(element)} {element.get('id', '')}, {label}",
                text,
                f"must be a whole number from {least} to {most}",
            )
        return int(text)

    def arc(self, arc: ET.Element) -> None:
        ends = [arc.get(end, "") for end in ("source", "target")]
        context = f"arc {arc.get('id', '')}"
        for end, key in zip(("source", "target"), ends, strict=True):
            if key not in self.places and key not in self.transitions:
                raise InputError(f"{context}, {end}", key, "is no place or transition of the net")
        kind = arc.get("type") or self.text(arc, "type")
        if kind not in ("", "normal", "inhibitor", "reset"):
            raise InputError(context, kind, "the type must be normal, inhibitor or reset")
        weight = self.number(arc, "inscription", 1, WEIGHT_MOST)
        source, target = ends
        if (source in self.places) == (target in self.places):
            raise InputError(context, f"{source} to {target}", "must join a place and a transition")
        if source in self.transitions:
            if kind not in ("", "normal"):
                raise InputError(context, kind, "such an arc goes from a place to a transition")
            count = weight if weight <= ARCS_MOST else str(weight)
            self.transitions[source].puts.append(Put(self.places[target], count=count))
            return
        place, transition = self.places[source], self.transitions[target]
        if kind == "inhibitor":
            transition.inhibit.append((place, weight))
        elif kind == "reset":
            transition.reset.append(place)
        else:
            transition.takes.append(Take(place, count=weight))
