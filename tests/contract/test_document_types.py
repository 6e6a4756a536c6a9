"""Tests of the types of stored documents. The Python types equal the Rust types, and documents of
earlier versions can still be read."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from dfslab import _core
from dfslab.documents import former, metrics
from dfslab.documents.load_report import LoadReport
from dfslab.documents.net_definition import NetDefinition
from dfslab.documents.net_report import RunReport
from dfslab.documents.net_run import CountMonitor, LogMonitor, MarkingMonitor, SojournMonitor
from dfslab.documents.nets.named_net_report import net_reports
from dfslab.documents.traces.plain import plain, plain_trees
from dfslab.documents.traces.trace_profile import TraceProfile, TreeNode
from dfslab.nets import engine
from dfslab.result import Result
from dfslab.studies.runs import store
from support.recorded import RUN

ROOT = Path(__file__).resolve().parents[2]


def generator():
    """Imports scripts/document_types.py, the script that generates Python types from JSON
    Schemas."""
    spec = importlib.util.spec_from_file_location("t", ROOT / "scripts" / "document_types.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_types_are_those_of_the_schemas():
    """The committed modules equal the output of `python scripts/document_types.py`."""
    texts = generator().modules()
    assert len(texts) == 6
    for path, text in texts.items():
        assert path.read_text(encoding="utf-8") == text, path.name


def test_a_struct_that_no_type_stands_for_is_refused():
    with pytest.raises(ValueError, match="no type for"):
        generator().python_type({"oneOf": [{"type": "string"}]})


def test_a_real_report_is_read_without_a_field_lost():
    plan = {
        "stream": {
            "seed": 1,
            "clients": 2,
            "operations_per_client": 20,
            "files_per_client": 2,
            "mix": [{"operation": "read"}],
            "file_size": {"fixed": 4096},
            "transfer_size_bytes": 4096,
        },
        "target": {"kind": "null"},
        "run_directory": "x",
    }
    reported = json.loads(_core.run_load(json.dumps(plan))[0])
    report = LoadReport.model_validate(reported)
    assert report.model_dump(mode="json", exclude_unset=True) == reported
    assert report.operations["read"].count == 40


def test_the_deepest_tree_is_read_and_written():
    """A call tree of 200 levels, the most that the Rust core accepts, is unchanged when Python
    reads the tree and writes it again."""
    leaf = {
        **{name: 0 for name, one in TreeNode.model_fields.items() if one.is_required()},
        **{"name": "n", "kind": "service", "again": False, "times": None},
        **{"of": {}, "exemplars": [], "children": []},
    }
    tree = leaf
    for _ in range(200):
        tree = {**leaf, "children": [tree]}
    found = TreeNode.model_validate(tree)
    assert json.loads(found.model_dump_json(exclude_unset=True)) == tree
    assert plain_trees([found]) == [tree]


def test_stored_results_of_before_parts_had_types_are_read():
    results = RUN / "results"
    stored = {path.stem: json.loads(path.read_text("utf-8")) for path in results.glob("*.json")}
    assert len(stored) == 48
    assert all(former.FORMER in one for one in stored.values())
    found = {f"{r.method}-{r.point_id}-{r.repetition}": r for r in store.load_results(RUN)}
    assert found.keys() == stored.keys()
    for name, one in stored.items():
        detail, result = one["detail"], found[name]
        assert (result.load is not None) == ("wall_s" in detail)
        assert (result.profile is not None) == ("profile" in detail)
        assert (result.fit is not None) == ("constants" in detail)
        assert (result.regression is not None) == ("coefficients" in detail)
        if result.load is not None:
            load = result.load.model_dump(mode="json")
            for key in load.keys() & detail.keys() - {"cache"}:
                assert load[key] == (detail[key] if detail[key] is not None else load[key]), key
            assert load["cache"] == {**detail["cache"], "disks": None}
        if isinstance(result.profile, TraceProfile):
            assert plain(result.profile) == detail["profile"]


def test_a_result_is_read_as_it_was_stored():
    for result in store.load_results(RUN):
        document = json.loads(result.model_dump_json())
        assert former.FORMER not in document
        assert former.current(document) == document
        assert Result.model_validate(document) == result


def test_results_with_former_keys_are_read():
    """Earlier versions stored `bottleneck` as `binding`, and the `requested_bytes` of disk reads as
    `asked_bytes`. Results of these versions are read, and written again with the present keys."""
    (result, *_) = (one for one in store.load_results(RUN) if one.load is not None)
    document = json.loads(result.model_dump_json())
    del document["bottleneck"]
    document["binding"] = "server.disk"
    document["load"]["cache"]["disks"] = {"asked_bytes": 4096, "read_bytes": 2048}
    found = Result.model_validate(document)
    assert found.bottleneck == "server.disk"
    assert found.load.cache.disks.requested_bytes == 4096
    assert json.loads(found.model_dump_json())["bottleneck"] == "server.disk"


@pytest.mark.parametrize(
    ("calls", "phases", "reason"),
    [
        ({"not_counted": "no strace"}, 0, "no strace"),
        ({"phases": [None, None]}, 2, ""),
        (None, 1, ""),
    ],
)
def test_calls_counted_before_are_read_in_each_of_their_three_forms(calls, phases, reason):
    one = {
        "operations": 200,
        "system_calls": {"openat": 1.0},
        "system_calls_per_operation": 1.0,
        "server_calls": None,
        "server_calls_per_operation": None,
    }
    reported = calls or one
    if "phases" in reported:
        reported = {"phases": [one, one]}
    (load,) = (former.current({"detail": {"wall_s": 1.0, "calls": reported}})["load"],)
    assert (len(load.calls.phases), load.calls.not_counted) == (phases, reason)
    assert (load.calls.whole is None) == (phases != 1)


def test_a_key_is_made_and_taken_apart():
    key = metrics.key(metrics.LATENCY, "p99", "read")
    assert key == "latency_s_p99.read"
    assert metrics.parsed(key) == metrics.MetricKey("latency_s_p99", "read")
    assert str(metrics.parsed(metrics.RATE)) == metrics.RATE
    assert metrics.parsed(key).name in metrics.REGISTRY
    keys = [metrics.RATE, key, "latency_s_mean.stat", "latency_s_mean.read"]
    assert metrics.operations_with(keys, metrics.LATENCY) == ["stat", "read"]


def test_every_metric_of_every_method_is_registered():
    for result in store.load_results(RUN):
        for key in result.metrics:
            named = metrics.parsed(key)
            kind = metrics.REGISTRY[named.name]
            assert kind.of_operation == bool(named.operation), key
            assert kind.unit in ("/s", "B/s", "s")


NET = {
    "name": "queue",
    "colours": {"job": [["id", "int"]], "unit": []},
    "places": [
        {"name": "wait", "colour": "job", "initial": [[3], [1], [2]]},
        {"name": "server", "colour": "unit", "initial": [[]]},
        {"name": "end", "colour": "job"},
    ],
    "transitions": [
        {
            "name": "serve",
            "in": [{"place": "wait", "var": "j"}, {"place": "server"}],
            "out": [{"place": "end", "token": "j"}, {"place": "server"}],
        }
    ],
}
MONITORS = {
    "served": CountMonitor(transition="serve"),
    "waiting": MarkingMonitor(place="wait"),
    "order": LogMonitor(transition="serve", fields=["j.id"]),
    "stays": SojournMonitor(from_="serve", to="serve", key="1"),
}


@pytest.mark.parametrize("turn", range(4))
def test_monitors_of_a_net_are_read_by_name_in_whatever_order(turn):
    names = [*list(MONITORS)[turn:], *list(MONITORS)[:turn]]
    net = NetDefinition.model_validate(NET)
    (report,) = engine.run(net, {name: MONITORS[name] for name in names})
    assert report.firings == 3
    assert report.counts["served"].count == 3
    assert (report.markings["waiting"].most, report.markings["waiting"].last) == (3, 0)
    assert [values for _, values in report.logs["order"].rows] == [[3], [1], [2]]
    assert report.sojourns["stays"].count == 2
    run = RunReport(net="queue", seed=0, replications=[report])
    with pytest.raises(ValueError, match="4 monitors reported, 3 requested"):
        net_reports(run, names[1:])
    with pytest.raises(ValueError, match="one name"):
        net_reports(run, ["x"] * 4)


def test_a_real_report_of_a_net_is_read_without_a_field_lost():
    options = {
        "laws": True,
        "monitors": [one.model_dump(by_alias=True, exclude_none=True) for one in MONITORS.values()],
    }
    reported = json.loads(_core.net_run(json.dumps(NET), json.dumps(options)))
    report = RunReport.model_validate(reported)
    assert report.model_dump(mode="json", exclude_unset=True) == reported
    assert report.replications[0].reason == "dead"


def test_a_report_with_a_kind_of_monitor_that_no_type_stands_for_is_refused():
    reported = json.loads(_core.net_run(json.dumps(NET), "{}"))
    reported["replications"][0]["monitors"] = [{"kind": "other"}]
    with pytest.raises(ValueError, match="tag 'other'"):
        RunReport.model_validate(reported)
