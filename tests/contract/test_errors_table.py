"""Tests that docs/errors.md lists every error message of the sources, and that the command line
exits with the codes that this table states."""

import subprocess
import sys
from pathlib import Path

import pytest
from dfslab.cli import root
from dfslab.discover import DiscoveryError
from dfslab.method import RunFailed
from dfslab.spec.input_error import InputError
from dfslab.spec.members.member_error import MemberValueError
from dfslab.testbeds.errors import TestbedError

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import errors_table  # noqa: E402

KINDS = {
    "InputError": InputError("key", 1, "must be 2"),
    "RunFailed": RunFailed("it failed"),
    "TestbedError": TestbedError("died", "start", "it ended"),
    "DiscoveryError": DiscoveryError("a file"),
    "MemberValueError": MemberValueError("a value"),
}


def test_the_table_is_that_of_the_sources():
    written = errors_table.TABLE.read_text("utf-8")
    ours = errors_table.table(errors_table.messages())
    assert written == ours, "python scripts/errors_table.py"


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_one_line_with_its_exit_code(kind, monkeypatch, capsys):
    def fail(**_):
        raise KINDS[kind]

    monkeypatch.setattr(root, "app", fail)
    with pytest.raises(SystemExit) as ended:
        root.main()
    assert ended.value.code == errors_table.KINDS[kind][0]
    said = capsys.readouterr().err
    assert said.startswith("dfslab: ")
    assert len(said.splitlines()) == 1


def test_a_new_message_changes_the_table(tmp_path):
    (tmp_path / "spec").mkdir()
    (tmp_path / "spec" / "mine.py").write_text(
        'LIMIT = "is too large"\n'
        "def f(x):\n"
        '    raise InputError("mine", x, LIMIT)\n'
        "def g(x):\n"
        '    raise RunFailed(f"{x}: fails | {x}{x}")\n'
    )
    found = errors_table.messages(tmp_path)
    assert [(one.kind, one.key, one.text) for one in found] == [
        ("InputError", "mine", "is too large"),
        ("RunFailed", "", "…: fails | …"),
    ]
    assert "| mine.py | RunFailed | 1 |  | …: fails \\| … |" in errors_table.table(found)


def test_most_messages_say_more_than_a_hole():
    found = errors_table.messages()
    assert len(found) > 400
    bare = [one for one in found if one.text.strip(f"{errors_table.HOLE}: ") == ""]
    assert len(bare) < len(found) / 5, [f"{one.module} {one.key}" for one in bare]


def test_the_script_writes_the_same_in_any_folder(tmp_path):
    text = subprocess.run(
        [sys.executable, "-c", "import errors_table as e; print(e.table(e.messages()), end='')"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "scripts"), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert text == errors_table.TABLE.read_text("utf-8")
