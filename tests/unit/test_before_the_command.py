"""Tests of the words before and directly after the name of a command."""

from __future__ import annotations

import pytest
import typer
from dfslab.cli.live.printing import printing_of
from dfslab.cli.root import app
from support.command import dfslab


@pytest.mark.parametrize("option", ["-q", "--quiet", "--no-color"])
def test_common_options_may_stand_before_the_command(option):
    before, after = dfslab(option, "list"), dfslab("list", option)
    assert (before.returncode, before.stderr) == (0, "")
    assert before.stdout == after.stdout


def test_quiet_before_the_command_reaches_the_command():
    contexts = []
    group = typer.main.get_command(app)
    for words in (["-q", "list"], ["list"]):
        with group.make_context("dfslab", words) as context:
            contexts.append(printing_of(context).is_quiet)
    assert contexts == [True, False]


def test_errors_after_common_options_name_the_command():
    done = dfslab("-q", "measure", ".", "--numjobs", "2")
    assert done.returncode == 2
    assert "--numjobs: here it is --clients" in done.stderr
    assert "`dfslab measure --help`" in done.stderr
