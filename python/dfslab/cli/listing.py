"""Implements `dfslab list`, which lists the file systems, workloads and other plug-ins ("members")
that discovery finds. Members of this package are listed without importing them.

A room is one type of member, such as workloads.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from dfslab import discover
from dfslab.spec.files import ready


def members() -> dict[str, list[dict[str, str]]]:
    """Returns a dictionary of all members. Each key is a type of member, such as "workloads", and
    its value has one row for each member of that type.

    A row contains the member's name, title and origin.
    """
    return {
        "filesystems": [
            {
                "name": name,
                "title": discover.title(path / "facts.py"),
                "testbed": "yes" if discover.has_testbed(path) else "",
                "from": discover.source(path),
            }
            for name, path in discover.members(discover.FILE_SYSTEMS).items()
        ],
        "workloads": _titled(discover.WORKLOADS),
        "methods": [
            {"name": name, "title": kind, "from": discover.source(path)}
            for name, kind, path in discover.methods()
        ],
        "studies": [
            {"name": name, "title": "study", "from": member.source}
            for name, member in sorted(discover.studies().items())
        ],
        "sections": _titled(discover.SECTIONS),
        "exporters": _titled(discover.EXPORTERS),
        "importers": _titled(discover.IMPORTERS),
        "result readers": _titled(discover.RESULT_READERS),
        "rules": [
            {"name": name, "title": "rule", "from": discover.source(path)}
            for name, path in discover.members(discover.RULES).items()
        ],
        "scenarios": [
            {"name": name, "title": "ready scenario", "from": str(file)}
            for name, file in ready.files().items()
        ],
    }


def _titled(room: discover.Room) -> list[dict[str, str]]:
    found = discover.members(room)
    for name, path in found.items():
        if not discover.is_ours(path):
            # A member from outside this package is loaded, so that its errors are reported here.
            # Tests check the members of this package.
            _LOADED[room](name)
    return [
        {"name": name, "title": discover.title(path), "from": discover.source(path)}
        for name, path in found.items()
    ]


def _section(name: str) -> object:
    from dfslab.report.contract import page_section

    return page_section(name)


def _exporter(name: str) -> object:
    from dfslab.exports.contract import exporter

    return exporter(name)


def _importer(name: str) -> object:
    from dfslab.imports.contract import importer

    return importer(name)


def _result_reader(name: str) -> object:
    from dfslab.imports.tool_report import reader

    return reader(name)


# The function that loads a member by its name, for each room (type of member). The function raises
# DiscoveryError if the member violates its interface.
_LOADED: dict[discover.Room, Callable[[str], object]] = {
    discover.WORKLOADS: discover.workload,
    discover.SECTIONS: _section,
    discover.EXPORTERS: _exporter,
    discover.IMPORTERS: _importer,
    discover.RESULT_READERS: _result_reader,
}


def lines(found: dict[str, list[dict[str, str]]]) -> list[str]:
    """Returns the members as lines of text in columns, grouped by the type of member. `found` is
    the dictionary from `members`."""
    cells = {room: [_cells(row) for row in rows] for room, rows in found.items()}
    every = [row for rows in cells.values() for row in rows]
    widths = [max(len(row[place]) for row in every) for place in range(3)]
    shown = []
    for room, rows in cells.items():
        shown.append(f"{room}:")
        for row in rows:
            padded = [text.ljust(width) for text, width in zip(row, widths, strict=False)]
            shown.append("  ".join(("", *padded, row[3])).rstrip())
    return shown


def _cells(row: dict[str, str]) -> list[str]:
    """Returns the cells of a member's row: its name, its title, the word "testbed" if it has a
    testbed, and its file path (relative if inside this package)."""
    path = Path(row["from"])
    own = path.is_relative_to(discover.PACKAGE)
    place = str(path.relative_to(discover.PACKAGE)) if own else str(path)
    return [row["name"], row["title"], "testbed" if row.get("testbed") else "", place]


def show(as_json: bool) -> None:
    """Print the members, as JSON or as text."""
    found = members()
    print(json.dumps(found) if as_json else "\n".join(lines(found)))
