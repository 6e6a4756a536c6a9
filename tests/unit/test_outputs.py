"""Tests of files that commands write. An existing file is not overwritten. No file is left partly
written. A path is refused if it leads through a link or to the input of the command."""

import errno
import json
import os

import pytest
from dfslab.spec.files import outputs
from dfslab.spec.files.outputs import Output, write_atomically
from dfslab.spec.input_error import InputError, RunFailed
from support.command import dfslab

OTLP = {
    "resourceSpans": [
        {
            "scopeSpans": [
                {
                    "spans": [
                        {
                            "traceId": "0123456789abcdef0123456789abcdef",
                            "spanId": "0000000000000001",
                            "name": "call",
                            "startTimeUnixNano": "1000",
                            "endTimeUnixNano": "5000",
                        }
                    ]
                }
            ]
        }
    ]
}


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "in.otlp"
    path.write_text(json.dumps(OTLP))
    return path


def occupied(tmp_path, kind):
    """Returns a path that already exists: a file, a link, a pipe, a folder or a device, by
    `kind`."""
    path = tmp_path / "there"
    if kind == "a file":
        path.write_text("precious")
    elif kind == "a folder":
        path.mkdir()
    elif kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a device":
        return type(path)("/dev/null")
    else:
        (tmp_path / "precious").write_text("precious")
        path.symlink_to(tmp_path / "precious" if kind == "a link" else tmp_path / "nowhere")
    return path


KINDS = ("a file", "a folder", "a pipe", "a device", "a link", "a dangling link")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("replaces", [False, True])
def test_nothing_but_a_file_is_ever_replaced(tmp_path, kind, replaces):
    path = occupied(tmp_path, kind)
    before = os.lstat(path)
    if kind == "a file" and replaces:
        Output("-o", path, replaces).write("new")
        assert path.read_text() == "new"
        return
    with pytest.raises(InputError, match=r"^-o = "):
        Output("-o", path, replaces).write("new")
    after = os.lstat(path)
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    if kind != "a device":
        assert [one for one in tmp_path.rglob("*.tmp")] == []
    if kind in ("a file", "a link"):
        assert path.read_text() == "precious"


def test_a_file_that_appears_while_the_content_is_made_is_kept(tmp_path):
    path = tmp_path / "new"
    with pytest.raises(InputError, match="exists already"):
        Output("-o", path).fill(
            lambda temporary: (temporary.write_text("ours"), path.write_text("theirs"))
        )
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_system_without_links_gets_new_files_too(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(outputs.os, "link", refuse)
    Output("-o", tmp_path / "new").write("content")
    assert (tmp_path / "new").read_text() == "content"
    with pytest.raises(InputError, match="exists already"):
        Output("-o", tmp_path / "new").write("other")


def test_a_full_disk_is_a_failed_run_and_leaves_nothing(tmp_path):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(RunFailed, match="cannot be written: No space left"):
        Output("-o", tmp_path / "new").fill(full)
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_names_its_file_and_keeps_the_old_content(tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    write_atomically(path, "old")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(outputs.os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: .*result\.json"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_own_files_are_synced_before_and_after_they_get_their_name(tmp_path, monkeypatch):
    steps = []
    sync, rename = os.fsync, os.replace

    def noting_sync(descriptor):
        steps.append("folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "file")
        sync(descriptor)

    def noting_rename(source, target):
        steps.append("rename")
        rename(source, target)

    monkeypatch.setattr(outputs.os, "fsync", noting_sync)
    monkeypatch.setattr(outputs.os, "replace", noting_rename)
    write_atomically(tmp_path / "result.json", "{}")
    assert steps == ["file", "rename", "folder"]


def commands(trace, output):
    """Returns the commands that write a file named by the user and need no finished run. The result
    maps the name of each command to its command line as a list of words."""
    return {
        "report": ("trace", "report", trace, "--page", output),
        "import": ("trace", "import", trace, "-o", output),
    }


@pytest.mark.parametrize("command", ["report", "import"])
@pytest.mark.parametrize("kind", KINDS)
def test_commands_refuse_what_exists_in_one_line(trace, tmp_path, command, kind):
    path = occupied(tmp_path, kind)
    answer = dfslab(*commands(trace, path)[command])
    assert answer.returncode == 2
    assert len(answer.stderr.strip().splitlines()) == 1
    # The error message may leave out the middle of a long path, but never the file's name.
    assert path.name in answer.stderr


@pytest.mark.parametrize("command", ["report", "import"])
def test_commands_never_write_over_what_they_read(trace, command):
    before = trace.read_bytes()
    for extra in ((), ("--force",)):
        answer = dfslab(*commands(trace, trace)[command], *extra)
        assert (answer.returncode, "is read by this command" in answer.stderr) == (2, True)
        assert trace.read_bytes() == before


def test_an_output_without_a_folder_is_one_line(trace, tmp_path):
    answer = dfslab("trace", "import", trace, "-o", tmp_path / "none" / "x.json")
    assert answer.returncode == 2
    assert answer.stderr.strip().endswith("its directory does not exist")


def test_a_minus_is_standard_output_and_nothing_else_is_printed(trace, tmp_path):
    answer = dfslab("trace", "import", trace, "-o", "-", cwd=tmp_path)
    assert json.loads(answer.stdout)["spans"] == 1
    page = dfslab("trace", "report", trace, "--page", "-", cwd=tmp_path)
    assert page.stdout.startswith("<!doctype html>")
    both = dfslab("trace", "import", trace, "-o", "-", "--json", cwd=tmp_path)
    assert (both.returncode, both.stdout) == (2, "")
    assert list(tmp_path.iterdir()) == [trace]


def test_force_replaces_a_file(trace, tmp_path):
    path = occupied(tmp_path, "a file")
    assert dfslab("trace", "import", trace, "-o", path, "--force").returncode == 0
    assert json.loads(path.read_text())["spans"] == 1
