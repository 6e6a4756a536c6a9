"""Tests of the options before the name of a command, and of wrong words directly after it."""

from __future__ import annotations

import json

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


def test_one_type_of_members_is_listed():
    done = dfslab("list", "result-readers", "--json")
    assert done.returncode == 0, done.stderr
    assert list(json.loads(done.stdout)) == ["result readers"]
    assert dfslab("list", "scenarios").stdout.startswith("scenarios:\n")


def test_a_mistyped_type_of_members_is_suggested():
    done = dfslab("list", "scenaros")
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert line.startswith("dfslab: TYPE = 'scenaros': unknown; allowed: ")
    assert line.endswith("did you mean scenarios?")


def test_a_trace_that_is_measured_names_the_command_that_replays_it(tmp_path):
    trace = tmp_path / "app.strace"
    trace.write_text('1700000000.1 openat(AT_FDCWD, "/x/a", O_RDONLY) = 3 <0.00002>\n')
    done = dfslab("measure", trace)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert f"a trace file is replayed by `dfslab replay {trace} DIRECTORY`" in line
