"""`dfslab list`: the members found by discovery, by package, without importing them."""

from __future__ import annotations

import json
from pathlib import Path

from dfslab import discover


def members() -> dict[str, list[dict[str, str]]]:
    """All members found by discovery, by package."""
    return {
        "filesystems": [
            {
                "name": name,
                "title": discover.title(path / "facts.py"),
                "testbed": "yes" if discover.has_testbed(path) else "",
                "from": str(path),
            }
            for name, path in discover.members("filesystems", folders=True).items()
        ],
        "workloads": _workloads(),
        "methods": [
            {"name": name, "title": kind, "from": str(path)}
            for name, kind, path in discover.methods()
        ],
        "studies": [
            {"name": name, "title": "study", "from": member.source}
            for name, member in sorted(discover.studies().items())
        ],
        "sections": _titled("report/sections"),
    }


def _workloads() -> list[dict[str, str]]:
    for name, path in discover.members("workloads").items():
        if not discover.checked(path, "WORKLOAD"):
            # The file does not show a workload's dependencies: loading it reports missing ones.
            discover.workload(name)
    return _titled("workloads")


def _titled(room: str) -> list[dict[str, str]]:
    return [
        {"name": name, "title": discover.title(path), "from": str(path)}
        for name, path in discover.members(room).items()
    ]


def lines(found: dict[str, list[dict[str, str]]]) -> list[str]:
    """The members as text: one package after the other, in columns."""
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
    """The path of a file, relative to this package if it is inside, else absolute."""
    path = Path(row["from"])
    own = path.is_relative_to(discover.PACKAGE)
    place = str(path.relative_to(discover.PACKAGE)) if own else str(path)
    return [row["name"], row["title"], "testbed" if row.get("testbed") else "", place]


def show(as_json: bool) -> None:
    """Print it."""
    found = members()
    print(json.dumps(found) if as_json else "\n".join(lines(found)))
