"""Tests `dfslab predict SCENARIO --metadata-server` with every shipped scenario. The command either
answers, or ends with one line that says why it cannot answer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from dfslab.cli import main

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_shipped_scenario_is_answered_or_refused(path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["dfslab", "predict", str(path), "--metadata-server"])
    try:
        main()
        code = 0
    except SystemExit as stopped:
        code = stopped.code
    shown = capsys.readouterr()
    if code:
        assert code == 2
        assert len(shown.err.strip().splitlines()) == 1
    else:
        assert shown.out.strip()
