"""Tests of the errors for folders and files that a command cannot use."""

from __future__ import annotations

from pathlib import Path

import pytest
from dfslab.cli.quick import member_check
from dfslab.imports import strace_stamps
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.studies.runs import store
from support.command import dfslab


def test_a_folder_of_dfslab_path_that_does_not_exist_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("DFSLAB_PATH", f"{tmp_path}:{tmp_path / 'nowhere'}")
    assert member_check.missing_folders() == [tmp_path / "nowhere"]
    done = dfslab("doctor", "--members")
    assert done.returncode == 2
    assert f"DFSLAB_PATH: {tmp_path / 'nowhere'}: no such folder" in done.stdout


def test_a_folder_of_dfslab_path_without_folders_of_members_is_named(tmp_path, monkeypatch):
    (tmp_path / "filesystems" / "shelf").mkdir(parents=True)
    monkeypatch.setenv("DFSLAB_PATH", f"{tmp_path}:{tmp_path / 'filesystems'}")
    assert member_check.folders_without_members() == [tmp_path / "filesystems"]
    done = dfslab("doctor", "--members")
    assert done.returncode == 2
    assert "has no folder of members; allowed: filesystems, workloads" in done.stdout


def test_the_folder_of_a_scenario_names_its_latest_run(tmp_path: Path):
    run = tmp_path / "20260101T000000"
    run.mkdir()
    (run / "scenario.toml").touch()
    (tmp_path / "latest").symlink_to(run.name)
    with pytest.raises(InputError, match=f"`{tmp_path}/latest` is its latest run"):
        store.check_folder(tmp_path)


def test_a_wrong_key_of_a_node_group_is_named_by_the_name_of_the_group():
    node = {"name": "machine", "roles": {"client": 1}, "core": 4}
    with pytest.raises(InputError, match=r"deployment\.node\.machine\.core = 4: unknown"):
        build(Scenario, {"name": "x", "deployment": {"node": [node]}})


@pytest.mark.parametrize(
    ("line", "is_unstamped"),
    [
        (b'openat(AT_FDCWD, "/a", O_RDONLY) = 3\n', True),
        (b'[pid 7] read(3, "x", 1) = 1\n', True),
        (b'7 1700000000.1 read(3, "x", 1) = 1 <0.1>\n', False),
        (b"name = (1) and more\n", False),
    ],
)
def test_strace_without_times_is_recognised(line, is_unstamped):
    assert strace_stamps.is_unstamped(line) is is_unstamped


def test_a_replay_of_strace_without_times_says_how_to_record_them(tmp_path: Path):
    trace = tmp_path / "trace"
    trace.write_text('openat(AT_FDCWD, "/a", O_RDONLY) = 3\n')
    done = dfslab("replay", str(trace), str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is of strace without times: use strace -f -T -ttt" in done.stderr
