"""Functions that return Markdown: tables, table cells and inline code, with special characters
escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a Markdown table. Each cell is put on one line, and vertical bars in cells are
    escaped.
    """
    lines = [_row(head), _row(["---"] * len(head))]
    lines += [_row([cell(text) for text in row]) for row in rows]
    return "\n".join(lines)


def cell(text: str) -> str:
    """Returns a text as a cell of a table: on one line, with Markdown's characters escaped outside
    code.
    """
    parts = " ".join(text.split()).replace("|", "\\|").split("`")
    plain = [_escaped(part) if at % 2 == 0 else part for at, part in enumerate(parts)]
    return "`".join(plain)


def code(text: str) -> str:
    """Returns a text as inline code. An empty text stays empty."""
    return f"`{text}`" if text else ""


def _escaped(text: str) -> str:
    for character in "*_<[":
        text = text.replace(character, f"\\{character}")
    return text


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
