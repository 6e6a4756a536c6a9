"""Tests of the benchmark score of a processor. The score is read from the output of the probe.
Output that is not a number is refused."""

from __future__ import annotations

import subprocess

import pytest
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts.score import score


class Here:
    """A host whose commands run on this machine. If `says` is not empty, no command is run. The
    output of every command is then `says`."""

    name = "here"

    def __init__(self, says: str = "") -> None:
        self.says = says

    def run(self, *words: str, limit_s: float) -> str:
        if self.says:
            return self.says
        return subprocess.run(
            words, capture_output=True, text=True, timeout=limit_s, check=True
        ).stdout


def test_the_program_gives_a_positive_score():
    assert score(Here(), kernel_s=0.01) > 0  # type: ignore[arg-type]


def test_what_is_no_number_is_refused():
    with pytest.raises(TestbedError, match="score of here"):
        score(Here("no python"))  # type: ignore[arg-type]
