"""Tests that control characters in text from other programs never reach a terminal, a log or a
page."""

import errno
import io
import json

import pytest
from dfslab.cli import root
from dfslab.report.harmless import harmless
from dfslab.spec.printable import printable
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from support.command import dfslab

NAME = "\x1b]0;owned\x07\x1b[31mred\u202eevil\x9b"
HARMFUL = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2066, 0x200F)]


@given(st.text())
def test_what_is_printable_stays_so(text):
    shown = printable(text)
    assert len(shown) == len(text)
    assert printable(shown) == shown
    assert not any(one in shown for one in HARMFUL if one not in "\n\t")


def test_names_of_all_scripts_stay():
    for text in ("read", "Größe", "読み取り", "קריאה", "a\tb\nc", "📁"):
        assert printable(text) == text


def test_a_table_keeps_its_styles_and_loses_those_of_a_name():
    out = io.StringIO()
    table = Table("[bold]call[/bold]")
    table.add_row(NAME)
    console = Console(file=out, force_terminal=True, width=80, color_system="standard")
    harmless(console).print(table)
    shown = out.getvalue()
    assert "\x1b[1m" in shown
    assert "owned" in shown
    for harm in ("\x1b]0;", "\x1b[31m", "\u202e", "\x9b", "\x07"):
        assert harm not in shown


@pytest.fixture
def trace(tmp_path):
    span = {
        "traceId": "0123456789abcdef0123456789abcdef",
        "spanId": "0000000000000001",
        "name": NAME,
        "startTimeUnixNano": "1000",
        "endTimeUnixNano": "5000",
    }
    path = tmp_path / "in.otlp"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    return path


@pytest.mark.parametrize("words", [(), ("--folded",), ("--page", "-"), ("--json",)])
def test_no_form_of_a_trace_passes_them_on(trace, words):
    shown = dfslab("trace", "report", trace, *words).stdout
    assert "owned" in shown
    assert not any(one in shown for one in HARMFUL if one not in "\n\t")


def test_error_lines_do_not_either():
    answer = dfslab("trace", "report", NAME)
    assert answer.returncode == 2
    assert not any(one in answer.stderr for one in HARMFUL if one not in "\n\t")


@pytest.mark.parametrize(
    ("error", "line", "code"),
    [
        (OSError(errno.ENOSPC, "No space left", "runs/x"), "dfslab: runs/x: No space left\n", 1),
        (OSError(errno.EROFS, "Read-only file system"), "dfslab: Read-only file system\n", 1),
        (RecursionError(), "dfslab: the input is nested too deeply\n", 2),
        (MemoryError(), "dfslab: there is not enough memory for this input\n", 1),
    ],
)
def test_troubles_of_the_machine_are_one_line(monkeypatch, capsys, error, line, code):
    def fail(**_):
        raise error

    monkeypatch.setattr(root, "app", fail)
    with pytest.raises(SystemExit) as ended:
        root.main()
    assert (ended.value.code, capsys.readouterr().err) == (code, line)


DEPTH = 3000


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("s.toml", "a=" + "[" * DEPTH + "]" * DEPTH, ("predict", "--method", "ideal")),
        ("s.toml", "a=" + "{a=" * DEPTH + "1" + "}" * DEPTH, ("predict", "--method", "ideal")),
        ("n.json", "[" * 100_000, ("net", "check")),
        (
            "n.pnml",
            "<pnml><net id='n'>" + "<page>" * DEPTH + "</page>" * DEPTH + "</net></pnml>",
            ("net", "check"),
        ),
    ],
)
def test_nested_input_of_any_depth_is_one_line(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    answer = dfslab(*words, tmp_path / name)
    assert answer.returncode == 2
    assert len(answer.stderr.strip().splitlines()) == 1


def test_a_nested_value_on_the_command_line_is_one_line(tmp_path):
    from support.synthetic import scenario

    (tmp_path / "s.toml").write_text(scenario().toml())
    words = ("predict", tmp_path / "s.toml", "--method", "ideal")
    answer = dfslab(*words, "--set", "x=" + "[" * 100_000)
    assert answer.returncode == 2
    assert len(answer.stderr.strip().splitlines()) == 1
