"""Produces the output of `dfslab show filesystem`: the description of a file system as tables,
formulas, diagrams or a Petri net."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from dfslab import discover
from dfslab.documents.table import NARROW
from dfslab.exports import contract as exporters
from dfslab.exports.contract import DescriptionExporter
from dfslab.models import petri
from dfslab.nets.net_json import ordered
from dfslab.report import description, terminal
from dfslab.report.diagrams import diagram, formula_text, structure
from dfslab.report.diagrams.uml import uml
from dfslab.spec.input_error import InputError, unknown
from dfslab.spec.systems.filesystem import FileSystem

# The output forms that this module produces. Exporters of descriptions add the formats of other
# tools.
FORMS = ("table", "formula", "mermaid", "plantuml", "net")

# A terminal with fewer columns than this shows the table of parameters without the columns in
# NARROW_WITHOUT: with these columns, words would be broken. A default is shown with its unit.
WHOLE_WIDTH = 120
NARROW_WITHOUT = ("id", "unit", "source")
# Columns of the narrow table that are as wide as their longest word, with their largest widths. The
# columns of WIDE_COLUMNS share the remaining width.
WORDS = {"key": 16, "default": 11, "origin": 11}
WIDE_COLUMNS = ("meaning", "acts in")


def filesystem(name: str, form: str, operation: str) -> tuple[Any, list[Any]]:
    """Returns the description of a file system in the output form `form`. The result is a pair: the
    JSON document, and the text for people.

    `operation`: the only operation to show; if empty, all operations are shown. Raises InputError
    for an unknown name.
    """
    system = discover.file_system(name)
    exporter = exporters.find(DescriptionExporter, form)
    if form not in FORMS and exporter is None:
        known = [*FORMS, *exporters.exporters(DescriptionExporter)]
        raise InputError("--as", form, unknown(form, known))
    if operation and operation not in system.operations:
        raise InputError("--operation", operation, unknown(operation, list(system.operations)))
    chosen = [operation] if operation else list(system.operations)
    if form == "table":
        return _table(system, chosen)
    if form == "formula":
        text = formula_text.formulas(system, chosen)
        return {"formula": text}, [text]
    if form == "net":
        nets = {one: ordered(petri.net_of(system, one)) for one in chosen}
        return nets, [json.dumps(nets, indent=1)]
    if exporter is not None:
        document = exporter.write(uml(system, chosen)).decode()
        return {form: document}, [document]
    return _pictures(system, form, chosen)


def _table(system: FileSystem, operations: list[str]) -> tuple[Any, list[Any]]:
    rows = [row.cells() for row in description.parameter_rows(system, operations)]
    table = Table(title=f"{system.title}: configurable parameters ({system.source})")
    columns = terminal.console(False).width
    left_out = () if columns >= WHOLE_WIDTH else NARROW_WITHOUT
    widths = _narrow_widths(rows, columns) if left_out and columns >= NARROW else {}
    for column in description.COLUMNS:
        if column not in left_out:
            table.add_column(column, overflow="fold", width=widths.get(column))
    for row in rows:
        named = zip(description.COLUMNS, row, strict=True)
        table.add_row(*(text for column, text in named if column not in left_out))
    if left_out:
        table.caption = (
            f"Terminals of {WHOLE_WIDTH} columns and --json also have id, unit and source."
        )
    document = [dict(zip(description.COLUMNS, row, strict=True)) for row in rows]
    return document, [table, *description.notes(system, operations)]


def _narrow_widths(rows: Sequence[Sequence[str]], columns: int) -> dict[str, int]:
    """Returns the widths of the columns of the table of parameters, in characters, in a terminal
    with this number of columns. `rows`: the texts of the table, with all columns."""
    found = {}
    for name, most in WORDS.items():
        place = description.COLUMNS.index(name)
        longest = max((len(word) for row in rows for word in row[place].split()), default=0)
        found[name] = min(most, max(longest, len(name)))
    # Each column has a space on both sides and a border on its left; the last has one on its right.
    others = columns - sum(found.values()) - 3 * (len(WORDS) + len(WIDE_COLUMNS)) - 1
    first, second = WIDE_COLUMNS
    return {**found, first: others // 2, second: others - others // 2}


def _pictures(system: FileSystem, form: str, operations: list[str]) -> tuple[Any, list[Any]]:
    draw = diagram.mermaid if form == "mermaid" else diagram.plantuml
    model = uml(system, operations)
    if form == "mermaid":
        structure_of = {
            "class": structure.class_mermaid,
            "deployment": structure.deployment_mermaid,
        }
    else:
        structure_of = {
            "class": structure.class_plantuml,
            "deployment": structure.deployment_plantuml,
        }
    pictures = {name: drawn(model) for name, drawn in structure_of.items()}
    pictures |= {one.name: draw(system.name, one) for one in model.interactions}
    return pictures, list(pictures.values())
