"""Implements `dfslab list`, which lists the file systems, workloads and other plug-ins ("members")
that discovery finds. Members of this package are listed without importing them.

In the code, `room` means a type of members, such as the workloads.
"""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path

from dfslab import discover
from dfslab.spec.files import ready
from dfslab.spec.input_error import InputError, unknown

# Smallest width of the column of titles, in characters. If a terminal is too narrow for this
# width, the lines are longer than the terminal is wide.
NARROWEST_TITLE = 20
# For types of members whose names do not show which commands use the members: these commands.
USED_BY = {
    "exporters": " (export --as, trace report --export)",
    "importers": " (file calls, for replay --form)",
    "result readers": " (import --format, check --format)",
}


def members() -> dict[str, list[dict[str, str]]]:
    """Returns a dictionary of all members. Each key is a type of member, such as "workloads", and
    its value has one row for each member of that type.

    A row contains the member's name, title and origin. The row of a file system also states whether
    it has a testbed.
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
            {"name": name, "title": "study", "from": discover.source(path)}
            for name, path in sorted(discover.studies().items())
        ],
        "sections": _titled(discover.SECTIONS),
        "exporters": _titled(discover.EXPORTERS),
        "importers": _titled(discover.IMPORTERS),
        "result readers": _titled(discover.RESULT_READERS),
        "net formats": _titled(discover.NET_FORMATS),
        "rules": [
            {"name": name, "title": "rule", "from": discover.source(path)}
            for name, path in discover.members(discover.RULES).items()
        ],
        "scenarios": [
            {"name": name, "title": _question(file), "from": str(file)}
            for name, file in ready.files().items()
        ],
    }


def _question(file: Path) -> str:
    """Returns the title of a scenario file, which is usually the question that the scenario
    answers. If the file has no title, returns its first comment. The file is not parsed, because
    parsing would take longer."""
    text = file.read_text(encoding="utf-8")
    found = re.search(r'^title = "(.*)"$', text, re.MULTILINE) or re.match(r"# *(.*)", text)
    return found[1] if found else "ready scenario"


def _titled(room: discover.Room) -> list[dict[str, str]]:
    found = discover.members(room)
    for name, path in found.items():
        if not discover.is_ours(path):
            # This member is not part of this package. The member is loaded only so that its errors
            # are reported here. For members of this package, tests do this.
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


def _net_format(name: str) -> object:
    from dfslab.nets.contract import net_format

    return net_format(name)


# Maps each type of member to the function that loads a member of this type by its name. The
# function raises DiscoveryError if the member violates the interface of its type.
_LOADED: dict[discover.Room, Callable[[str], object]] = {
    discover.WORKLOADS: discover.workload,
    discover.SECTIONS: _section,
    discover.EXPORTERS: _exporter,
    discover.IMPORTERS: _importer,
    discover.RESULT_READERS: _result_reader,
    discover.NET_FORMATS: _net_format,
}


def lines(found: dict[str, list[dict[str, str]]], width: int) -> list[str]:
    """Returns the members as lines of text, grouped by their type. `found`: the dictionary that
    `members` returns.

    For each member there are its name, the word "testbed" if it has a testbed, and its title. Long
    titles continue on the next line, so that no line is longer than `width` columns. Lines become
    longer only if titles would otherwise get fewer than NARROWEST_TITLE columns.
    """
    shown = []
    for room, rows in found.items():
        heads = [[row["name"], _testbed(row)] for row in rows]
        shown.append(f"{room}{USED_BY.get(room, '')}:")
        for row, head in zip(rows, _aligned(heads), strict=True):
            start = f"  {head}  "
            folded = textwrap.wrap(
                row["title"],
                max(width, len(start) + NARROWEST_TITLE),
                initial_indent=start,
                subsequent_indent=" " * len(start),
            )
            shown += folded or [start.rstrip()]
    return shown


def wide_lines(found: dict[str, list[dict[str, str]]]) -> list[str]:
    """Returns the members as text like `lines`, but with one line for each member, however long.
    Each line ends with the path of the member's file. The path is relative if the file is inside
    this package. `found`: the dictionary that `members` returns."""
    shown = []
    for room, rows in found.items():
        cells = [[row["name"], _testbed(row), row["title"], _path(row)] for row in rows]
        shown.append(f"{room}{USED_BY.get(room, '')}:")
        shown += [f"  {line}".rstrip() for line in _aligned(cells)]
    return shown


def _aligned(rows: list[list[str]]) -> list[str]:
    """Returns each row as one line of text. The cells are padded to the width of their column.
    Columns that are empty in all rows are left out."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width)
        for row in rows
    ]


def _testbed(row: dict[str, str]) -> str:
    return "testbed" if row.get("testbed") else ""


def _path(row: dict[str, str]) -> str:
    path = Path(row["from"])
    own = path.is_relative_to(discover.PACKAGE)
    return str(path.relative_to(discover.PACKAGE)) if own else str(path)


def show(as_json: bool, wide: bool, kind: str = "") -> None:
    """Prints the members, as JSON or as text. Unless `wide` is true, long lines of the text are
    folded at the width of the terminal. If the output goes to a pipe, the width is that in the
    variable COLUMNS, else 80 columns. `kind`: if not empty, only members of this type are printed.
    Raises InputError if there is no such type."""
    found = members()
    if kind:
        known = {name.replace(" ", "-"): name for name in found}
        name = known.get(kind.replace(" ", "-"))
        if name is None:
            raise InputError("TYPE", kind, unknown(kind, list(known)))
        found = {name: found[name]}
    if as_json:
        print(json.dumps(found))
        return
    folded = wide_lines(found) if wide else lines(found, shutil.get_terminal_size().columns)
    print("\n".join(folded))
