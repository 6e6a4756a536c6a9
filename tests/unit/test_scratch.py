"""Tests that the temporary folders of killed processes, but no other folders, are found and
removed."""

import json
import os
import signal
import tempfile
from pathlib import Path

import pytest
from dfslab.spec.files import scratch
from support.command import dfslab


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Provides an empty directory for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def left(temporary):
    """Provides (path, PID) of a temporary folder that a killed process has left."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with scratch.folder("test") as made:
            (made / "deep" / "er").mkdir(parents=True)
            os.write(writer, str(made).encode())
            signal.pause()
    path = Path(os.read(reader, 4096).decode())
    assert scratch.abandoned() == []
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)
    return path, child


def test_a_folder_is_removed_at_the_end(temporary):
    with scratch.folder() as made:
        (made / "file").write_text("x")
        assert scratch.abandoned() == []
    assert list(temporary.iterdir()) == []


def test_a_killed_owner_leaves_a_folder_that_is_found_and_removed(left):
    path, pid = left
    (found,) = scratch.abandoned()
    assert (found.path, found.owner_pid) == (str(path), pid)
    assert scratch.remove(found)
    # Another process may have removed the folder at the same time.
    assert scratch.remove(found)
    assert not path.exists()


def test_what_is_not_marked_is_never_touched(temporary):
    (temporary / "dfslab-mine").mkdir()
    (temporary / "dfslab-file").write_text("x")
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / scratch.OWNER).write_text("1\n")
    (temporary / "dfslab-link").symlink_to(elsewhere)
    assert scratch.abandoned() == []


def test_a_marker_that_is_a_link_marks_nothing(temporary):
    folder = temporary / "dfslab-x"
    folder.mkdir()
    (temporary / "pid").write_text("1\n")
    (folder / scratch.OWNER).symlink_to(temporary / "pid")
    assert scratch.abandoned() == []


def test_a_link_in_an_abandoned_folder_is_not_followed(left, temporary):
    path, _ = left
    (temporary / "theirs").mkdir()
    (temporary / "theirs" / "precious").write_text("x")
    (path / "link").symlink_to(temporary / "theirs")
    (found,) = scratch.abandoned()
    assert scratch.remove(found)
    assert (temporary / "theirs" / "precious").read_text() == "x"


def test_the_doctor_names_it_first_and_removes_it_on_request(left, state_folder):
    path, pid = left
    answer = dfslab("doctor")
    assert f"{path}: left by process {pid}" in answer.stdout
    assert path.exists()
    cleaned = json.loads(dfslab("doctor", "--clean", "--json").stdout)
    assert cleaned["removed"] == [str(path)]
    assert not path.exists()
    assert dfslab("doctor").stdout.endswith("killed runs left nothing\n")
