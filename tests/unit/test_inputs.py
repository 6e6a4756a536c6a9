"""Tests that every command reads its input from regular files, pipes, standard input and gzip
files."""

import gzip
import io
import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from dfslab.imports.call_stream import load
from dfslab.imports.contract import Recording
from dfslab.nets import files
from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read
from support.command import dfslab
from support.synthetic import scenario
from support.waiting import wait_until

STRACE = """\
10 1700000000.1 openat(AT_FDCWD, "/a", O_RDONLY) = 3 <0.1>
10 1700000000.2 pread64(3, "x"..., 4096, 0) = 4096 <0.1>
"""
PNML = (
    '<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml"><net id="n" '
    'type="http://www.pnml.org/version-2009/grammar/ptnet"><page id="p"><place id="a"/>'
    '<transition id="t"/><arc id="x" source="a" target="t"/></page></net></pnml>'
)
SPAN = {
    "traceId": "0123456789abcdef0123456789abcdef",
    "spanId": "0000000000000001",
    "name": "call",
    "startTimeUnixNano": "1000",
    "endTimeUnixNano": "5000",
}
OTLP = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]})


def given(folder, name, content, form):
    """Returns the path of a file with the content `content`. By `form`, the file is a plain file, a
    compressed file, or a pipe that a thread fills."""
    path = folder / (f"{name}.gz" if form == "gzip" else name)
    data = content.encode()
    if form == "pipe":
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=(data,), daemon=True).start()
    else:
        path.write_bytes(gzip.compress(data) if form == "gzip" else data)
    return path


FORMS = pytest.mark.parametrize("form", ["plain", "gzip", "pipe"])


@FORMS
def test_a_scenario(tmp_path, form):
    assert read(given(tmp_path, "s.toml", scenario().toml(), form)) == scenario()


@FORMS
def test_a_net(tmp_path, form):
    found = files.read(given(tmp_path, "n.pnml", PNML, form))
    assert [place.name for place in found.places] == ["a"]


def test_a_net_without_a_name_is_recognised(tmp_path):
    assert files.read(given(tmp_path, "n", PNML, "pipe")).places


@FORMS
def test_calls_that_are_replayed(tmp_path, form):
    found = load(given(tmp_path, "t.strace", STRACE, form), "strace", Recording(), 1)
    assert [one.operation for one in found.given] == ["open", "pread"]


@FORMS
def test_spans(tmp_path, form):
    answer = dfslab("trace", "report", given(tmp_path, "t.json", OTLP, form), "--json")
    assert json.loads(answer.stdout)["spans"] == 1


def test_spans_from_standard_input():
    answer = dfslab("trace", "report", "/dev/stdin", "--json", input=OTLP)
    assert json.loads(answer.stdout)["spans"] == 1


def test_a_byte_order_mark_is_no_part_of_a_scenario(tmp_path):
    path = tmp_path / "s.toml"
    path.write_bytes(b"\xef\xbb\xbf" + scenario().toml().encode())
    assert read(path) == scenario()


def test_errors_name_the_file_that_was_given(tmp_path):
    path = given(tmp_path, "t.json", "no trace at all", "gzip")
    answer = dfslab("trace", "report", path)
    assert answer.returncode == 2
    assert f"{tmp_path}/t.json.gz" in answer.stderr
    assert "dfslab-input" not in answer.stderr


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_devices_are_refused(tmp_path, device):
    path = tmp_path / "link.json"
    path.symlink_to(device)
    answer = dfslab("trace", "report", path)
    assert (answer.returncode, "is a device" in answer.stderr) == (2, True)


def test_what_does_not_unpack_is_refused(tmp_path):
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(STRACE.encode())[:-9])
    with pytest.raises(InputError, match="gzip"):
        inputs.content("FILE", path)


def test_what_unpacks_to_more_than_is_free_is_refused(tmp_path, monkeypatch):
    path = given(tmp_path, "t.json", OTLP, "gzip")
    monkeypatch.setattr(inputs, "_SPACE_SHARE", 0.0)
    with pytest.raises(InputError, match="free space"), inputs.seekable("trace", [path]):
        pass


def test_a_text_has_a_largest_size(tmp_path):
    with pytest.raises(InputError, match="larger than 3 bytes"):
        inputs.text("FILE", given(tmp_path, "t", "1234", "plain"), most_bytes=3)
    assert inputs.text("FILE", given(tmp_path, "u", "123", "plain"), most_bytes=3) == "123"


def test_a_pipe_without_a_writer_is_named_until_one_comes(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "_NOTE_AFTER_S", 0.01)
    notes = io.StringIO()
    monkeypatch.setattr(sys, "stderr", notes)
    pipe = tmp_path / "t.json"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        text = pool.submit(inputs.text, "FILE", pipe)
        assert wait_until(lambda: "\n" in notes.getvalue() or text.done())
        pipe.write_text("late")
        assert text.result() == "late"
    assert notes.getvalue().count("\n") == 1
    assert f"{pipe}: waiting for a program that writes to this pipe" in notes.getvalue()


def test_a_pipe_whose_writer_is_ready_causes_no_note(tmp_path, capsys):
    pipe = tmp_path / "t.json"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(pipe.write_bytes, gzip.compress(b"ready"))
        assert inputs.text("FILE", pipe) == "ready"
    assert capsys.readouterr().err == ""
