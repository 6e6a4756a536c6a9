"""Tests that the notebooks of the documentation run without an error, that the recorded outputs of
each cell are those of its code, and that the notebooks are pages of the documentation site."""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
from pathlib import Path

import dfslab
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
NAMES = [path.stem for path in NOTEBOOKS]
# The notebook that reads a recorded trace and measures nothing. The outputs of this notebook are
# therefore the same in every execution.
OF_A_RECORDING = "where-does-an-hdfs-write-go"


@pytest.fixture(scope="module")
def scripts():
    """Makes the modules of the folder `scripts` importable, and returns a function that imports one
    of them by name."""
    sys.path.insert(0, str(ROOT / "scripts"))
    yield importlib.import_module
    sys.path.remove(str(ROOT / "scripts"))


def cells(name: str, kind: str) -> list[dict]:
    document = json.loads((ROOT / "docs" / "notebooks" / f"{name}.ipynb").read_text())
    return [cell for cell in document["cells"] if cell["cell_type"] == kind]


def shape(cell: dict) -> list[tuple[str, list[str]]]:
    """Returns (kind of output, sorted MIME types of its data) for each output of a cell. Standard
    error is left out, because libraries print warnings that depend on the measurements."""
    shown = [one for one in cell["outputs"] if one.get("name") != "stderr"]
    return [(one["output_type"], sorted(one.get("data", {}))) for one in shown]


def texts(cell: dict) -> list[str]:
    """Returns each output of a cell as plain text."""
    found = [
        one.get("text") or one.get("data", {}).get("text/plain", "") for one in cell["outputs"]
    ]
    return ["".join(one) for one in found]


def test_there_are_three_stories():
    assert set(NAMES) == {"my-mount", OF_A_RECORDING, "design-an-experiment"}


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_its_outputs_are_as_recorded(name, scripts):
    """Every cell has outputs of the recorded kinds. In the notebook that reads a recorded trace,
    the text of each output is also as recorded. Outputs of other notebooks contain new
    measurements, so their texts may differ."""
    done = scripts("notebooks").executed(ROOT / "docs" / "notebooks" / f"{name}.ipynb")
    ran = [cell for cell in done.cells if cell.cell_type == "code"]
    recorded = cells(name, "code")
    assert [shape(cell) for cell in ran] == [shape(cell) for cell in recorded]
    if name == OF_A_RECORDING:
        assert [texts(cell) for cell in ran] == [texts(cell) for cell in recorded]


def test_a_cell_that_fails_ends_the_execution(tmp_path, scripts):
    notebook = tmp_path / "broken.ipynb"
    document = json.loads(NOTEBOOKS[0].read_text())
    broken = {**cells(NAMES[0], "code")[0], "source": "1 / 0", "outputs": []}
    notebook.write_text(json.dumps({**document, "cells": [broken]}))
    with pytest.raises(Exception, match="ZeroDivisionError"):
        scripts("notebooks").executed(notebook)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_tells_a_story_with_public_names_only(name):
    prose = ["".join(cell["source"]) for cell in cells(name, "markdown")]
    assert "**The question.**" in prose[0]
    assert sum("**What it means.**" in text for text in prose) >= 3
    assert "## What to do next" in prose[-1]
    tree = ast.parse("\n".join("".join(cell["source"]) for cell in cells(name, "code")))
    imported = [one.module for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)]
    assert not [module for module in imported if module.startswith("dfslab")]
    used = {
        one.attr
        for one in ast.walk(tree)
        if isinstance(one, ast.Attribute)
        and isinstance(one.value, ast.Name)
        and one.value.id == "dfslab"
    }
    assert used
    assert used <= set(dfslab.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_recorded_outputs_hold_no_error_and_no_path_of_a_machine(name):
    for cell in cells(name, "code"):
        assert all(one["output_type"] != "error" for one in cell["outputs"])
        assert not re.search(r"/(tmp|home|root|work|usr)/", json.dumps(cell["outputs"]))
    assert sum(bool(cell["outputs"]) for cell in cells(name, "code")) >= 4


def test_a_notebook_becomes_a_page_with_its_outputs(scripts):
    pages = scripts("site_build.notebooks").pages(ROOT / "docs" / "notebooks")
    assert set(pages) == set(NAMES)
    page = pages[OF_A_RECORDING]
    assert page.startswith("# Where does an HDFS write go?")
    assert "````python\n" in page
    assert "44,477 calls" in page
    assert "````{raw} html\n<div>" in page
    assert "<style" not in page
    assert "(where-does-an-hdfs-write-go.md)" in pages["my-mount"]
