"""Tests that every discovered importer recognises files of its format and refuses other files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from dfslab import discover
from dfslab.imports import call_stream, contract
from dfslab.imports.contract import CallImporter, FileCall, Recording, Replay, StreamImporter
from dfslab.imports.formats.recorded import RECORDED
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.workloads.replay import Parameters

NAMES = list(discover.members(discover.IMPORTERS))
DARSHAN = Path(find_spec("darshan").origin).parent  # type: ignore[union-attr,arg-type]
# The keys are names of formats. Each value is the content of a file in this format, with at least
# one write of 4096 bytes.
SAMPLES = {
    "strace": b'7 1700000000.5 openat(AT_FDCWD, "/data/a", O_WRONLY|O_CREAT) = 3 <0.1>\n'
    b'7 1700000000.6 pwrite64(3, "x"..., 4096, 8192) = 4096 <0.1>\n',
    "dxt": b"# darshan log version: 3.41\n# DXT, file_id: 9, file_name: /data/a\n"
    b" X_POSIX  0 write 0 8192 4096 0.0031 0.0035\n",
    "darshan": (DARSHAN / "tests" / "input" / "sample-dxt-simple.darshan").read_bytes(),
    "blkparse": b"  8,16   0        1     0.000000000   100  Q  WS 2048 + 8 [fio]\n",
    "recorded": RECORDED.pack(0, 1, 0, 0, 4096, 4096, 0, 0, 0, 7),
}


@pytest.fixture
def sample(tmp_path):
    """Returns a function that writes an importer's sample file, or other content if given, and
    returns the file's path."""

    def written(name: str, content: bytes | None = None) -> Path:
        path = tmp_path / name
        path.write_bytes(SAMPLES[name] if content is None else content)
        return path

    return written


def test_every_importer_has_a_sample():
    assert set(SAMPLES) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_importer_says_what_it_reads(name):
    importer = contract.importer(name)
    assert isinstance(importer, CallImporter | StreamImporter)
    assert importer.title == discover.title(discover.members(discover.IMPORTERS)[name])


@pytest.mark.parametrize("name", NAMES)
def test_an_importer_recognises_its_own_files_only(sample, name):
    assert contract.recognised(sample(name)) == [name]
    importer = contract.importer(name)
    for other in (b"", b"\0", b"\xff" * 100, b"{}", b"name,value\n1,2\n"):
        assert not importer.recognises(other)
    assert not importer.recognises(SAMPLES[name][:1])


@pytest.mark.parametrize("name", NAMES)
def test_an_importer_reads_its_own_files(sample, name):
    importer = contract.importer(name)
    if isinstance(importer, StreamImporter):
        found = importer.read(sample(name))
        assert isinstance(found, Replay)
    else:
        calls = list(importer.read(sample(name), Recording()))
        assert all(isinstance(one, FileCall) for one in calls)
        assert [one.start_s for one in calls] == sorted(one.start_s for one in calls)
        found = call_stream.replay(calls, 1)
    assert len(found.given) == len(found.starts_s) > 0
    assert any(one.size_bytes >= 4000 for one in found.given)
    loaded = call_stream.load(sample(name), name, Recording(), 1)
    assert (loaded.given, loaded.starts_s) == (found.given, found.starts_s)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("content", [b"", b"\xff\0 nothing that anything reads\n" * 9])
def test_what_is_no_trace_is_refused_in_a_line(sample, name, content):
    with pytest.raises(InputError) as refused:
        call_stream.load(sample(name, content), name, Recording(), 1)
    assert refused.value.key == "workload.trace"
    assert "\n" not in str(refused.value)
    assert "looks like" not in str(refused.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_another_format_is_refused_with_its_name(sample, name):
    other = "dxt" if name == "blkparse" else "blkparse"
    with pytest.raises(InputError, match=f"it looks like form = '{name}'"):
        call_stream.load(sample(name), other, Recording(), 1)


def test_the_workload_offers_what_discovery_finds():
    with pytest.raises(InputError) as refused:
        build(Parameters, {"form": "poem"}, "workload")
    assert refused.value.key == "workload.form"
    assert f"allowed: {', '.join(sorted(NAMES))}" in refused.value.allowed
