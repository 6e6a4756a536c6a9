"""Tests of the requirements that every reader of other tools' results meets."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from dfslab import discover
from dfslab.documents import metrics
from dfslab.imports import as_results, tool_report
from dfslab.spec import clock
from dfslab.spec.input_error import InputError
from support import tool_texts
from support.tool_texts_dfsperf import DFSPERF
from support.tool_texts_more import MORE_TEXTS
from support.tool_texts_tables import TABLES

TEXTS = tool_texts.TEXTS | MORE_TEXTS | TABLES | DFSPERF
NAMES = list(discover.members(discover.RESULT_READERS))
CASES = [(name, text) for name, texts in TEXTS.items() for text in texts]


def test_every_reader_has_texts_of_three_releases():
    assert {name for name, texts in TEXTS.items() if len(set(texts)) >= 3} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_reader_says_what_it_reads(name):
    path = discover.members(discover.RESULT_READERS)[name]
    assert tool_report.reader(name).title == discover.title(path)


@pytest.mark.parametrize(("name", "text"), CASES)
def test_a_text_is_recognised_by_its_own_reader_only(name, text):
    assert tool_report.recognised(text.encode()) == [name]


@pytest.mark.parametrize("name", NAMES)
def test_other_files_are_not_recognised(name):
    one = tool_report.reader(name)
    for other in (b"", b"\0", b"\xff" * 100, b"{}", b"[]", b"name,value\n1,2\n"):
        assert not one.recognises(other)


@pytest.mark.parametrize(("name", "text"), CASES)
@pytest.mark.parametrize("packed", [False, True])
def test_results_are_whole_and_their_metrics_are_known(tmp_path, name, text, packed):
    path = tmp_path / "given"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    report = tool_report.read(path)
    results = as_results.results(report, path)
    assert len({(one.point_id, one.repetition) for one in results}) == len(results) > 0
    for one in results:
        assert one.metrics
        assert {metrics.parsed(key).name for key in one.metrics} <= set(metrics.REGISTRY)
        assert one.provenance.software.startswith(report.tool)
        started = one.provenance.started
        assert not started or clock.recorded(started).isoformat(timespec="milliseconds") == started
        is_noted = any(note.startswith(as_results.UNKNOWN_ZONE) for note in one.notes)
        assert is_noted == (bool(report.started) and not started)
        assert one.provenance.cores == one.provenance.memory_bytes == 0
        assert type(one).model_validate_json(one.model_dump_json()) == one


def refusal(path: Path, name: str) -> str:
    """Returns the reason why a reader refuses a file, or an empty text if the reader accepts it."""
    try:
        assert tool_report.read(path, name).measurements
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("name", "text"), CASES)
def test_a_damaged_text_is_one_line_or_fewer_results(tmp_path, name, text):
    path = tmp_path / "given"
    for end in range(1, len(text), max(1, len(text) // 40)):
        path.write_text(text[:end])
        assert "\n" not in refusal(path, name)
    path.write_text(text.replace("0", "-").replace("1", "x"))
    assert "\n" not in refusal(path, name)
    path.write_text("")
    assert refusal(path, name).startswith(f"FILE = {str(path)!r}"[:24])
