"""Tests that a shell gets completions of command lines from `dfslab`."""

from __future__ import annotations

import pytest
from support.command import dfslab


@pytest.mark.parametrize(
    ("line", "word", "offered"), [("dfslab mea", 1, ["measure"]), ("dfslab net sta", 2, ["states"])]
)
def test_a_shell_is_offered_the_commands_that_begin_so(line, word, offered):
    """bash calls `dfslab` without words; the variables have the line and the number of the word."""
    words = {"_DFSLAB_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(word)}
    assert dfslab(env=words).stdout.split() == offered
