"""Writes and reads UML elements as XMI (UML 2.5 with MARTE stereotypes applied)."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from dfslab.exports.contract import DescriptionExporter
from dfslab.report.diagrams import marte
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
from dfslab.spec.input_error import InputError

TITLE = "UML 2.5 with MARTE stereotypes, as XMI"
XMI = "http://www.omg.org/spec/XMI/20131001"
UML = "http://www.omg.org/spec/UML/20131001"
MARTE = "http://www.omg.org/spec/MARTE/20110601"
TYPE, ID = f"{{{XMI}}}type", f"{{{XMI}}}id"
_NAMES = {"xmi": XMI, "uml": UML, "MARTE": MARTE}


def export(model: Uml) -> str:
    """Returns the UML model as an XMI document. The same model always gives the same text."""
    for prefix, address in _NAMES.items():
        ElementTree.register_namespace(prefix, address)
    root = _XmiWriter(model).document()
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def read(text: str, file: str = "") -> Uml:
    """Returns the UML model in an XMI document that `export` wrote. Raises InputError for any other
    text."""
    try:
        root = ElementTree.fromstring(text)
        return _XmiReader(root).model()
    except (ElementTree.ParseError, KeyError, StopIteration, ValueError) as error:
        raise InputError("xmi", None, f"is not what dfslab exports: {error}", file) from error


class _XmiWriter:
    def __init__(self, model: Uml) -> None:
        self._model, self._count = model, 0
        self._applied: list[tuple[str, str, dict[str, str]]] = []

    def document(self) -> Element:
        """Returns the XML document of the UML model. The elements of the model come first. The
        stereotypes that are applied to these elements follow."""
        root = Element(f"{{{XMI}}}XMI")
        model = self._element(root, f"{{{UML}}}Model", "", name=self._model.name)
        for one in self._model.classes:
            element = self._element(model, "packagedElement", "uml:Class", name=one.name)
            self._attributes(element, one.attributes)
            for operation in one.operations:
                self._element(element, "ownedOperation", "uml:Operation", name=operation)
        for machine in self._model.machines:
            self._machine(model, machine)
        for a, b in self._model.links:
            link = self._element(model, "packagedElement", "uml:CommunicationPath")
            for end in (a, b):
                self._element(link, "ownedEnd", "uml:Property", name=end)
            self._apply(marte.LINK, link)
        for interaction in self._model.interactions:
            element = self._element(
                model, "packagedElement", "uml:Interaction", name=interaction.name
            )
            for lifeline in interaction.lifelines:
                values = {"name": lifeline.name, "represents": lifeline.label}
                self._element(element, "lifeline", "uml:Lifeline", **values)
            for text in interaction.legend:
                self._element(element, "ownedComment", "uml:Comment", body=text)
            self._body(element, interaction.body)
        for stereotype, base, values in self._applied:
            SubElement(root, f"{{{MARTE}}}{stereotype}", {"base": base, **values})
        return root

    def _element(self, parent: Element, tag: str, kind: str, **values: str) -> Element:
        self._count += 1
        typed = {TYPE: kind} if kind else {}
        return SubElement(parent, tag, {**typed, ID: f"e{self._count}", **values})

    def _apply(self, stereotype: str, element: Element, **values: str) -> None:
        self._applied.append((stereotype, element.attrib[ID], values))

    def _attributes(self, parent: Element, attributes: tuple[Attribute, ...]) -> None:
        for one in attributes:
            element = self._element(parent, "ownedAttribute", "uml:Property", name=one.name)
            self._apply(marte.ATTRIBUTE, element, unit=one.unit, paper=one.paper)

    def _machine(self, model: Element, machine: Machine) -> None:
        element = self._element(model, "packagedElement", "uml:Node", name=machine.name)
        for stereotype in machine.stereotypes:
            self._apply(stereotype, element)
        self._element(element, "deployment", "uml:Deployment", name=machine.deployed)
        self._attributes(element, machine.attributes)
        for part in machine.parts:
            inner = self._element(element, "nestedNode", "uml:Node", name=part.name)
            self._apply(part.stereotype, inner)
            self._attributes(inner, part.attributes)

    def _body(self, parent: Element, body: tuple[Event, ...]) -> None:
        for one in body:
            if isinstance(one, Message):
                # XMI orders messages by their place among the fragments, so each message is listed
                # as a fragment, too.
                self._element(
                    parent,
                    "fragment",
                    "uml:Message",
                    name=one.name,
                    messageSort=one.sort,
                    sender=one.sender,
                    receiver=one.receiver,
                )
            elif isinstance(one, Execution):
                element = self._element(
                    parent,
                    "fragment",
                    "uml:BehaviorExecutionSpecification",
                    name=one.name,
                    covered=one.lifeline,
                )
                self._apply(one.stereotype, element)
            else:
                element = self._element(
                    parent, "fragment", "uml:CombinedFragment", interactionOperator=one.operator
                )
                for operand in one.operands:
                    inner = self._element(element, "operand", "uml:InteractionOperand")
                    self._element(
                        inner, "guard", "uml:InteractionConstraint", specification=operand.guard
                    )
                    self._body(inner, operand.body)


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


def write(model: Uml) -> bytes:
    """Returns the UML model as an XMI document in UTF-8."""
    return export(model).encode()


EXPORTER = DescriptionExporter(TITLE, ".xmi", write)
