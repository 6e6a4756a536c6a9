"""Tests of the clean-up after killed runs. Files that these runs left in the file system under test
are recognised and removed. No other file is removed."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from dfslab.fleet import agent, leftovers
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.target import PosixTarget
from dfslab.testbeds.hosts.process import LiveProcess
from support.command import DFSLAB, dfslab
from support.running_agent import endless

RUN = "dfslab-0123456789ab"
# Longest time in seconds until a command starts to probe. Only a command that hangs takes so long.
STARTS_S = 60.0


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Provides the path of an empty state folder, which dfslab uses."""
    folder = tmp_path / "state"
    monkeypatch.setenv("DFSLAB_STATE", str(folder))
    return folder


@pytest.fixture
def data(tmp_path):
    """Provides a directory under test that contains one file of the user."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    return folder


def plan(data) -> LoadPlan:
    target = PosixTarget(root=str(data))
    return endless(data).model_copy(update={"target": target, "run_directory": RUN})


KILLED = """
import os, signal, sys
from pathlib import Path
from dfslab.fleet import leftovers
from dfslab.spec.streams.plan import LoadPlan
with leftovers.recorded(LoadPlan.model_validate_json(sys.argv[1])):
    Path(sys.argv[2]).mkdir()
    (Path(sys.argv[2]) / "f0").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def left(data):
    """Provides the run directory that a killed process has left."""
    words = (plan(data).text, str(data / RUN))
    done = subprocess.run([sys.executable, "-P", "-c", KILLED, *words], check=False)
    assert done.returncode == -signal.SIGKILL
    return data / RUN


def test_doctor_names_and_removes_the_files_of_a_killed_run(left, data):
    named = json.loads(dfslab("doctor", "--json").stdout)
    assert [one["path"] for one in named["runs"]] == [str(left)]
    assert left.exists()
    cleaned = dfslab("doctor", "--clean", "--json")
    assert str(left) in json.loads(cleaned.stdout)["removed"]
    assert [path.name for path in data.iterdir()] == ["mine"]
    assert json.loads(dfslab("doctor", "--json").stdout)["runs"] == []


@pytest.mark.heavy
@pytest.mark.parametrize("words", [("init",), ("expect",), ("calibrate", "--directory")])
def test_doctor_names_and_removes_the_files_of_a_killed_probe(words, data, tmp_path):
    with subprocess.Popen(
        [DFSLAB, *words, data],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as probing:
        deadline_s = time.monotonic() + STARTS_S
        while not list(data.glob(".dfslab-probe-*/*")) and probing.poll() is None:
            assert time.monotonic() < deadline_s
            time.sleep(0.002)
        probing.kill()
    left = {str(path) for path in data.glob(".dfslab-probe-*")}
    assert left
    # The killed process may have left a child. This child may lock the record for a moment, until
    # it ends too.
    while not left <= {one.path for one in leftovers.abandoned()}:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    cleaned = dfslab("doctor", "--clean")
    for path in left:
        assert f"{path}: files of a probe that was killed" in cleaned.stdout
        assert f"removed {path}" in cleaned.stdout
    assert [path.name for path in data.iterdir()] == ["mine"]
    assert leftovers.abandoned() == []


def test_a_probe_in_progress_is_not_abandoned_and_leaves_no_record(data, state):
    def probe():
        with leftovers.probe_folder(data) as made:
            (made / "data").touch()
            assert leftovers.abandoned() == []
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        probe()
    assert [path.name for path in data.iterdir()] == ["mine"]
    assert list((state / "loads").iterdir()) == []


def test_a_probe_without_a_state_folder_is_not_recorded(data, tmp_path, monkeypatch):
    monkeypatch.setenv("DFSLAB_STATE", str(data / "mine"))
    with leftovers.probe_folder(data) as made:
        assert made.is_dir()
    assert [path.name for path in data.iterdir()] == ["mine"]


def test_a_run_in_progress_is_not_abandoned(data):
    with leftovers.recorded(plan(data)):
        (data / RUN).mkdir()
        assert leftovers.abandoned() == []


def test_a_whole_run_leaves_no_record(data, state):
    with leftovers.recorded(plan(data)) as run:
        run.answers = True
    assert list((state / "loads").iterdir()) == []


def test_a_run_whose_file_system_does_not_answer_stays_recorded(data, state, monkeypatch):
    def hangs(path):
        raise AssertionError("the file system was asked")

    with monkeypatch.context() as patch:
        patch.setattr(os.path, "lexists", hangs)
        with leftovers.recorded(plan(data)):
            pass
    assert len(list((state / "loads").iterdir())) == 1
    assert leftovers.abandoned() == []
    assert list((state / "loads").iterdir()) == [], "nothing is there to be removed"


def test_a_link_in_place_of_the_run_directory_is_kept(left, data, tmp_path):
    (left / "f0").unlink()
    left.rmdir()
    others = tmp_path / "others"
    others.mkdir()
    (others / "precious").touch()
    left.symlink_to(others)
    (found,) = leftovers.abandoned()
    assert not leftovers.remove(found)
    assert (others / "precious").exists()


@pytest.mark.parametrize("written", ["{}", "[", '{"directory": "/etc"}', '{"directory": 5}'])
def test_a_record_that_dfslab_did_not_write_is_ignored(state, written):
    (state / "loads").mkdir(parents=True)
    (state / "loads" / f"{RUN}.json").write_text(written)
    assert leftovers.abandoned() == []


def test_only_locks_of_agents_without_an_answer_are_removed(state):
    run = state / "parts" / "run"
    run.mkdir(parents=True)
    for name in ("clients-0-1.json.lock", "clients-1-2.json.lock", "clients-1-2.json"):
        (run / name).touch()
    (lock,) = leftovers.abandoned_locks()
    assert lock.endswith("clients-0-1.json.lock")
    assert leftovers.remove_lock(lock)
    assert sorted(path.name for path in run.iterdir()) == [
        "clients-1-2.json",
        "clients-1-2.json.lock",
    ]


@pytest.fixture
def answered(state):
    """Provides (lock file of an ended agent, file with the agent's answer)."""
    run = state / "parts" / "0123456789ab"
    run.mkdir(parents=True)
    answer = run / "clients-0-1.json"
    lock = agent.lock_file(answer)
    for path in (answer, lock):
        path.touch()
    return lock, answer


def ended_process() -> LiveProcess:
    with subprocess.Popen(["sleep", "600"]) as child:
        process = LiveProcess.of(child.pid)
        child.kill()
    return process


def test_doctor_removes_the_answer_that_a_killed_controller_did_not_read(answered, state):
    lock, answer = answered
    lock.write_text(ended_process().text)
    named = json.loads(dfslab("doctor", "--json").stdout)
    assert named["locks"] == [str(lock)]
    assert answer.exists()
    assert dfslab("doctor", "--clean").returncode == 0
    assert list((state / "parts").iterdir()) == []


def test_an_answer_that_may_still_be_read_is_kept(answered):
    lock, answer = answered
    here, ended = LiveProcess.of(os.getpid()), ended_process()
    for text in (here.text, replace(ended, boot="another machine's").text, "", "1:2"):
        lock.write_text(text)
        assert leftovers.abandoned_locks() == []
    lock.write_text(ended.text)
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert leftovers.abandoned_locks() == []
        assert not leftovers.remove_lock(str(lock))
    assert answer.exists()


def test_doctor_removes_the_empty_folder_of_agents_that_were_killed_while_they_started(state):
    empty = state / "parts" / "0123456789ab"
    others = state / "parts" / "mine"
    used = state / "parts" / "ba9876543210"
    for path in (empty, others, used):
        path.mkdir(parents=True)
    (used / "clients-0-1.json").touch()
    assert json.loads(dfslab("doctor", "--json").stdout)["empty"] == [str(empty)]
    assert dfslab("doctor", "--clean").returncode == 0
    assert sorted(path.name for path in (state / "parts").iterdir()) == ["ba9876543210", "mine"]


def test_an_agent_creates_its_lock_file_again_if_it_is_removed_before_it_is_locked(
    tmp_path, monkeypatch
):
    path = tmp_path / "run" / "clients-0-1.json.lock"
    flock, calls = fcntl.flock, []

    def removed_first(lock, operation):
        if not calls:
            shutil.rmtree(path.parent)
        calls.append(operation)
        flock(lock, operation)

    monkeypatch.setattr(agent.fcntl, "flock", removed_first)
    with agent.locked(path) as lock:
        assert len(calls) == 2
        assert os.path.samestat(os.fstat(lock.fileno()), path.stat())
