"""Draws the tables and sections of `documents/table.py` as HTML for the page. Texts are escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from dfslab.documents.table import (
    Column,
    Paragraph,
    Section,
    Table,
    TableCell,
    absent,
    number_text,
    signed_text,
)
from dfslab.result import Metric

# Predictions whose relative error exceeds this fraction are coloured.
FAR_OFF = 0.25
# Texts of more than this number of characters may wrap, except in the first column.
MOST_UNFOLDED = 40
# Largest number of names in a sentence that lists what a chart leaves out.
MOST_LEFT_OUT = 3
FIGURES = "`dfslab export RUN --as csv` writes their figures."


@dataclass(frozen=True)
class ChartWithNotes:
    """A chart for the first screen of the page. `chart`: the HTML of the chart; empty if there is
    no chart. `notes`: the HTML of sentences on what the chart leaves out."""

    chart: Markup = Markup("")
    notes: Markup = Markup("")


def drawn(table: Table) -> Markup:
    """Returns the HTML of a table without its title and notes. The rows in `table.marked` have the
    CSS class "held".

    The scripts of the page make the columns sortable, and copy and download what is shown.
    """
    heads = Markup("").join(
        Markup("<th scope=col{}>{}</th>").format(_text_class(column), column.title)
        for column in table.columns
    )
    rows = Markup("").join(
        Markup("<tr{}>{}</tr>\n").format(
            Markup(" class=held") if place in table.marked else "", _cells(row, table.columns)
        )
        for place, row in enumerate(table.rows)
    )
    return Markup(
        '<div class="table"><table><thead><tr>{}</tr></thead>\n<tbody>{}</tbody></table></div>'
    ).format(heads, rows)


def _text_class(column: Column) -> Markup:
    return Markup(" class=text" if column.align == "left" else "")


def _cells(row: Sequence[TableCell], columns: Iterable[Column]) -> Markup:
    return Markup("").join(
        _cell(cell, column, place)
        for place, (cell, column) in enumerate(zip(row, columns, strict=True))
    )


def _cell(cell: TableCell, column: Column, place: int) -> Markup:
    """Returns the HTML of a cell. `place`: index of its column. Long texts after the first column
    may wrap. If the cell shows a short form of its value, the full value is the cell's tooltip."""
    if cell.is_bar and isinstance(cell.value, float):
        return _bar(cell.value, cell.text)
    style = _text_class(column)
    if column.wraps or (place and isinstance(cell.value, str) and len(cell.text) > MOST_UNFOLDED):
        style = Markup(' class="wide"')
    if isinstance(cell.value, str) and cell.value != cell.text:
        style += Markup(' title="{}"').format(cell.value)
    return Markup("<td{}>{}{}{}</td>").format(
        style,
        with_code(cell.text),
        "" if cell.error is None else _error(cell.error),
        Markup("<small>{}</small>").format(cell.note) if cell.note else "",
    )


def _error(error: float) -> Markup:
    far = "" if abs(error) <= FAR_OFF else " far"
    return Markup(' <span class="error{}">{}</span>').format(far, signed_text(error))


def _bar(part: float, text: str) -> Markup:
    """Returns the HTML of a cell with a fraction. The background of the cell has a bar whose length
    is this fraction of the cell's width."""
    shown = min(1.0, max(0.0, part)) if math.isfinite(part) else 0.0
    return Markup('<td class="share" style="--share:{:.1f}%">{}</td>').format(shown * 100, text)


def blocks(section: Section) -> Markup | None:
    """Returns the HTML of the tables and paragraphs of a section; None if there are none."""
    titled = sum(isinstance(one, Table) and not one.folded for one in section.blocks) > 1
    bodies = [
        note(one.text) if isinstance(one, Paragraph) else contents(one, titled)
        for one in section.blocks
    ]
    return Markup("").join(bodies) if bodies else None


def contents(table: Table, titled: bool = True) -> Markup:
    """Returns the HTML of a table with its notes and, if `titled`, its title.

    If the table has a `folded` text, the table is collapsed behind that text.
    """
    body = drawn(table) + Markup("").join(map(note, table.notes))
    if table.folded:
        return folded(table.folded, body)
    return heading(table.title) + body if titled else body


def with_code(text: str) -> Markup:
    """Returns a text as HTML, in which the parts between backticks are code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick without its pair is plain text
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def heading(title: str) -> Markup:
    """Returns the HTML of a title within a section."""
    return Markup("<h3>{}</h3>").format(title)


def folded(title: str, body: Markup, opened: bool = False) -> Markup:
    """Returns the HTML of long content that is collapsed behind its title.

    `opened`: whether the content is expanded at first.
    """
    return Markup("<details{}><summary>{}</summary>{}</details>").format(
        Markup(" open") if opened else "", title, body
    )


def note(text: str) -> Markup:
    """Returns the HTML of a sentence that explains a chart or a table. Parts of the text between
    backticks are code."""
    return Markup('<p class="soft">{}</p>').format(with_code(text))


def left_out(what: str, names: Sequence[str], reason: str, where: str = FIGURES) -> Markup:
    """Returns the HTML of one sentence on what a chart does not draw; empty if `names` is empty.

    `what`: the kind of the things that are not drawn, in the plural, such as "configurations".
    `names`: the names of these things. `reason`: why they are not drawn. `where`: a sentence that
    states where their figures are.
    """
    if not names:
        return Markup("")
    shown = "; ".join(names[:MOST_LEFT_OUT])
    more = len(names) - MOST_LEFT_OUT
    shown += f"; and {more} more" if more > 0 else ""
    nouns = what.removesuffix("s") if len(names) == 1 else what
    return note(f"Not drawn: {len(names)} {nouns} ({shown}), because {reason}. {where}")


def estimated(metric: Metric | None, error: float | None = None) -> TableCell:
    """Returns the cell of a metric with its interval below. If the metric is a prediction with a
    known signed relative error, `error`, the cell shows this error as well. Without a metric, the
    cell has a dash."""
    if metric is None:
        return absent()
    interval = ""
    if metric.low is not None and metric.high is not None:
        interval = f"{number_text(metric.low)} to {number_text(metric.high)}"
    text = number_text(metric.value)
    return TableCell(metric.value, text, interval, metric.low, metric.high, error=error)
