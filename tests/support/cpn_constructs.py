"""Constructs of CPN ML with what a net does that uses each, or why it is refused.

The table of docs/cpn.md is made of these rows, and every row is run.
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
    "n": "INT", "m": "INT", "s": "STRING", "b": "BOOL", "r": "REAL", "disk": "DISK", "k": "SMALL",
    "hue": "HUE", "job": "JOB", "pair": "PAIR", "nested": "NESTED", "q": "INTS", "jobs": "JOBS",
    "message": "MESSAGE", "u": "UNIT", "grid": "GRID", "orders": "ORDERS",
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A construct: an example of it, the net around the example, and what becomes of the net.

    `served` are the rows in the place behind the transition when nothing fires any more;
    `refused` is part of the line that stops the file.
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


def document(row: Row) -> str:
    """The file of a row: one transition between two places."""
    parts = ["<ml id='first'>val nodes = 3;</ml>"]
    colours = COLOURS | row.extra
    parts += [f"<color id='c{k}'><id>{k}</id>{kind}</color>" for k, kind in colours.items()]
    parts.append(row.colours)
    for name, colour in VARIABLES.items():
        if colour not in colours:
            continue
        parts.append(f"<var id='v{name}'><type><id>{colour}</id></type><id>{name}</id></var>")
    if row.ml:
        parts.append(f"<ml id='m'>{escape(row.ml)}</ml>")
    places = [("x", "waiting", row.colour, row.first), ("y", "served", row.made, "")]
    for key, name, colour, first in places:
        parts_of = f"<type><text>{colour}</text></type><initmark><text>{escape(first)}</text>"
        places_text = f"<place id='{key}'><text>{name}</text>{parts_of}</initmark></place>"
        parts.append("" if key == "" else places_text)
    declared, placed = parts[: -len(places)], parts[-len(places) :]
    labels = "".join(
        f"<{tag}><text>{escape(text)}</text></{tag}>"
        for tag, text in (("cond", row.guard), ("time", row.time), ("code", row.code))
        if text
    )
    arcs = "".join(
        f"<arc id='a{key}' orientation='{way}'><transend idref='t'/><placeend idref='{key}'/>"
        f"<annot><text>{escape(text)}</text></annot></arc>"
        for key, way, text in (("x", "PtoT", row.takes), ("y", "TtoP", row.puts))
    )
    return (
        "<workspaceElements><cpnet><globbox><block id='b'>"
        + "".join(declared)
        + "</block></globbox><page id='p'><pageattr name='Main'/>"
        + "".join(placed)
        + f"<trans id='t'><text>serve</text>{labels}</trans>{arcs}</page></cpnet>"
        + "</workspaceElements>"
    )


def table(rows: list[Row]) -> str:
    """The rows as a table of Markdown."""

    def cell(text: str) -> str:
        return text.replace("|", "\\|")

    lines = ["| construct | example | |", "|---|---|---|"]
    for row in rows:
        said = f"refused: {row.refused}" if row.refused else "read"
        lines.append(f"| {cell(row.construct)} | `` {cell(row.example)} `` | {cell(said)} |")
    return "\n".join(lines)
