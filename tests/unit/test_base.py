"""Tests of scenarios that extend another scenario. The tests check the inherited keys, and that
each error gives a one-line message."""

from __future__ import annotations

import pytest
from dfslab.cli.shared import read_scenario
from dfslab.imports.formats.recorded import RECORDED
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read

BASE = """
name = "base"
title = "A question"
[[deployment.node]]
name = "machine"
roles = { client = 1, storage = 1 }
[deployment.network]
latency = "70 us"
[file_system]
name = "local"
[workload]
name = "sequential_write"
file_size = "2 MiB"
[[sweep]]
"workload.clients" = [1, 2]
"""


def written(tmp_path, own: str):
    (tmp_path / "base.toml").write_text(BASE)
    path = tmp_path / "own.toml"
    path.write_text(own)
    return path


def test_tables_are_filled_and_lists_stand_for_themselves(tmp_path):
    found = read(
        written(
            tmp_path,
            """
base = "base.toml"
name = "own"
[workload]
transfer_size = "1 MiB"
[[deployment.node]]
name = "other"
roles = { client = 1, storage = 1 }
""",
        )
    )
    assert (found.name, found.title) == ("own", "A question")
    assert (found.workload.file_size, found.workload.transfer_size) == ("2 MiB", "1 MiB")
    assert [group.name for group in found.deployment.node] == ["other"]
    assert found.deployment.network.latency == pytest.approx(7e-5)
    assert len(found.points()) == 2


def test_a_trace_path_is_relative_to_the_scenario_or_the_working_directory(tmp_path, monkeypatch):
    """The path of a trace in a scenario file is relative to the file's folder. A path on the
    command line is relative to the working directory.

    The copy of the scenario in the run folder still refers to the same trace.
    """
    folder, elsewhere = tmp_path / "here", tmp_path / "there"
    folder.mkdir()
    elsewhere.mkdir()
    stream = b"\0" * RECORDED.size
    (folder / "own.stream").write_bytes(stream)
    (elsewhere / "typed.stream").write_bytes(stream)
    path = written(
        folder,
        'base = "base.toml"\nname = "own"\n[workload]\nname = "replay"\n'
        'form = "recorded"\ntrace = "own.stream"\nclients = 1\n[run]\n'
        'methods = ["measure"]\n[[sweep]]\n"workload.clients" = [1]\n',
    )
    monkeypatch.chdir(elsewhere)
    found = read_scenario(path, None)
    assert found.workload.parameters["trace"] == str(folder / "own.stream")
    (elsewhere / "copy.toml").write_text(found.toml())
    assert read(elsewhere / "copy.toml") == found
    typed = read_scenario(path, ["workload.trace=typed.stream"])
    assert typed.workload.parameters["trace"] == str(elsewhere / "typed.stream")


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ('base = "nowhere.toml"', "base: nowhere.toml: no such file"),
        ("base = 3", "base: 3: must be the name of a scenario file"),
        ('base = "own.toml"', "base: own.toml: has a base itself"),
        ('base = "broken.toml"', "base: broken.toml: is not TOML: "),
    ],
)
def test_a_wrong_base_is_one_line_that_names_the_file(tmp_path, own, said):
    (tmp_path / "broken.toml").write_text("[")
    with pytest.raises(InputError) as caught:
        read(written(tmp_path, own))
    line = str(caught.value)
    assert "own.toml" in line
    assert said.split(":")[0] in line
    assert said.split(": ")[-1].strip() in line
    assert "\n" not in line
