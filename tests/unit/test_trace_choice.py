"""Tests of the options for reading a trace. With them, a user selects calls, names and the format
of the trace. The report counts the calls that the options exclude."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest
from dfslab import _core
from dfslab.cli.traces import trace_work
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_profile import Times
from dfslab.instruments.tracing.reading import Reading, reading
from dfslab.report import repeats
from dfslab.report.sections.traced_runs import body
from dfslab.report.terminal_traces import ranking_tables
from dfslab.spec.input_error import InputError
from dfslab.studies.traces import trace_files, trace_store
from support.command import dfslab
from support.recorded import RECORDED
from support.rows import span_table

START = 1_700_000_000 * 10**9


def span(trace, number, parent, name, begin, end, failed=False):
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": name,
        "parentSpanId": f"{parent:016x}" if parent else "",
        "startTimeUnixNano": str(START + begin),
        "endTimeUnixNano": str(START + end),
        "status": {"code": 2 if failed else 0},
    }


@pytest.fixture
def otlp(tmp_path):
    """Writes a file of three traces and returns its path. Each trace is one write with one, two or
    three attempts of 100 ns. Only the last attempt of a write succeeds."""
    spans = []
    for trace in (1, 2, 3):
        spans.append(span(trace, 1, 0, "write", 0, 1000))
        for attempt in range(trace):
            number, begin = 2 + 2 * attempt, 100 * attempt
            last = attempt == trace - 1
            spans.append(span(trace, number, 1, "attempt", begin, begin + 100, not last))
            name = "Hdfs.send" if trace == 2 else "Local.send"
            spans.append(span(trace, number + 1, number, name, begin + 10, begin + 40))
    path = tmp_path / "writes.json"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
    return path


def run(*words):
    return dfslab("trace", *words)


def test_failed_attempts_are_places_of_their_own(otlp, tmp_path):
    found = trace_files.profile([otlp], reading(calls=_rules(tmp_path)))
    assert (found.trees, found.shapes) == (3, 1)
    (root,) = found.roots
    last, failed = sorted(root.children, key=lambda node: node.again)
    assert (last.count, last.errors, last.times.most) == (3, 0, 1)
    assert (failed.count, failed.errors, failed.total_ns) == (3, 3, 300)
    assert failed.times == Times(callers=2, least=1, p50=1, most=2)
    assert repeats.retries(found) == [(CallPath.read("write/attempt"), 3, 6, 300)]
    assert repeats.loops(trace_files.profile([otlp])) == []
    page = str(body(found))
    assert repeats.RETRIES in page
    assert "attempt (failed, made again)" in page
    assert repeats.RETRIES in [getattr(part, "title", part) for part in ranking_tables(found)]
    rows = trace_store.tables(found)["calls"]
    reported = {(row["name"], row["again"]): row["times_most"] for row in rows}
    assert reported == {
        ("write", False): None,
        ("attempt", False): 1,
        ("attempt", True): 2,
        ("send", False): 1,
    }


def _rules(folder, text='[steps]\n"send" = ["*.send"]\n'):
    path = folder / "rules.toml"
    path.write_text(text)
    return path


def test_loops_are_recognised_by_their_counts(tmp_path):
    spans, number = [], 1
    for tree, packets in enumerate((2, 5, 300)):
        root, begin = number, START + tree * 10**6
        spans.append(("write", begin, begin + 10**5, root, 0, 1, 0))
        spans += [
            ("packet", begin + 10 * at, begin + 10 * at + 5, root + 1 + at, root, 1, 0)
            for at in range(packets)
        ]
        number += packets + 1
    path = tmp_path / "trace"
    _core.trace_write(span_table(spans), "load", str(path), "protobuf")
    found = trace_files.profile([path])
    assert repeats.loops(found) == [(CallPath.read("write/packet"), 2, 5, 300, 3)]
    assert repeats.LOOPS in str(body(found))


def test_omissions_are_reported_everywhere(otlp, tmp_path):
    page = tmp_path / "page.html"
    done = run("report", otlp, "--drop", "attempt", "--page", page)
    line = "Left out by “attempt”: 6 calls with a total time of 600 ns; their self time of 420 ns"
    assert line in " ".join(done.stdout.split()), done
    assert line in page.read_text()
    dropped = reading(drop=["attempt"])
    trace_work.import_traces([otlp], None, tmp_path / "tables", "t", dropped)
    ask = "select rule, calls, total_ns, self_ns from left_out"
    assert trace_work.query(tmp_path / "tables", ask)[1] == [("attempt", 6, 600, 420)]
    stacks = "write 2820\nwrite;Hdfs.send 60\nwrite;Local.send 120\n"
    assert trace_work.folded([otlp], dropped) == stacks
    kept = trace_files.profile([otlp], reading(keep=["*send"]))
    assert {str(row.path) for row in kept.ranking} == {"Hdfs.send", "Local.send"}
    assert kept.left_out["not among those to keep"].without_caller == 9


def test_names_of_many_classes_become_one_step(otlp, tmp_path):
    rules = _rules(tmp_path, 'drop = ["attempt"]\n[steps]\nsend = ["*.send"]\n')
    found = trace_files.profile([otlp], reading(calls=rules))
    assert {str(row.path): row.count for row in found.ranking} == {"write": 3, "write/send": 6}
    assert {str(step.step) for step in found.savings.steps} == {"write", "send"}


@pytest.mark.parametrize(
    ("reported", "named"),
    [
        ({"drop": ["kind=slow"]}, 'drop "kind=slow": kind: must be wait or work'),
        ({"keep": ["step=a,size=3"]}, "size: must be step, service, host or kind"),
        ({"keep": ["nothing"]}, "no call is kept: all 15 are left out"),
        ({"form": "xml"}, "must be one of otlp-json, otlp-protobuf, chrome, dftracer, jaeger"),
        ({"calls": Path("absent.toml")}, "--calls = 'absent.toml': no such file"),
        ({"sampled": 2}, "--sampled = 2: must be above 0 and at most 1"),
    ],
)
def test_a_wrong_choice_is_one_line(otlp, reported, named):
    as_pprof = partial(trace_work.exported, form="pprof")
    for ask in (trace_files.profile, trace_work.folded, as_pprof):
        with pytest.raises(InputError, match=re.escape(named)) as caught:
            ask([otlp], reading=reading(**reported))
        assert "\n" not in str(caught.value)


def test_the_command_line_says_it_in_one_line(otlp):
    out = otlp.with_name("profile")
    done = run("import", otlp, "-o", out, "--format", "otlp-json", "--keep", "nothing")
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, ""), done
    assert "no call is kept" in done.stderr
    assert not out.exists()


def test_a_wrong_file_of_rules_is_named(otlp, tmp_path):
    for text, named in [("kept = []", "kept"), ("keep = 3", "keep"), ("keep = [", "is not TOML")]:
        with pytest.raises(InputError, match=f"rules.toml.*({named})"):
            reading(calls=_rules(tmp_path, text))


def test_a_format_that_the_beginning_hides_can_be_named(tmp_path):
    path = tmp_path / "log"
    noise = "".join(f"# line {number} of a wrapper\n" for number in range(20))
    call = '101 1700000000.000100 read(3, "x", 4096) = 4096 <0.000050>\n'
    path.write_text(noise + call)
    with pytest.raises(InputError, match="neither OTLP JSON nor OTLP protobuf"):
        trace_files.profile([path])
    found = trace_files.profile([path], Reading(format="strace"))
    assert (found.spans, found.losses["other_lines"]) == (1, 20)
    with pytest.raises(InputError, match="line 1"):
        trace_files.profile([path], Reading(format="otlp-json"))


def test_sums_of_servers_know_no_single_calls():
    path = RECORDED / "glusterfs-profile.xml"
    for option in ("drop", "keep"):
        for ask in (trace_files.profile, trace_work.folded):
            with pytest.raises(InputError, match=f"--{option} = 'read': is for spans"):
                ask([path], reading(**{option: ["read"]}))


def test_nodes_of_a_cluster_read_under_the_same_choice(otlp, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(otlp.read_text().replace('"traceId": "0', '"traceId": "f'))
    options = reading(drop=["attempt"]).options()
    parts = [bytes(_core.trace_part([str(path)], options)) for path in (otlp, other)]
    together = json.loads(_core.merge_trace_shards(parts[::-1], options))
    assert together["left_out"]["attempt"]["calls"] == 12
    assert (
        together["spans"]
        == json.loads(_core.trace_profile([str(otlp), str(other)], options))["spans"]
    )
