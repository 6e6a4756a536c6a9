"""Converts notebooks with their recorded outputs to Markdown for the documentation site. Nothing is
executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# The style sheet that pandas puts before each table.
STYLE = re.compile(r"<style scoped>.*?</style>", flags=re.DOTALL)
# Matches links to notebooks. Such a link has the file name of the notebook. On the site, the page
# of the notebook has another suffix.
LINK = re.compile(r"\(([\w./-]+)\.ipynb\)")


def pages(folder: Path) -> dict[str, str]:
    """Returns the pages of all notebooks of a folder: a dictionary from the name of each notebook,
    without ".ipynb", to its Markdown.
    """
    return {path.stem: page(path.read_text()) for path in sorted(folder.glob("*.ipynb"))}


def page(notebook: str) -> str:
    """Returns the Markdown of a notebook, which is given as JSON text. The Markdown has the texts
    and the code of the notebook. The outputs of each cell are below the cell's code."""
    parts: list[str] = []
    for cell in json.loads(notebook)["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(linked(text))
            continue
        parts.append(_fenced("python", text))
        for output in cell["outputs"]:
            parts += _shown(output)
    return "\n\n".join(parts)


def linked(text: str) -> str:
    """Returns Markdown in which each link to a notebook is replaced by a link to the page that is
    made from the notebook."""
    return LINK.sub(r"(\1.md)", text)


def _shown(output: dict[str, Any]) -> Iterator[str]:
    """Yields the Markdown of one output of a cell: HTML as it is, other output as text."""
    data = output.get("data", {})
    if "text/html" in data:
        yield _fenced("{raw} html", STYLE.sub("", "".join(data["text/html"])))
    elif "text/plain" in data or "text" in output:
        yield _fenced("text", "".join(data.get("text/plain", output.get("text", []))).rstrip())


def _fenced(language: str, text: str) -> str:
    return f"````{language}\n{text}\n````"
