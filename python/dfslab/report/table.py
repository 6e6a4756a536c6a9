"""Tables of the page: cells are escaped, numbers are given as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup, escape

from dfslab.result import Metric
from dfslab.spec import units


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], held: Sequence[bool] = ()) -> Markup:
    """A table; rows with `held` true are marked. Cells that are Markup stay as they are."""
    body = [
        f'<tr{" class=held" if index < len(held) and held[index] else ""}>'
        + "".join(_cell(cell) for cell in row) + "</tr>"
        for index, row in enumerate(rows)
    ]  # fmt: skip
    heads = "".join(f"<th>{escape(name)}</th>" for name in head)
    return Markup(
        f'<div class="table"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _cell(cell: Any) -> str:
    if isinstance(cell, Markup):
        return str(cell) if cell.startswith("<td") else f"<td>{cell}</td>"
    return f"<td>{escape(cell)}</td>"


def wide(text: str) -> Markup:
    """A cell whose text may wrap."""
    return Markup('<td class="wide">{}</td>').format(text)


def number(value: float) -> str:
    """Three or four digits, thousands apart."""
    if value != value or value in (float("inf"), float("-inf")):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def interval(metric: Metric | None) -> str:
    """value (low to high)."""
    if metric is None:
        return "–"
    if metric.low is None or metric.high is None:
        return number(metric.value)
    return f"{number(metric.value)} ({number(metric.low)} to {number(metric.high)})"


def signed(error: float | None) -> str:
    """A signed relative error."""
    return "–" if error is None or error != error else f"{error:+.1%}"


def seconds(value: float) -> str:
    """A time with its unit."""
    return units.text(value, "s", 3)


def labels_text(labels: dict[str, Any]) -> str:
    """The varied keys of a configuration, short."""
    return ", ".join(
        str(value) if isinstance(value, str) else f"{key.rsplit('.', 1)[-1]} {value}"
        for key, value in labels.items()
    )
