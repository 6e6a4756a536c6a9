"""Renders HTML tables for the page. Cells are escaped, and numbers are formatted for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup, escape

from dfslab.documents.table import Paragraph, Section, Table, TableCell
from dfslab.documents.traces.call_path import CallPath
from dfslab.report.paths import short_path
from dfslab.result import Metric
from dfslab.spec import units

DASH = "–"
FAR_OFF = 0.25
# Texts of more than this number of characters may wrap, except in the first column.
MOST_UNFOLDED = 40


def table(
    head: Sequence[str], rows: Iterable[Sequence[Any]], held: Sequence[bool] = (), texts: int = 1
) -> Markup:
    """Returns the HTML of a table. The first `texts` columns are text, the other columns are
    numbers. `held`: for each row, whether its configuration is held out (not used to fit the
    models); such a row is marked.

    A cell that is Markup is inserted unchanged, with or without its own `<td>` tag.
    """
    rows = list(rows)
    body = [
        f"<tr{' class=held' if index < len(held) and held[index] else ''}>"
        + "".join(_cell(cell, place < texts) for place, cell in enumerate(row))
        + "</tr>\n"
        for index, row in enumerate(rows)
    ]
    first = rows[0] if rows else ()
    words = {place for place, cell in enumerate(first) if _is_wide(cell)} | set(range(texts))
    heads = "".join(
        f"<th scope=col{' class=text' if place in words else ''}>{escape(name)}</th>"
        for place, name in enumerate(head)
    )
    return Markup(
        f'<div class="table"><table><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _is_wide(cell: Any) -> bool:
    return isinstance(cell, Markup) and cell.startswith('<td class="wide"')


def _cell(cell: Any, words: bool) -> str:
    if isinstance(cell, Markup) and cell.startswith("<td"):
        return str(cell)
    return f"<td{' class=text' if words else ''}>{escape(cell)}</td>"


def blocks(section: Section) -> Markup | None:
    """Returns the HTML of the tables and paragraphs of a section; None if there are none."""
    titled = sum(isinstance(one, Table) and not one.folded for one in section.blocks) > 1
    drawn = [
        note(one.text) if isinstance(one, Paragraph) else contents(one, titled)
        for one in section.blocks
    ]
    return Markup("").join(drawn) if drawn else None


def contents(found: Table, titled: bool = True) -> Markup:
    """Returns the HTML of a table with its notes and, if `titled`, its title.

    If the table has a `folded` text, it is collapsed behind that text.
    """
    rows = [[_drawn(cell, place) for place, cell in enumerate(row)] for row in found.rows]
    held = [place in found.marked for place in range(len(rows))]
    texts = next(
        (i for i, column in enumerate(found.columns) if column.align == "right"), len(found.columns)
    )
    body = table([column.title for column in found.columns], rows, held, texts)
    body += Markup("").join(map(note, found.notes))
    if found.folded:
        return folded(found.folded, body)
    return Markup("<h3>{}</h3>{}").format(found.title, body) if titled else body


def _drawn(cell: TableCell, place: int) -> Markup | str:
    """Returns the HTML of a cell. `place`: index of its column. Long texts after the first column
    may wrap."""
    if cell.is_bar and isinstance(cell.value, float):
        return share(cell.value)
    if cell.note:
        return Markup("<td>{}<small>{}</small></td>").format(cell.text, cell.note)
    if isinstance(cell.value, str) and place and len(cell.text) > MOST_UNFOLDED:
        return wide(cell.text)
    return cell.text


def folded(title: str, body: Markup, opened: bool = False) -> Markup:
    """Returns the HTML of long content that is collapsed behind its title.

    `opened`: whether the content is expanded at first.
    """
    return Markup("<details{}><summary>{}</summary>{}</details>").format(
        Markup(" open") if opened else "", title, body
    )


def note(text: str) -> Markup:
    """Returns the HTML of a sentence that explains a chart or a table."""
    return Markup('<p class="soft">{}</p>').format(text)


def wide(text: str) -> Markup:
    """Returns the HTML of a cell whose text may wrap."""
    return Markup('<td class="wide">{}</td>').format(text)


def path_cell(path: CallPath) -> Markup:
    """Returns the HTML of a cell with a shortened path. The full path is its tooltip."""
    return Markup('<td class="wide" title="{}">{}</td>').format(path, short_path(path))


def number(value: float) -> str:
    """Returns a number as text: with three significant digits, or from 1,000 on as a whole number
    with thousands separators; a dash if it is not finite."""
    if not math.isfinite(value):
        return DASH
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def predicted(metric: Metric | None, error: float | None = None) -> Markup:
    """Returns the HTML of a cell for a prediction: value and signed error on the first line, the
    interval below. Without a prediction, the cell has a dash."""
    if metric is None:
        return Markup("<td>{}</td>").format(DASH)
    bounds = ""
    if metric.low is not None and metric.high is not None:
        bounds = f"{number(metric.low)} to {number(metric.high)}"
    mark = ""
    if error is not None:
        far = " far" if not abs(error) <= FAR_OFF else ""
        mark = Markup(' <span class="error{}">{}</span>').format(far, signed(error))
    return Markup("<td>{}{}<small>{}</small></td>").format(number(metric.value), mark, bounds)


def percent(value: float | None) -> str:
    """Returns a fraction as text in per cent. Values of 1000 % and more have no decimals. An
    unknown value becomes a dash."""
    if value is None or not math.isfinite(value):
        return DASH
    return f"{value:,.0%}" if abs(value) >= 10 else f"{value:.1%}"


def signed(error: float | None) -> str:
    """Returns a signed relative error as text in per cent; a dash if it is unknown."""
    if error is None or not math.isfinite(error):
        return DASH
    text = f"{error:+,.0%}" if abs(error) >= 10 else f"{error:+.1%}"
    return "0.0%" if text in ("+0.0%", "-0.0%") else text


def seconds(value: float | None) -> str:
    """Returns a time in seconds as text with a readable unit; a dash if it is unknown."""
    if value is None or not math.isfinite(value):
        return DASH
    return units.text(value, "s", 3).replace(" us", " µs")


def share(part: float) -> Markup:
    """Returns the HTML of a cell with a fraction as a percentage. A bar in the cell's background is
    as long as this fraction of the cell's width."""
    shown = min(1.0, max(0.0, part)) if math.isfinite(part) else 0.0
    text = Markup('<td class="share" style="--share:{}%">{}</td>')
    return text.format(f"{shown * 100:.1f}", percent(part))
