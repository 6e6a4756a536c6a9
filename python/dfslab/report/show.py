"""What `dfslab show` and `dfslab list` print."""

from __future__ import annotations

import json
from typing import Any

from rich.table import Table

from dfslab import discover
from dfslab.models import petri
from dfslab.report import description, diagram, structure, xmi
from dfslab.report.uml import uml
from dfslab.spec.filesystem import FileSystem
from dfslab.spec.model import InputError, unknown

FORMS = ("table", "formula", "mermaid", "plantuml", "xmi", "net")


def filesystem(name: str, form: str, operation: str) -> tuple[Any, list[Any]]:
    """(JSON document, what people see) of a description in one form."""
    system = discover.file_system(name)
    if form not in FORMS:
        raise InputError("--as", form, unknown(form, list(FORMS)))
    if operation and operation not in system.operations:
        raise InputError("--operation", operation, unknown(operation, list(system.operations)))
    chosen = [operation] if operation else list(system.operations)
    if form == "table":
        return _table(system)
    if form == "formula":
        text = description.formulas(system)
        return {"formula": text}, [text]
    if form == "net":
        nets = {one: petri.net_of(system, one) for one in chosen}
        return nets, [json.dumps(nets, indent=1)]
    if form == "xmi":
        document = xmi.export(uml(system))
        return {"xmi": document}, [document]
    return _pictures(system, form, chosen)


def _table(system: FileSystem) -> tuple[Any, list[Any]]:
    rows = [row.cells() for row in description.parameter_rows(system)]
    table = Table(title=f"{system.title}: configurable parameters ({system.source})")
    for column in description.COLUMNS:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return [dict(zip(description.COLUMNS, row, strict=True)) for row in rows], [table]


def _pictures(system: FileSystem, form: str, operations: list[str]) -> tuple[Any, list[Any]]:
    draw = diagram.mermaid if form == "mermaid" else diagram.plantuml
    model = uml(system)
    if form == "mermaid":
        structure_of = {
            "class": structure.class_mermaid,
            "deployment": structure.deployment_mermaid,
        }
    else:
        structure_of = {
            "class": structure.class_plantuml, "deployment": structure.deployment_plantuml,
        }  # fmt: skip
    pictures = {name: drawn(model) for name, drawn in structure_of.items()}
    pictures |= {one: draw(system, one) for one in operations}
    return pictures, list(pictures.values())


def members() -> dict[str, list[dict[str, str]]]:
    """Everything discovery finds, by room."""
    systems = discover.members("filesystems", folders=True)
    return {
        "filesystems": [
            {"name": name, "title": discover.file_system(name).title,
             "bed": "yes" if discover.file_system(name).has_bed else "", "from": str(path)}
            for name, path in systems.items()
        ],
        "workloads": [
            {"name": name, "title": discover.workload(name).title, "from": str(path)}
            for name, path in discover.members("workloads").items()
        ],
        "methods": [
            {"name": name, "title": kind, "from": str(path)}
            for name, kind, path in discover.methods()
        ],
        "sections": [
            {"name": name, "title": discover.load(path).TITLE, "from": str(path)}
            for name, path in discover.members("report/sections").items()
        ],
    }  # fmt: skip


def members_table(found: dict[str, list[dict[str, str]]]) -> Table:
    """The same as a table."""
    table = Table()
    for column in ("room", "name", "what", "bed", "from"):
        table.add_column(column, overflow="fold")
    for room, rows in found.items():
        for row in rows:
            table.add_row(room, row["name"], row["title"], row.get("bed", ""), row["from"])
    return table
