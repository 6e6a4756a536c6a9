"""Tests that the output of `dfslab show` and of the help equals recorded files.

`DFSLAB_RECORD=1 pytest tests/golden` writes the files again. Read the difference before committing
it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from dfslab.cli import main

HERE = Path(__file__).parent
CASES = {
    "hdfs-table": ["show", "filesystem", "hdfs", "--as", "table", "--json"],
    "hdfs-formula": ["show", "filesystem", "hdfs", "--as", "formula"],
    "hdfs-mermaid-write": ["show", "filesystem", "hdfs", "--as", "mermaid", "--operation", "write"],
    "hdfs-plantuml-read": ["show", "filesystem", "hdfs", "--as", "plantuml", "--operation", "read"],
    "glusterfs-formula": ["show", "filesystem", "glusterfs", "--as", "formula"],
    "glusterfs-mermaid-create": [
        "show",
        "filesystem",
        "glusterfs",
        "--as",
        "mermaid",
        "--operation",
        "create",
    ],
    "local-table": ["show", "filesystem", "local", "--as", "table", "--json"],
    "help": ["--help"],
    "help-run": ["run", "--help"],
}


@pytest.mark.parametrize("name", CASES)
def test_output_is_as_recorded(name, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "argv", ["dfslab", *CASES[name]])
    main()
    shown = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines()) + "\n"
    path = HERE / f"{name}.txt"
    if os.environ.get("DFSLAB_RECORD"):
        path.write_text(shown)
    assert shown == path.read_text(), f"{path.name} differs"
