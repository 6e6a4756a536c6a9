"""Tests of the width of output that is written to a pipe instead of a terminal."""

import pytest
from dfslab.report import terminal


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("", terminal.WIDE), ("0", 180)])
def test_output_into_a_pipe_has_the_width_of_columns(monkeypatch, columns, width):
    """The environment variable COLUMNS gives the width of output. If COLUMNS is no positive number,
    tables have the default width."""
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal.console(json_wanted=False).width == width
