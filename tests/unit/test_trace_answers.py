"""Tests that the output of `dfslab trace report` ends with an answer in sentences, and fits into 80
columns."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest
from dfslab.instruments import trace as tracing
from dfslab.report import page
from dfslab.report.answers import trace_answer
from dfslab.report.terminal_traces import ranking_tables
from support.command import dfslab

ROOT = Path(__file__).parents[2]
HDFS = ROOT / "scenarios" / "data" / "hdfs-trace"
COUNTERS = ROOT / "tests" / "recorded" / "glusterfs-profile.xml"
# The keys are names of calls. Each value is (duration in ms, name of the caller).
CALLS = {"read": (100, ""), "disk": (60, "read"), "wire": (20, "read")}


def jaeger(folder: Path, traces: int) -> Path:
    """Writes a Jaeger file with `traces` equal traces and returns its path. In each trace, a read
    uses a disk and then a link."""
    data = []
    for number in range(traces):
        start_us = 1_700_000_000_000_000 + number * 1_000_000
        spans = []
        for place, (name, (duration_ms, caller)) in enumerate(CALLS.items()):
            parent = [
                {"refType": "CHILD_OF", "traceID": f"{number + 1:032x}", "spanID": f"{1:016x}"}
            ]
            spans.append(
                {
                    "traceID": f"{number + 1:032x}",
                    "spanID": f"{place + 1:016x}",
                    "operationName": name,
                    "references": parent if caller else [],
                    "startTime": start_us + (5_000 if name == "disk" else 70_000 if caller else 0),
                    "duration": duration_ms * 1000,
                    "tags": [],
                    "logs": [],
                    "processID": "p1",
                }
            )
        data.append(
            {
                "traceID": f"{number + 1:032x}",
                "spans": spans,
                "processes": {"p1": {"serviceName": "server", "tags": []}},
            }
        )
    path = folder / "jaeger.json"
    path.write_text(json.dumps({"data": data}))
    return path


def test_the_step_that_would_gain_most_is_named_with_its_interval(tmp_path):
    answer = dfslab("trace", "report", jaeger(tmp_path, 30), env={"COLUMNS": "80"})
    assert answer.returncode == 0, answer.stderr
    assert max(map(len, answer.stdout.splitlines())) <= 80
    said = " ".join(answer.stdout.split("┘")[-1].split())
    assert (
        "Most self time of the 30 call trees recorded: read/disk, 60.0% (30 calls, mean 60 ms)"
        in said
    )
    # The disk takes 60 ms of 100 ms. A disk that is 2 times faster saves 30 ms.
    assert "disk 2 times faster would save 30.0% (30.0% to 30.0%)" in said
    assert "of the summed time of the call trees, 3 s" in said
    assert "record 20 or more" not in said
    table = " ".join(answer.stdout.split())
    assert "Of the summed time of 30 call trees, 3 s" in table
    assert "cannot tell: it is too wide" in table


def test_one_call_tree_asks_for_more(tmp_path):
    profile = tracing.profile([jaeger(tmp_path, 1)])
    (_, gain) = trace_answer.sentences(profile)
    assert gain.endswith("which says nothing of other calls: record 20 or more call trees.")
    assert "30.0% to 30.0%" not in gain
    assert {step.verdict for step in profile.savings.steps} == {"cannot tell"}


def test_the_page_gives_the_answer_of_the_terminal(tmp_path):
    for trees in (1, 2, 30):
        profile = tracing.profile([jaeger(tmp_path, trees)])
        (_, gain) = trace_answer.sentences(profile)
        shown = unescape(page.render_trace(profile, "Trace", "a trace", [tmp_path / "x.json"]))
        assert gain in shown
        assert ("30.0% to 30.0%" in shown) is (trees > 1)
        assert "traced by dfslab" not in shown
        assert "1 call trees" not in shown


def test_a_table_of_one_call_tree_has_no_interval(tmp_path):
    said = dfslab("trace", "report", jaeger(tmp_path, 1), env={"COLUMNS": "80"}).stdout
    assert "30.0% – 30.0%" not in said
    assert "in 1 call tree," in said
    assert "│ cannot tell │" in said


def test_a_trace_of_jvms_names_hardware_and_doubt():
    answer = dfslab("trace", "report", HDFS, env={"COLUMNS": "80"})
    assert max(map(len, answer.stdout.splitlines())) <= 80
    said = " ".join(answer.stdout.split("┘")[-1].split())
    assert "client:put/create_file_system 2 times faster would save 8.0%" in said
    assert "client: processor 2 times faster would save most" in said
    assert "does not show for certain" in said


def test_counters_give_no_gain():
    said = dfslab("trace", "report", COUNTERS).stdout
    assert "Most self time of the calls that servers counted: glusterfs-brick:WRITE" in said
    assert "what a faster step would gain is not known" in said


@pytest.mark.parametrize(
    ("verdict", "words"),
    [("cannot tell", "No saving is certain"), ("no gain", "No single step 2 times faster")],
)
def test_an_unsure_gain_is_not_an_answer(tmp_path, verdict, words):
    profile = tracing.profile([jaeger(tmp_path, 2)])
    (step, *_) = profile.savings.steps
    unsure = step.model_copy(update={"verdict": verdict, "low": 0.0})
    savings = profile.savings.model_copy(update={"steps": [unsure]})
    (_, gain) = trace_answer.sentences(profile.model_copy(update={"savings": savings}))
    assert gain.startswith(words)


def test_names_of_steps_are_not_cut():
    """Names that are too long for 80 columns are continued in the next line."""
    shown = dfslab("trace", "report", HDFS, env={"COLUMNS": "80"}).stdout
    assert "…│" not in shown.replace(" ", "")


def test_wide_has_further_columns(tmp_path):
    path = jaeger(tmp_path, 3)
    narrow, wide = (dfslab("trace", "report", path, *words).stdout for words in ((), ("--wide",)))
    assert "share of self" not in narrow
    assert "share of self" in wide
    profile = tracing.profile([path])
    assert len(ranking_tables(profile)) == len(ranking_tables(profile, True))


def test_the_document_has_the_answer(tmp_path):
    answer = json.loads(dfslab("trace", "report", jaeger(tmp_path, 30), "--json").stdout)
    assert len(answer["answer"]) == 2
    assert "2 times faster" in answer["answer"][1]


def test_the_page_of_a_file_is_written(tmp_path):
    page = tmp_path / "page.html"
    answer = dfslab("trace", "report", jaeger(tmp_path, 3), "--page", page)
    assert answer.returncode == 0, answer.stderr
    assert "disk" in page.read_text()
