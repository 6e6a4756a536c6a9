"""Prints interactions as UML sequence diagrams, in the languages Mermaid and PlantUML.

The printed elements are those of report/diagrams/interaction.py. Guards are written as in Wu 2013,
Figures 2 and 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dfslab.report.diagrams import marte
from dfslab.report.diagrams.interaction import Event, Execution, Fragment, Interaction, Message


@dataclass(frozen=True)
class _Dialect:
    """The syntax of a diagram language: the form of a note, the arrow of each message type, and,
    for each operator such as alt or par, the keyword between its branches."""

    note: str
    arrows: dict[str, str]
    branches: dict[str, str]


_MERMAID = _Dialect(
    "Note over",
    {"synchCall": "->>", "asynchCall": "-)", "reply": "-->>"},
    {"alt": "else", "par": "and"},
)
_PLANTUML = _Dialect(
    "note over",
    {"synchCall": "->", "asynchCall": "->>", "reply": "-->"},
    {"alt": "else", "par": "else"},
)


def _lines(body: Sequence[Event], dialect: _Dialect, depth: int = 1) -> Iterator[str]:
    indent = "  " * depth
    for event in body:
        if isinstance(event, Execution):
            yield f"{indent}{dialect.note} {event.lifeline}: «{event.stereotype}» {event.name}"
        elif isinstance(event, Message):
            arrow = dialect.arrows[event.sort]
            yield f"{indent}{event.sender}{arrow}{event.receiver}: {event.name}"
        else:
            yield from _fragment(event, dialect, depth)


def _fragment(fragment: Fragment, dialect: _Dialect, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for number, operand in enumerate(fragment.operands):
        word = dialect.branches[fragment.operator] if number else fragment.operator
        # Both languages write the guard after the keyword "else". A guard that is itself "else"
        # would be written twice, so it is left out.
        guard = "" if word == operand.guard else operand.guard
        yield f"{indent}{word} {guard}".rstrip()
        yield from _lines(operand.body, dialect, depth + 1)
    yield f"{indent}end"


def mermaid(system: str, drawn: Interaction) -> str:
    """Returns the Mermaid text of one operation's sequence diagram. `system`: title of the file
    system."""
    ends = dict.fromkeys((drawn.lifelines[0].name, drawn.lifelines[-1].name))
    lines = ["sequenceDiagram", f"  title {system}: {drawn.name}"]
    lines += [f"  participant {line.name} as {line.label}" for line in drawn.lifelines]
    # Mermaid has no legend: each line of the legend is a note over the whole diagram.
    lines += [f"  Note over {','.join(ends)}: {text}" for text in drawn.legend]
    return "\n".join([*lines, *_lines(drawn.body, _MERMAID)]) + "\n"


def plantuml(system: str, drawn: Interaction) -> str:
    """Returns the PlantUML text of one operation's sequence diagram. `system`: title of the file
    system."""
    lines = ["@startuml", f"title {system}: {drawn.name}"]
    lines += [
        f'participant "«{marte.NODE[0]}»\\n{line.label}" as {line.name}' for line in drawn.lifelines
    ]
    if drawn.legend:
        lines += ["legend", *(f"  {text}" for text in drawn.legend), "end legend"]
    return "\n".join([*lines, *_lines(drawn.body, _PLANTUML), "@enduml"]) + "\n"
