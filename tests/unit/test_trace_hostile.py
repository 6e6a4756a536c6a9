"""Tests of damaged, foreign and hostile traces. Each trace is either refused with a one-line
message, or read with losses that are counted by kind."""

import json

import pytest
from dfslab import _core
from dfslab.instruments.tracing.reading import Reading
from dfslab.studies.traces import trace_files, trace_store
from support.command import dfslab
from support.rows import span_table

TRACE = "0123456789abcdef0123456789abcdef"


def span(number, parent=0, name="call", start=5, end=9, **others):
    parent_id = f"{parent:016x}" if parent else ""
    times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(end)}
    ids = {"traceId": TRACE, "spanId": f"{number:016x}", "parentSpanId": parent_id}
    return {**ids, "name": name, **times, **others}


def document(*spans):
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def profile(folder, content):
    path = folder / "evil.trace"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return json.loads(_core.trace_profile([str(path)], "{}"))


REFUSED = {
    "empty": (b"", "the file is empty"),
    "blank": (b"\n \n", "the file is empty"),
    "text": (b"INFO receiver started\n", "neither OTLP JSON nor OTLP protobuf"),
    "png": (b"\x89PNG\r\n\x1a\n" + bytes(50), "neither OTLP JSON nor OTLP protobuf"),
    "gzip": (b"\x1f\x8b\x08\x00", "compressed with gzip"),
    "half a document": (document(span(1))[:99], "line 1 column 99: the file ends within"),
    "chrome": ('{"traceEvents": []}', "holds no spans"),
    "impossible times": (
        '{"traceEvents": [{"name": "a", "ph": "X", "ts": 1e300, "dur": 1, "pid": 1, "tid": 1}]}',
        "1 dropped for times that cannot be",
    ),
    "no spans": (document(), "holds no spans"),
    "null list": ('{"resourceSpans": null}', "holds no spans"),
    "number": ('{"resourceSpans": 3}', "is integer 3, must be"),
    "deep": ('{"resourceSpans": ' + "[" * 200_000, "line 1"),
    "deep and ignored": ('{"other": ' + '{"a":' * 200_000, "line 1"),
    "base64 ids": (document(span(1, traceId="ASNFZ4mrze8BI0VniavN7w==")), "1 dropped for zero"),
    "zero ids": (document(span(0)), "1 dropped for zero"),
    "fractional time": (document(span(1, start=0.5)), "whole nanoseconds"),
    "second line": (document(span(1)) + "\n{]", "line 2 column 2"),
    "huge text as a number": (document(span(1, start="9" * 10**6)), "whole nanoseconds"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_line(case, tmp_path):
    content, expected = REFUSED[case]
    with pytest.raises(_core.InputError) as refused:
        profile(tmp_path, content)
    line = str(refused.value)
    assert "evil.trace" in line
    assert expected in line
    assert "\n" not in line
    assert len(line) < 1000


LOSSES = {
    "duplicate": ([span(1), span(1)], {"duplicates": 1}),
    "conflict": ([span(1), span(1, end=10)], {"conflicting_duplicates": 1}),
    "zero id": ([span(1), span(0)], {"zero_ids": 1}),
    "short id": ([span(1), span(2, spanId="12")], {"bad_ids": 1}),
    "self parent": ([span(1, parent=1)], {"self_parents": 1}),
    "orphan": ([span(1, parent=99)], {"missing_parents": 1}),
    "ring": ([span(1, parent=2), span(2, parent=1)], {"cycles": 1}),
    "backwards": ([span(1, end=2)], {"end_before_start": 1}),
    "overhang": ([span(1), span(2, parent=1, end=99)], {"outside_parent": 1}),
    "huge name": ([span(1, name="x" * 10**7)], {"long_names": 1}),
    "unicode": ([span(1, name="\u202e\0名\n🗂;/")], {}),
    "negative size": (
        [span(1, attributes=[{"key": "bytes", "value": {"intValue": "-1"}}])],
        {"bad_sizes": 1},
    ),
}


@pytest.mark.parametrize("case", LOSSES)
def test_counted_by_kind(case, tmp_path):
    spans, expected = LOSSES[case]
    found = profile(tmp_path, document(*spans))
    assert {kind: count for kind, count in found["losses"].items() if count} == expected
    assert found["spans"] > 0


def test_a_hundred_thousand_levels_of_calls(tmp_path):
    levels = 100_000
    nested = [span(n, n - 1, start=n, end=10**6 - n) for n in range(1, levels + 1)]
    found = profile(tmp_path, document(*nested))
    assert (found["spans"], found["trees"]) == (levels, 1)
    assert found["losses"]["deep_spans"] == levels - 200
    ranked = found["ranking"]
    assert sum(entry["count"] for entry in ranked) == levels
    assert sum(entry["self_ns"] for entry in ranked) == 10**6 - 2


def test_every_truncation_of_a_protobuf_keeps_what_is_whole(tmp_path):
    path = tmp_path / "whole"
    spans = [("call", 5, 9, number, number - 1, 1, 4096) for number in range(1, 6)]
    _core.trace_write(span_table(spans), "load", str(path), "protobuf")
    whole = path.read_bytes()
    kept = []
    for length in range(8, len(whole)):
        try:
            found = profile(tmp_path, whole[:length])
        except _core.InputError:
            kept.append(0)
        else:
            kept.append(found["spans"])
            assert found["losses"]["truncated_files"] == 1
            assert found["losses"]["missing_bytes"] == len(whole) - length
            assert found["roots"]
    assert kept == sorted(kept)
    assert (kept[0], kept[-1]) == (0, 4)


def test_losses_are_reported_in_the_terminal_and_on_the_page(tmp_path):
    path = tmp_path / "cut.json"
    text = document(*(span(number) for number in range(1, 20)))
    path.write_text(text[: len(text) // 2])
    done = dfslab("trace", "report", path, "--page", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    reported = " ".join(done.stdout.split())
    assert "Repaired or dropped: 1 truncated files" in reported
    assert "unread bytes" in reported
    assert "1 truncated files" in (tmp_path / "page.html").read_text()


def test_a_rate_of_sampling_scales_counts_and_is_reported(tmp_path):
    path = tmp_path / "sampled.json"
    path.write_text(document(*(span(number) for number in range(1, 20))))
    words = ["trace", "report", path, "--sampled"]
    done = dfslab(*words, "0.01")
    assert done.returncode == 0, done.stderr
    reported = " ".join(done.stdout.split())
    assert (
        "about 1,900 spans, estimated from 19 that were recorded with probability 0.01" in reported
    )
    found = trace_files.profile([path], Reading(sampled=0.01))
    assert (found.ranking[0].count, found.ranking[0].read) == (1900, 19)
    rows = trace_store.tables(found)["calls"]
    assert [(row["count"], row["read"], row["estimated"]) for row in rows] == [(1900, 19, True)]
    wrong = dfslab(*words, "1.5")
    assert wrong.returncode == 2
    assert "--sampled = 1.5: must be above 0 and at most 1" in " ".join(wrong.stderr.split())
