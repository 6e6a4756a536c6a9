"""Tests of exemplar traces. The slowest calls of each kind are chosen, the spans of a trace are in
order, and a file in another format counts as having no exemplar traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dfslab.instruments.tracing.exemplar_traces import (
    MOST_SPANS,
    exemplar_files,
    later_than,
    timelines,
)
from dfslab.report import page
from dfslab.report.timeline import TITLE
from dfslab.studies.traces import trace_files

MS = 1_000_000


def span(
    number: int, parent: int, name: str, start: int, took: int, **reported: str
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "traceId": f"{reported.pop('trace', '1'):0>32}",
        "spanId": f"{number:016x}",
        "name": name,
        "startTimeUnixNano": str(10**18 + start * MS),
        "endTimeUnixNano": str(10**18 + (start + took) * MS),
        "attributes": [
            {"key": f"dfslab.{key}", "value": {"stringValue": value}}
            for key, value in reported.items()
        ],
    }
    return {**found, "parentSpanId": f"{parent:016x}"} if parent else found


def document(*spans: dict[str, Any], service: str = "client") -> dict[str, Any]:
    name = {"key": "service.name", "value": {"stringValue": service}}
    return {
        "resourceSpans": [
            {"resource": {"attributes": [name]}, "scopeSpans": [{"spans": list(spans)}]}
        ]
    }


WRITE = (
    span(3, 1, "close", 60, 40, kind="sleep", about="/f"),
    span(1, 0, "write", 0, 100, about="/f", cause="client:put"),
    span(2, 1, "open", 5, 50),
    span(4, 2, "rpc", 6, 20, kind="blocked"),
)


def written(path: Path, what: Any) -> Path:
    path.write_text(json.dumps(what))
    return path


def test_spans_are_in_the_order_of_their_calls_with_times_from_its_start(tmp_path):
    (one,) = timelines([written(tmp_path / "a.json", document(*WRITE))])
    assert (one.name, str(one.cause), one.duration_s) == ("write", "client:put", 0.1)
    rows = [
        (row.name, row.about, row.depth, row.start_s, row.duration_s, row.wait) for row in one.calls
    ]
    assert rows == [
        ("write", "/f", 0, 0, 0.1, False),
        ("open", "", 1, 0.005, 0.05, False),
        ("rpc", "", 2, 0.006, 0.02, True),
        ("close", "/f", 1, 0.06, 0.04, True),
    ]
    assert {row.place for row in one.calls} == {"client"}
    assert one.left_out == 0


def test_the_slowest_of_a_kind_is_kept_and_the_rest_of_a_long_one_counted(tmp_path):
    many = [span(100 + n, 1, "packet", n, 1) for n in range(MOST_SPANS + 5)]
    first = written(tmp_path / "a.json", document(*WRITE, *many))
    quick = [{**one, "traceId": "2" * 32} for one in (span(1, 0, "write", 0, 7),)]
    second = written(tmp_path / "b.json", document(*quick, span(9, 0, "read", 0, 8, trace="3")))
    found = timelines([second, first])
    assert [(one.name, one.duration_s) for one in found] == [("write", 0.1), ("read", 0.008)]
    assert found[0].left_out == len(WRITE) + len(many) - MOST_SPANS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"resourceSpans": 1}',
        "[" * 100_000,
        '{"traceEvents": []}',
        json.dumps(document({"name": "no times", "traceId": "1", "spanId": "1"})),
    ],
)
def test_another_form_has_none(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    assert timelines([path]) == []


def test_spans_that_name_each_other_end(tmp_path):
    loop = document(span(1, 2, "a", 0, 1), span(2, 1, "b", 0, 1), span(3, 0, "c", 0, 1))
    assert [one.name for one in timelines([written(tmp_path / "a.json", loop)])] == ["c"]


def test_those_of_before_are_left_out(tmp_path):
    path = written(tmp_path / "a.json", document(*WRITE, span(9, 0, "read", 200, 8, trace="3")))
    path.write_text(later_than(path, 10**18 + 150 * MS))
    assert [one.name for one in timelines([path])] == ["read"]


def test_exemplar_traces_are_in_the_folder_of_their_profile(tmp_path):
    calls = written(tmp_path / "client-1.otlp.json", document(*WRITE))
    assert list(
        exemplar_files(
            [
                tmp_path / "client-1.profile.json",
                tmp_path / "datanode.profile.json",
                tmp_path / "x.otlp",
            ]
        )
    ) == [calls]


def test_the_report_of_a_trace_draws_them(tmp_path):
    hostile = "<b onclick=x>"
    path = written(tmp_path / "a.json", document(*WRITE, span(9, 1, hostile, 1, 1)))
    profile = trace_files.profile([path])
    text = page.render_trace(profile, "Trace", "a trace", [path])
    section = text[text.index(TITLE) : text.index("Steps by self time")]
    assert section.count('role="row"') == 5
    assert "left:60.000%;width:40.000%" in section
    assert 'class="wait"' in section
    assert hostile not in section
