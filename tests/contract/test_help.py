"""Tests that the help of every command has an example that the command accepts, and that every
command has short options."""

from __future__ import annotations

import os
import re
import shlex

import pytest
from dfslab.cli import root
from dfslab.cli.command_table import COMMANDS, EXAMPLES
from dfslab.cli.live.printing import Printing, printing_of
from dfslab.cli.live.version import commit_of, text
from dfslab.cli.quick import measuring
from dfslab.instruments.discovery import directory
from support.command import dfslab


def leaves():
    """Returns a dictionary from the words of each command and subcommand, such as "trace top", to
    the command."""
    found = {}
    for name in COMMANDS:
        made = root.command(name)
        found[name] = made
        if COMMANDS[name].group:
            found |= {f"{name} {inner}": one for inner, one in made.commands.items()}
    return found


def test_every_command_has_an_example_and_the_common_options():
    assert set(EXAMPLES) == set(leaves())
    for name, made in leaves().items():
        assert made.epilog == f"Example: {EXAMPLES[name]}"
        options = {text for option in made.params for text in option.opts}
        assert {"-q", "--quiet", "--no-color"} <= options, name


def test_the_options_of_every_example_exist():
    for name, made in leaves().items():
        if name == "compat":
            # `compat` imitates other benchmarks. The example of `compat` has the options of such a
            # benchmark, which are not options of dfslab.
            continue
        inner = made
        words = shlex.split(EXAMPLES[name])[1:]
        if COMMANDS.get(name) is not None and COMMANDS[name].group:
            inner = made.commands[words[1]]
        known = {text for option in inner.params for text in option.opts}
        used = {word for word in words if re.match(r"--?[a-z]", word)}
        assert used <= known, name


def test_a_paragraph_of_help_is_one_line_and_has_no_second_example():
    """Typer breaks the lines of a paragraph at the width of the terminal. A line break inside the
    text of a paragraph would cause an additional, misplaced line break."""
    for name, made in leaves().items():
        for paragraph in (made.help or "").split("\n\n"):
            assert "\n" not in paragraph, name
            assert "Example:" not in paragraph, name


def test_the_help_of_measure_shows_the_defaults_of_a_directory():
    usual = directory.Transfers()
    assert {
        "--bs": usual.block_sizes,
        "--rw": usual.modes,
        "--clients": usual.clients,
        "--size": usual.size,
        "--time": usual.time,
        "--repetitions": str(usual.repetitions),
    } == measuring.USUAL
    assert "[default: (5s)]" in dfslab("measure", "-h").stdout


def test_flags_are_shown_without_a_value():
    shown = dfslab("run", "-h").stdout
    assert "--json" in shown
    assert "--help" in shown
    assert "<bool>" not in shown
    assert "<bool>" not in dfslab("trace", "report", "-h").stdout


@pytest.mark.parametrize(
    "words", [("-h",), ("run", "-h"), ("trace", "-h"), ("trace", "report", "-h")]
)
def test_h_is_help(words):
    answer = dfslab(*words)
    assert answer.returncode == 0
    assert "Usage:" in answer.stdout


def test_a_source_tree_has_a_commit_in_its_version(tmp_path):
    assert commit_of(tmp_path) == ""
    assert re.fullmatch(r"dfslab \d+\.\d+\.\d+", text(tmp_path))
    assert text().startswith(text(tmp_path))


def test_quiet_prints_no_progress(tmp_path):
    words = ("measure", tmp_path, "--size", "64k", "--bs", "4k", "--rw", "read", "--clients", "1")
    counted = ("--set", "workload.operations_per_client=4", "--repetitions", "1", "--quiet")
    answer = dfslab(*words, *counted, cwd=tmp_path)
    assert (answer.returncode, answer.stderr) == (0, "")


def test_no_color_prints_without_colours(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    colours = re.compile("\x1b\\[[0-9;]*3[0-8]")
    words = ("predict", "quickstart")
    assert colours.search(dfslab(*words).stdout)
    answer = dfslab(*words, "--no-color")
    assert (answer.returncode, colours.search(answer.stdout)) == (0, None)
    assert "NO_COLOR" not in os.environ
    assert colours.search(dfslab(*words).stdout), "the option belongs to one command"


def test_the_options_of_a_group_hold_for_its_commands():
    group = root.command("net")
    with group.make_context("net", ["--quiet", "check", "--no-color", "net.json"]) as context:
        name, inner, words = group.resolve_command(context, ["check", "--no-color", "net.json"])
        with inner.make_context(name, words, parent=context) as within:
            found = printing_of(within, as_json=True)
        assert printing_of(context) == Printing(is_quiet=True)
    assert found == Printing(as_json=True, is_quiet=True, is_colourless=True)
    with root.command("list").make_context("list", []) as context:
        assert printing_of(context) == Printing()
