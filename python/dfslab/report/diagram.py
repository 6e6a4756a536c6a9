"""Pictures of a description: UML sequence diagrams with MARTE stereotypes.

Mermaid and PlantUML say the same; combined fragments (loop, opt, alt, par) as in Wu 2013, Figures
2 and 3.
"""

from __future__ import annotations

from collections.abc import Callable

from dfslab.report.uml import COMPUTING
from dfslab.spec.filesystem import FileSystem, Role
from dfslab.spec.operation import (
    Call,
    Choice,
    Later,
    Node,
    Par,
    Pipeline,
    Repeat,
    Seq,
    Use,
    lands_at,
)

STEREOTYPES = {
    "cpu": "PaStep, hostDemand",
    "disk": "HwDrive",
    "nic": "HwMedia",
    "memory": "HwRAM",
    "lock": "SwMutualExclusionResource",
    "threads": "SwSchedulableResource",
}


class _Drawing:
    """Walks a tree once; the dialects differ in a few words only."""

    def __init__(self, system: FileSystem, note: Callable[[str, str], str], reply: str) -> None:
        self.system, self.note, self.reply = system, note, reply
        self.lines: list[str] = []

    def visit(self, node: Node, role: str, depth: int) -> None:
        """Append the lines of `node`, whose caller is `role`."""
        indent = "  " * depth
        if isinstance(node, Use):
            kind = STEREOTYPES[node.resource.kind]
            text = f"«{kind}» {node.name or node.resource.kind}"
            self.lines.append(indent + self.note(node.resource.role, text))
            if node.body:
                self.visit(node.body, node.resource.role, depth)
        elif isinstance(node, Call):
            arrow = "->>" if not node.one_way else "-)"
            self.lines.append(f"{indent}{role}{arrow}{node.role}: {node.name}")
            self.visit(node.body, node.role, depth + 1)
            if not node.one_way:
                self.lines.append(f"{indent}{node.role}{self.reply}{role}: {node.name} done")
        elif isinstance(node, Seq):
            if node.name:
                self.lines.append(indent + self.note(role, f"«PaStep» {node.name}"))
            for step in node.steps:
                self.visit(step, role, depth)
        else:
            self._fragment(node, role, depth)

    def _fragment(self, node: Node, role: str, depth: int) -> None:
        indent = "  " * depth
        heads, separator = _heads(node)
        bodies = list(node.children())
        for index, body in enumerate(bodies):
            head = heads[min(index, len(heads) - 1)]
            keyword = separator if index and separator else ""
            if index == 0:
                self.lines.append(f"{indent}{head}")
            elif keyword:
                self.lines.append(f"{indent}{keyword} {head.split(' ', 1)[-1]}")
            self.visit(body, role, depth + 1)
            if isinstance(node, Pipeline):
                role = lands_at(body, role)
        self.lines.append(f"{indent}end")


def _heads(node: Node) -> tuple[list[str], str]:
    if isinstance(node, Repeat):
        return [f"loop {node.count}"], ""
    if isinstance(node, Pipeline):
        return [f"loop {node.units} units, stages overlap"], ""
    if isinstance(node, Later):
        return [f"opt later {node.name}".rstrip()], ""
    if isinstance(node, Par):
        needed = "" if node.needed is None else f", {node.needed} needed"
        return [f"par {node.copies} copies{needed}"], "and"
    assert isinstance(node, Choice)
    word = "opt" if len(node.branches) == 1 else "alt"
    return [f"{word} {probability}" for probability, _ in node.branches], "else"


def mermaid(system: FileSystem, operation: str) -> str:
    """One operation as a Mermaid sequence diagram."""
    drawing = _Drawing(system, lambda role, text: f"Note over {role}: {text}", "-->>")
    drawing.visit(system.operations[operation], _client(system), 1)
    roles = [f"  participant {role.name} as {role.uml}" for role in system.roles]
    return (
        "\n".join(
            ["sequenceDiagram", f"  title {system.name}: {operation}", *roles, *drawing.lines]
        )
        + "\n"
    )


def plantuml(system: FileSystem, operation: str) -> str:
    """One operation as a PlantUML sequence diagram."""
    drawing = _Drawing(system, lambda role, text: f"note over {role}: {text}", "-->>")
    drawing.visit(system.operations[operation], _client(system), 1)
    body = [_plant(line) for line in drawing.lines]
    roles = [f'participant "{_head(role)}" as {role.name}' for role in system.roles]
    return (
        "\n".join(["@startuml", f"title {system.name}: {operation}", *roles, *body, "@enduml"])
        + "\n"
    )


def _plant(line: str) -> str:
    stripped = line.strip()
    indent = line[: len(line) - len(stripped)]
    if stripped.startswith("and "):
        return f"{indent}else {stripped[4:]}"
    return line.replace("-)", "->>") if "-)" in stripped.split(":")[0] else line


def _head(role: Role) -> str:
    return f"«{COMPUTING[0]}»\\n{role.uml}"


def _client(system: FileSystem) -> str:
    return next(role.name for role in system.roles if role.kind == "client")
