"""Tests of the comparison of cohorts, which are groups of calls. If one step is slower in a
cohort, the comparison reports this step. If all of many steps are equal in the cohorts, it
reports no step."""

from __future__ import annotations

import json
import random
import statistics
from pathlib import Path
from typing import Any

import pytest
from dfslab.cli.traces import trace_work
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_analysis import CohortComparison
from dfslab.documents.traces.trace_profile import TraceProfile, TreeNode
from dfslab.instruments import trace
from dfslab.instruments.tracing import callprofile
from dfslab.instruments.tracing.reading import Reading
from dfslab.spec.input_error import InputError
from dfslab.studies.traces import trace_files
from dfslab.studies.traces.cohort import compare, holm, slow_and_fast
from support.profiles import files, step, tree_node, tree_profile
from support.synthetic import spans_of


def profile(steps: dict[str, list[float]]) -> TraceProfile:
    """Returns a profile of one call tree. `steps` maps each step below the root to the durations of
    its calls in seconds."""
    children = [
        tree_node(
            name, count=len(took), total_s=sum(took), self_s=sum(took), sd_s=statistics.pstdev(took)
        )
        for name, took in steps.items()
    ]
    return tree_profile(tree_node("root", *children))


def drawn(source: random.Random, slower: float = 1.0) -> dict[str, list[float]]:
    """Returns durations of two hundred steps: thirty random durations of calls for each step. The
    durations of the first step are multiplied by `slower`."""
    return {
        f"s{number}": [
            source.lognormvariate(0, 0.4) * (slower if number == 0 else 1.0) for _ in range(30)
        ]
        for number in range(200)
    }


def test_two_hundred_equal_steps_raise_no_alarm():
    alarms = 0
    for seed in range(20):
        source = random.Random(seed)
        alarms += bool(compare(profile(drawn(source)), profile(drawn(source))).rows)
    assert alarms <= 3, "5 % of reports may have one"


def test_a_slower_step_is_found_among_them():
    source = random.Random(5)
    found = compare(profile(drawn(source)), profile(drawn(source, slower=2.0)))
    assert [str(row.path) for row in found.rows] == ["root/s0"]
    assert found.rows[0].change == pytest.approx(1.0, abs=0.35)
    assert found.tests == 200


def test_a_change_is_found_where_no_single_context_has_enough_calls():
    """A slow disk is found although the step has only two calls in each calling context. The
    comparison also merges the calls of a step over all contexts, and these calls are enough."""

    def tree(took_s: list[float]) -> TreeNode:
        whole_s = sum(took_s)
        spread_s = statistics.pstdev(took_s)
        leaf = tree_node("sync", count=2, total_s=whole_s, self_s=whole_s, sd_s=spread_s)
        return tree_node("node-2:write", leaf, count=2, total_s=whole_s)

    def profile_of(factor: float) -> TraceProfile:
        ways = [
            tree_node(f"client:by_{number}", tree([factor, factor * 1.1])) for number in range(5)
        ]
        return tree_profile(*ways)

    found = compare(profile_of(1.0), profile_of(6.0))
    assert [str(row.path) for row in found.rows][0] == "node-2: sync"
    assert found.rows[0].count == 10
    assert found.rows[0].change == pytest.approx(5.0)
    assert found.rows[0].own_change_s == pytest.approx(52.5)
    assert not compare(profile_of(1.0), profile_of(1.0)).rows


def test_steps_of_one_cohort_only_are_named_and_not_tested():
    found = compare(profile({"a": [1.0] * 9, "gone": [1.0] * 9}), profile({"a": [1.0] * 9}))
    assert [str(path) for path in found.only_before] == ["root/gone"]
    assert found.rows == []


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


def document(slow: int) -> dict[str, Any]:
    """Returns an OTLP document of forty traces. The traces are equal, except that the step "disk"
    takes ten times as long in the last `slow` traces."""
    spans: list[dict[str, Any]] = []
    for number in range(40):
        disk_ns = 1_000_000 + 1000 * number * (10 if number >= 40 - slow else 1)
        disk_ns *= 10 if number >= 40 - slow else 1
        ends = {"": disk_ns + 2_000_000, "disk": disk_ns, "copy": 500_000 + 7919 * number % 1000}
        for place, (name, took_ns) in enumerate(ends.items()):
            above = {"parentSpanId": f"{number + 1:012x}0000"} if place else {}
            spans.append(
                {
                    "traceId": f"{number + 1:032x}",
                    "spanId": f"{number + 1:012x}{place:04x}",
                    **above,
                    "name": name or "read",
                    "startTimeUnixNano": str(10**9),
                    "endTimeUnixNano": str(10**9 + took_ns),
                }
            )
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def test_what_slow_traces_do_longer_is_found(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document(slow=5)))
    found = trace_work.with_cohorts(trace_files.profile([path]), [path], "slow", Reading())
    changed = [str(row.path) for row in found.compared.rows]
    assert changed[0] == "read/disk"
    assert "read/copy" not in changed
    assert found.compared.sides == ("fast", "slow")


def sampled(given: dict[str, Any], folder: Path) -> trace.Spans:
    """Writes a document to a file and returns the spans read from this file."""
    path = folder / "sampled.json"
    path.write_text(json.dumps(given))
    spans, left_out = trace.spans([path], None, 1000)
    assert left_out == 0
    return spans


def test_every_trace_is_slow_or_fast_and_few_are_neither(tmp_path):
    slow, fast = slow_and_fast(sampled(document(slow=5), tmp_path))
    assert (len(slow), len(fast)) == (3 * 5, 3 * 35)
    few = document(slow=5)
    few["resourceSpans"][0]["scopeSpans"][0]["spans"] = few["resourceSpans"][0]["scopeSpans"][0][
        "spans"
    ][:30]
    assert slow_and_fast(sampled(few, tmp_path)) == ([], [])


def hosts(folder: Path, *sums: int) -> list[Path]:
    """Writes one profile for each DataNode and returns the paths of the files. `sums` has one value
    for each DataNode: the total time in ms of its ten disk calls."""
    paths = []
    for number, total in enumerate(sums, 1):
        rows = [{"above": -1, "under": "client:write", "remote": True}, step(0, "disk", total)]
        ((_, file),) = files([(f"datanode-{number}", rows)])
        paths.append(folder / f"{number}.profile.json")
        paths[-1].write_text(callprofile.written(file))
    return paths


def test_the_host_that_differs_is_named(tmp_path):
    paths = hosts(tmp_path, 100, 900, 100)
    found = trace_work.with_cohorts(trace_files.profile(paths), paths, "hosts", Reading())
    rows = {row.cohort: row for row in found.compared.rows}
    assert str(rows["datanode-2"].path) == "client:write/datanode:disk"
    assert rows["datanode-2"].change == pytest.approx(8.0)


def by_hosts(path: Path, hosts: dict[str, float], seed: int = 6) -> CohortComparison:
    path.write_text(json.dumps(spans_of(hosts, seed)))
    found = trace_files.profile([path])
    compared = trace_work.with_cohorts(found, [path], "hosts", Reading()).compared
    assert compared is not None
    return compared


def test_the_host_whose_spans_differ_is_named(tmp_path):
    found = by_hosts(tmp_path / "trace.json", {"node-1": 1, "node-2": 1, "node-3": 4, "node-4": 1})
    slow = {str(row.path): row for row in found.rows if row.cohort == "node-3"}
    assert set(slow) == {"read", "read/disk"}
    assert slow["read/disk"].change == pytest.approx(3, rel=0.25)
    assert slow["read/disk"].count == 50
    assert slow["read/disk"].count_before == 150
    # Each host is compared with all other hosts. The slow host is one of the other hosts when a
    # host of normal speed is compared. Hosts of normal speed are therefore reported as faster.
    assert all(row.change < 0 for row in found.rows if row.cohort != "node-3")
    assert not [row for row in found.rows if str(row.path) == "read/copy"]
    assert found.tests == 4 * 3
    assert found.changes[CallPath.read("read/disk")] == pytest.approx(slow["read/disk"].change)


def test_equal_hosts_raise_no_alarm(tmp_path):
    equal = dict.fromkeys((f"node-{number}" for number in range(5)), 1.0)
    alarms = sum(bool(by_hosts(tmp_path / "trace.json", equal, seed).rows) for seed in range(20))
    assert alarms <= 3, "5 % of reports may have one"


def test_spans_of_one_host_are_one_line(tmp_path):
    with pytest.raises(InputError, match="two hosts"):
        by_hosts(tmp_path / "trace.json", {"node-1": 1.0})


@pytest.mark.parametrize(("kind", "said"), [("hosts", "two traced"), ("best", "must be one of")])
def test_cohorts_that_are_not_there_are_one_line(tmp_path, kind, said):
    paths = hosts(tmp_path, 100)
    with pytest.raises(InputError, match=said):
        trace_work.with_cohorts(trace_files.profile(paths), paths, kind, Reading())
