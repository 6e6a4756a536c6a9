"""Reads XMI documents back as UML models, to compare them with the models that were exported."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from dfslab.exports.formats.xmi import ID, MARTE, TYPE, UML
from dfslab.report.diagrams.interaction import (
    Event,
    Execution,
    Fragment,
    Interaction,
    Lifeline,
    Message,
    Operand,
)
from dfslab.report.diagrams.uml import Attribute, Class, HardwarePart, Machine, Uml


def read_xmi(text: str) -> Uml:
    """Returns the UML model in an XMI document that `xmi.export` wrote."""
    return _XmiReader(ElementTree.fromstring(text)).model()


class _XmiReader:
    def __init__(self, root: Element) -> None:
        self._root = root
        self._applied: dict[str, list[Element]] = {}
        for one in root:
            if one.tag.startswith(f"{{{MARTE}}}"):
                self._applied.setdefault(one.attrib["base"], []).append(one)

    def model(self) -> Uml:
        """Returns the UML model that was exported to this document."""
        model = next(one for one in self._root if one.tag == f"{{{UML}}}Model")
        links = [
            tuple(end.attrib["name"] for end in one.findall("ownedEnd"))
            for one in self._packaged(model, "uml:CommunicationPath")
        ]
        return Uml(
            model.attrib["name"],
            tuple(self._class(one) for one in self._packaged(model, "uml:Class")),
            tuple(self._machine(one) for one in self._packaged(model, "uml:Node")),
            tuple((a, b) for a, b in links),
            tuple(self._interaction(one) for one in self._packaged(model, "uml:Interaction")),
        )

    def _packaged(self, model: Element, kind: str) -> Iterator[Element]:
        return (one for one in model.findall("packagedElement") if one.attrib[TYPE] == kind)

    def _stereotypes(self, element: Element) -> list[str]:
        applied = self._applied.get(element.attrib[ID], [])
        return [one.tag.removeprefix(f"{{{MARTE}}}") for one in applied]

    def _attributes(self, element: Element) -> tuple[Attribute, ...]:
        found = []
        for one in element.findall("ownedAttribute"):
            (applied,) = self._applied[one.attrib[ID]]
            found.append(
                Attribute(one.attrib["name"], applied.attrib["unit"], applied.attrib["paper"])
            )
        return tuple(found)

    def _class(self, element: Element) -> Class:
        operations = tuple(one.attrib["name"] for one in element.findall("ownedOperation"))
        return Class(element.attrib["name"], self._attributes(element), operations)

    def _machine(self, element: Element) -> Machine:
        (deployed,) = element.findall("deployment")
        parts = tuple(
            HardwarePart(one.attrib["name"], self._stereotypes(one)[0], self._attributes(one))
            for one in element.findall("nestedNode")
        )
        return Machine(
            element.attrib["name"],
            deployed.attrib["name"],
            self._attributes(element),
            parts,
            tuple(self._stereotypes(element)),
        )

    def _interaction(self, element: Element) -> Interaction:
        lifelines = tuple(
            Lifeline(one.attrib["name"], one.attrib["represents"])
            for one in element.findall("lifeline")
        )
        legend = tuple(one.attrib["body"] for one in element.findall("ownedComment"))
        return Interaction(element.attrib["name"], lifelines, self._body(element), legend)

    def _body(self, element: Element) -> tuple[Event, ...]:
        return tuple(self._event(one) for one in element.findall("fragment"))

    def _event(self, element: Element) -> Event:
        kind, given = element.attrib[TYPE], element.attrib
        if kind == "uml:Message":
            return Message(given["name"], given["sender"], given["receiver"], given["messageSort"])
        if kind == "uml:BehaviorExecutionSpecification":
            return Execution(given["name"], given["covered"], self._stereotypes(element)[0])
        operands = []
        for one in element.findall("operand"):
            (guard,) = one.findall("guard")
            operands.append(Operand(guard.attrib["specification"], self._body(one)))
        return Fragment(given["interactionOperator"], tuple(operands))
