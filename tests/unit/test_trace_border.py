"""Tests that traces written from Python are read by the Rust core without any change, in both
formats of OTLP."""

import json
from pathlib import Path

import pytest
from dfslab import _core
from dfslab.documents.traces.merged_calls import MergedCalls, MergedNode
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.instruments.trace import read
from dfslab.report.sections.traced_runs import body
from dfslab.report.terminal_traces import ranking_tables
from support.rows import span_table

SECOND = 10**9
START = 1_700_000_000 * SECOND


def block_writes(blocks, packets):
    """Returns the spans of `blocks` block writes. Each block write is a call of receiveBlock with
    `packets` calls of receivePacket below it."""
    spans = []
    for block in range(blocks):
        begin = START + block * SECOND
        root = 1 + block * 1000
        spans.append(("write", begin, begin + 900_000, root, 0, 7, 0))
        spans.append(("receiveBlock", begin + 10, begin + 800_010, root + 1, root, 7, 0))
        for packet in range(packets + block % 3):
            at = begin + 20 + packet * 1000
            spans.append(("receivePacket", at, at + 700, root + 2 + packet, root + 1, 7, 65536))
    return spans


@pytest.fixture(params=["json", "protobuf"])
def trace(request, tmp_path):
    path = tmp_path / "trace"
    _core.trace_write(span_table(block_writes(200, 300)), "datanode", str(path), request.param)
    assert [entry.name for entry in tmp_path.iterdir()] == ["trace"]
    return str(path)


def test_block_writes_become_one_tree(trace):
    profile = json.loads(_core.trace_profile([trace], "{}"))
    packets = sum(300 + block % 3 for block in range(200))
    assert (profile["spans"], profile["trees"], profile["shapes"]) == (400 + packets, 200, 1)
    assert profile["reduction"]["trees_removed"] > 0.99
    assert set(profile["losses"].values()) == {0}
    (root,) = profile["roots"]
    (block,) = root["children"]
    (packet,) = block["children"]
    assert [root["name"], block["name"]] == ["write", "receiveBlock"]
    assert (packet["count"], packet["bytes"]) == (packets, packets * 65536)
    assert (packet["total_ns"], packet["self_ns"]) == (packets * 700, packets * 700)
    assert block["self_ns"] == 200 * 800_000 - packets * 700
    assert packet["total_s"] == pytest.approx(packets * 700e-9)
    assert [packet[key] for key in ("min_s", "max_s")] == [700e-9, 700e-9]
    assert [packet[key] for key in ("p50_s", "p99_s")] == pytest.approx([700e-9] * 2, rel=0.01)
    assert {note["kind"] for note in packet["exemplars"]} == {"slowest", "sampled"}


def test_the_ranking_is_by_self_time_with_waits_apart(trace):
    options = json.dumps({"wait_patterns": ["receiveB*"]})
    profile = json.loads(_core.trace_profile([trace], options))
    assert [entry["name"] for entry in profile["ranking"]] == ["receivePacket", "write"]
    assert [entry["path"] for entry in profile["waits"]] == ["write/receiveBlock"]
    everything = profile["ranking"] + profile["waits"]
    assert sum(entry["share"] for entry in everything) == pytest.approx(1)
    assert sum(entry["self_ns"] for entry in everything) == 200 * 900_000


def test_folded_stacks(trace):
    lines = _core.trace_folded([trace]).splitlines()
    assert lines[0] == f"write {200 * 100_000}"
    stacks = [line.rsplit(" ", 1)[0] for line in lines]
    assert stacks == ["write", "write;receiveBlock", "write;receiveBlock;receivePacket"]


def test_both_formats_and_two_processes(tmp_path):
    profiles = []
    for trace_format in ("json", "protobuf"):
        paths = [str(tmp_path / f"{name}.{trace_format}") for name in ("client-1", "client-2")]
        for path, name in zip(paths, ("client-1", "client-2"), strict=True):
            _core.trace_write(span_table(block_writes(3, 5)), name, path, trace_format)
        profiles.append(json.loads(_core.trace_profile(paths, "{}")))
    assert profiles[0] == profiles[1]
    assert (profiles[0]["trees"], profiles[0]["losses"]["duplicates"]) == (6, 0)


def test_ids_follow_the_otlp_json_rules(tmp_path):
    path = tmp_path / "trace"
    _core.trace_write(span_table(block_writes(1, 1)), "load", str(path), "json")
    (resource,) = json.loads(path.read_text())["resourceSpans"]
    spans = resource["scopeSpans"][0]["spans"]
    assert {len(span["traceId"]) for span in spans} == {32}
    assert [span["spanId"] for span in spans[:2]] == [f"{1:016x}", f"{2:016x}"]
    assert spans[0]["startTimeUnixNano"] == str(START)
    assert len({span["traceId"] for span in spans}) == 1


@pytest.mark.parametrize(
    ("options", "named"),
    [("{", "EOF"), ('{"limit": 1}', "unknown field `limit`"), ('{"ranking_limit": -1}', "-1")],
)
def test_wrong_options_are_named(trace, options, named):
    with pytest.raises(_core.InputError, match=f"trace options: .*{named}"):
        _core.trace_profile([trace], options)


def test_wrong_calls_are_refused(tmp_path):
    target = str(tmp_path / "trace")
    with pytest.raises(_core.InputError, match='trace format "xml": allowed are "json" and'):
        _core.trace_write(span_table([]), "load", target, "xml")
    with pytest.raises(_core.InputError, match="span 0: span_id 0, allowed are 1 to"):
        _core.trace_write(span_table([("a", 1, 2, 0, 0, 0, 0)]), "load", target, "json")
    with pytest.raises(_core.InputError, match="at least one file is needed"):
        _core.trace_profile([], "{}")
    with pytest.raises(_core.InputError, match="No such file"):
        _core.trace_profile([str(tmp_path / "absent")], "{}")
    with pytest.raises(_core.InputError, match="writing trace .*No such file"):
        _core.trace_write(
            span_table([("a", 1, 2, 1, 0, 0, 0)]), "load", str(tmp_path / "no/trace"), "json"
        )
    assert list(tmp_path.iterdir()) == []


def test_a_clock_that_is_ahead_is_reported_and_set_back(tmp_path):
    """A clock difference between two hosts is reported, and the spans are corrected by it. Each
    host writes a file of spans. The clock of one host is a minute ahead."""
    minute_ns, start_ns = 60 * 10**9, 1_700_000_000 * 10**9

    def written(host: str, spans: list[dict]) -> Path:
        resource = {"attributes": [{"key": "host.name", "value": {"stringValue": host}}]}
        path = tmp_path / f"{host}.json"
        path.write_text(
            json.dumps(
                {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}
            )
        )
        return path

    def span(trace: int, number: int, parent: int, begin_ns: int, end_ns: int) -> dict:
        return {
            "traceId": f"{trace:032x}",
            "spanId": f"{number:016x}",
            "name": f"call {number}",
            "parentSpanId": f"{parent:016x}" if parent else "",
            "startTimeUnixNano": str(begin_ns),
            "endTimeUnixNano": str(end_ns),
        }

    begins = [start_ns + call * 10**7 for call in range(20)]
    asks = [span(1 + call, 1, 0, at, at + 10**6) for call, at in enumerate(begins)]
    serves = [
        span(1 + call, 2, 1, at + minute_ns + 200_000, at + minute_ns + 700_000)
        for call, at in enumerate(begins)
    ]
    files = [str(written("client", asks)), str(written("server", serves))]
    profile = json.loads(_core.trace_profile(files, "{}"))
    client, server = profile["clocks"]
    assert (client["host"], client["ahead_ns"]) == ("client", 0)
    assert abs(server["ahead_ns"] - minute_ns) <= server["residual_ns"] <= 250_000
    assert (server["calls"], server["against"]) == (20, 0)
    assert profile["losses"]["outside_parent"] == 0
    assert profile["roots"][0]["self_ns"] == 20 * 500_000
    found = read(json.dumps(profile))
    assert [table.title for table in ranking_tables(found)][-1].startswith("Clocks")
    page = str(body(found))
    assert "Clocks" in page
    assert "60" in page


def merged_calls(*nodes: tuple[str, int | None, int]) -> str:
    """Returns merged calls as JSON: nodes (name, index of the parent, number of calls) whose times
    are 0."""
    zeros = dict.fromkeys(("errors", "bytes", "total_ns", "self_ns", "waits"), 0)
    common = {**zeros, "ranked": True, "instances": [], "of": {}}
    rows = [
        MergedNode(name=name, step=name, above=above, read=count, count=count, **common)
        for name, above, count in nodes
    ]
    return MergedCalls(calls=9, trees=1, nodes=rows).model_dump_json()


def test_merged_calls_without_times_are_ranked_by_their_number():
    text = _core.trace_report(merged_calls(("root", None, 1), ("b", 0, 2), ("a", 0, 5)))
    found = TraceProfile.model_validate(json.loads(text))
    assert [entry.name for entry in found.ranking] == ["a", "b", "root"]
    assert [node.name for node in found.roots[0].children] == ["a", "b"]
    assert found.reduction.spans_removed == pytest.approx(1 - 3 / 9)


@pytest.mark.parametrize("above", [0, 1, 7])
def test_merged_calls_whose_parents_come_late_are_refused(above):
    with pytest.raises(_core.InputError, match="a node is not after its parent"):
        _core.trace_report(merged_calls(("early", above, 1), ("late", None, 1)))
