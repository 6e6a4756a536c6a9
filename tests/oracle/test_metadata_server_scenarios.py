"""Tests `dfslab predict SCENARIO --metadata-server` with every shipped scenario. The command either
answers, or ends with one line that says why it cannot answer."""

from __future__ import annotations

import sys
from contextlib import suppress
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


def _rows(path, monkeypatch, capsys) -> list[str]:
    """Returns the rows of the brief table of a scenario."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", ["dfslab", "predict", str(path), "--metadata-server"])
    with suppress(SystemExit):
        main()
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]


def test_limits_that_configurations_share_have_one_row(monkeypatch, capsys):
    """The rate of stats depends on no key that this scenario varies, so neither does its interval.
    The rate of listings depends on the number of entries, which has more than three values."""
    rows = _rows(SCENARIOS[0].with_name("hdfs.toml"), monkeypatch, capsys)
    cells = [[cell.strip() for cell in row.strip("│").split("│")] for row in rows]
    assert [cell[-1] for cell in cells if cell[0] == "stats"] == ["all"]
    assert [cell[-1].split(":")[0] for cell in cells if cell[0] == "listings"] == [
        "lowest",
        "highest",
    ]
    written = [cell for cell in cells if cell[0] == "files written"]
    assert [cell[-1] for cell in written][1:] == ["file size 256 MB"]
