"""Prints class diagrams and deployment diagrams of UML elements, in PlantUML and in Mermaid."""

from __future__ import annotations

from dfslab.report.diagrams import marte
from dfslab.report.diagrams.uml import Attribute, Uml


def class_plantuml(model: Uml) -> str:
    """Returns the class diagram in PlantUML. Its classes are the software of each role, files, and
    blocks."""
    lines = ["@startuml"]
    for one in model.classes:
        lines.append(f"class {one.name} {{")
        lines += [f"  {_attribute(a)}" for a in one.attributes]
        lines += [f"  {operation}()" for operation in one.operations]
        lines.append("}")
    lines += ['File "1" *-- "1..*" Block', *(f"{a} -- {b}" for a, b in model.links if a != b)]
    return "\n".join([*lines, "@enduml"]) + "\n"


def class_mermaid(model: Uml) -> str:
    """Returns the class diagram in Mermaid. Its classes are the software of each role, files, and
    blocks."""
    lines = ["classDiagram"]
    for one in model.classes:
        lines.append(f"  class {one.name}")
        lines += [f"  {one.name} : {_attribute(a)}" for a in one.attributes]
        lines += [f"  {one.name} : {operation}()" for operation in one.operations]
    lines.append('  File "1" *-- "1..*" Block')
    lines += [f"  {a} -- {b}" for a, b in model.links if a != b]
    return "\n".join(lines) + "\n"


def deployment_plantuml(model: Uml) -> str:
    """Returns the deployment diagram in PlantUML: nodes with their hardware, software and
    connections."""
    lines = ["@startuml"]
    for one in model.machines:
        kinds = " ".join(f"<<{stereotype}>>" for stereotype in one.stereotypes)
        lines.append(f'node "{one.name}" {kinds} as {one.name} {{')
        lines.append(f"  artifact {one.deployed}")
        lines += [
            f'  node "{part.name}\\n{_listed(part.attributes)}" <<{part.stereotype}>> '
            f"as {one.name}{part.name}"
            for part in one.parts
        ]
        lines.append("}")
        if one.attributes:
            lines += [
                f"note right of {one.name}",
                *(f"  {_attribute(a)}" for a in one.attributes),
                "end note",
            ]
    lines += [f"{a}Machine -- {b}Machine : <<{marte.LINK}>>" for a, b in model.links]
    return "\n".join([*lines, "@enduml"]) + "\n"


def deployment_mermaid(model: Uml) -> str:
    """Returns the deployment diagram as a Mermaid flow chart."""
    lines = ["flowchart LR"]
    for one in model.machines:
        kinds = ", ".join(one.stereotypes)
        own = "".join(f"<br/>{_attribute(a)}" for a in one.attributes)
        lines.append(f'  subgraph {one.name} ["«{kinds}»<br/>{one.name}{own}"]')
        lines.append(f"    {one.deployed}")
        for part in one.parts:
            attributes = "".join(f"<br/>{_attribute(a)}" for a in part.attributes)
            lines.append(
                f'    {one.name}{part.name}["«{part.stereotype}»<br/>{part.name}{attributes}"]'
            )
        lines.append("  end")
    lines += [f'  {a}Machine -- "«{marte.LINK}»" --- {b}Machine' for a, b in model.links]
    return "\n".join(lines) + "\n"


def _attribute(one: Attribute) -> str:
    paper = f" [{one.paper}]" if one.paper else ""
    return f"«{marte.ATTRIBUTE}» {one.name} in {one.unit}{paper}"


def _listed(attributes: tuple[Attribute, ...]) -> str:
    return "\\n".join(_attribute(one) for one in attributes)
