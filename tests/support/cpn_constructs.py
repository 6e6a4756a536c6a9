"""Types for examples of constructs of CPN ML, the language of CPN Tools. Each example states how a
net with the construct behaves, or why it is refused.

The table in docs/cpn.md is made of these examples, and a test runs each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

COLOURS = {
    "INT": "<int/>",
    "STRING": "<string/>",
    "BOOL": "<bool/>",
    "UNIT": "<unit/>",
    "REAL": "<real/>",
    "DISK": "<index><ml>1</ml><ml>nodes</ml><id>d</id></index>",
    "SMALL": "<int><with><ml>1</ml><ml>3</ml></with></int>",
    "HUE": "<enum><id>red</id><id>green</id><id>blue</id></enum>",
    "JOB": "<record><recordfield><id>no</id><id>INT</id></recordfield>"
    "<recordfield><id>owner</id><id>STRING</id></recordfield></record>",
    "PAIR": "<product><id>INT</id><id>HUE</id></product>",
    "NESTED": "<record><recordfield><id>job</id><id>JOB</id></recordfield>"
    "<recordfield><id>at</id><id>PAIR</id></recordfield></record>",
    "INTS": "<list><id>INT</id></list>",
    "JOBS": "<list><id>JOB</id></list>",
    "MESSAGE": "<union><unionfield><id>ask</id><type><id>JOB</id></type></unionfield>"
    "<unionfield><id>answer</id><type><id>INT</id></type></unionfield>"
    "<unionfield><id>stop_now</id></unionfield></union>",
}
VARIABLES = {
    "n": "INT",
    "m": "INT",
    "s": "STRING",
    "b": "BOOL",
    "r": "REAL",
    "disk": "DISK",
    "k": "SMALL",
    "hue": "HUE",
    "job": "JOB",
    "pair": "PAIR",
    "nested": "NESTED",
    "q": "INTS",
    "jobs": "JOBS",
    "message": "MESSAGE",
    "u": "UNIT",
    "grid": "GRID",
    "orders": "ORDERS",
}


@dataclass(frozen=True)
class Row:
    """One construct of CPN ML, the language of CPN Tools: an example, the net around the example,
    and how this net behaves.

    `served` lists the tokens that are in the output place at the end, when no transition is enabled
    any more. `refused` is part of the error message if the file is refused.
    """

    construct: str
    example: str
    takes: str = "n"
    puts: str = "n"
    colour: str = "INT"
    made: str = "INT"
    first: str = "1`1++1`2"
    ml: str = ""
    colours: str = ""
    guard: str = ""
    code: str = ""
    time: str = ""
    served: list[list[Any]] | None = None
    refused: str = ""
    extra: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """A transition of a CPN file. `takes` and `puts` map the names of its input and output places
    to the inscriptions of the arcs. The other fields are the inscriptions of the transition."""

    name: str
    takes: dict[str, str]
    puts: dict[str, str]
    guard: str = ""
    time: str = ""
    code: str = ""


def file_of(declarations: list[str], places: dict[str, tuple[str, str]], steps: list[Step]) -> str:
    """Returns the text of a CPN file with one page. `places` maps the name of a place to (colour
    set, initial marking)."""
    nodes, keys = [], {}
    for at, (name, (colour, first)) in enumerate(places.items()):
        keys[name] = f"p{at}"
        nodes.append(
            f"<place id='p{at}'><text>{name}</text><type><text>{colour}</text></type>"
            f"<initmark><text>{escape(first)}</text></initmark></place>"
        )
    arcs = []
    for at, step in enumerate(steps):
        texts = (("cond", step.guard), ("time", step.time), ("code", step.code))
        labels = "".join(
            f"<{tag}><text>{escape(text)}</text></{tag}>" for tag, text in texts if text
        )
        nodes.append(f"<trans id='t{at}'><text>{step.name}</text>{labels}</trans>")
        for way, ends in (("PtoT", step.takes), ("TtoP", step.puts)):
            arcs += [
                f"<arc id='{way}{at}{keys[place]}' orientation='{way}'>"
                f"<transend idref='t{at}'/><placeend idref='{keys[place]}'/>"
                f"<annot><text>{escape(text)}</text></annot></arc>"
                for place, text in ends.items()
            ]
    return (
        f"<workspaceElements><cpnet><globbox><block id='b'>{''.join(declarations)}</block>"
        f"</globbox><page id='p'><pageattr name='Main'/>{''.join(nodes)}{''.join(arcs)}</page>"
        "</cpnet></workspaceElements>"
    )


def ml(text: str) -> str:
    """Returns the XML text that declares values or functions of CPN ML."""
    return f"<ml id='m'>{escape(text)}</ml>"


def color(name: str, kind: str) -> str:
    """Returns the XML text that declares a colour set."""
    return f"<color id='c{name}'><id>{name}</id>{kind}</color>"


def var(name: str, colour: str) -> str:
    """Returns the XML text that declares a variable."""
    return f"<var id='v{name}'><type><id>{colour}</id></type><id>{name}</id></var>"


def document(row: Row) -> str:
    """Returns the text of a CPN file for one construct. The net in the file is a transition between
    two places."""
    colours = COLOURS | row.extra
    parts = [ml("val nodes = 3;")]
    parts += [color(name, kind) for name, kind in colours.items()]
    parts.append(row.colours)
    parts += [var(name, colour) for name, colour in VARIABLES.items() if colour in colours]
    parts += [ml(row.ml)] if row.ml else []
    places = {"waiting": (row.colour, row.first), "served": (row.made, "")}
    ends = {"waiting": row.takes}, {"served": row.puts}
    return file_of(parts, places, [Step("serve", *ends, row.guard, row.time, row.code)])


def table(rows: list[Row]) -> str:
    """Returns the constructs as a Markdown table."""

    def cell(text: str) -> str:
        return text.replace("|", "\\|")

    lines = ["| construct | example | |", "|---|---|---|"]
    for row in rows:
        said = f"refused: {row.refused}" if row.refused else "read"
        lines.append(f"| {cell(row.construct)} | `` {cell(row.example)} `` | {cell(said)} |")
    return "\n".join(lines)
