"""Tests that every discovered exporter is an instance of the right class, declares a file suffix,
and writes a document as bytes."""

from __future__ import annotations

import json
import re
import sys

import pytest
from dfslab import discover
from dfslab.cli import commands_work
from dfslab.cli.traces import trace_work
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.exports import contract
from dfslab.exports.contract import DescriptionExporter, ResultExporter, RunExporter, TraceExporter
from dfslab.report.diagrams.uml import uml
from dfslab.spec.files.outputs import Output
from dfslab.spec.input_error import InputError
from dfslab.spec.members.member_error import MemberValueError
from dfslab.studies.contract import FinishedRun
from dfslab.studies.runs import store
from support import synthetic
from support.profiles import tree_node, tree_profile

NAMES = list(discover.members(discover.EXPORTERS))
KINDS = (ResultExporter, RunExporter, TraceExporter, DescriptionExporter)
OF_RESULTS = sorted(contract.exporters(ResultExporter))
OF_TREES = sorted(k for k, one in contract.exporters(TraceExporter).items() if one.write)


def deep(levels: int) -> TraceProfile:
    """Returns a trace profile of one call tree, whose leaf is `levels` levels below the top."""
    tree = tree_node("leaf", self_ns=7)
    for level in range(levels):
        tree = tree_node(f"level {level}", tree, self_ns=3)
    return tree_profile(tree)


def test_every_exporter_is_there():
    assert set(NAMES) >= {"csv", "parquet", "prometheus", "fio", "tables", "runs"}
    assert set(NAMES) >= {"speedscope", "chrome", "pprof", "otlp", "xmi"}
    every = [set(contract.exporters(kind)) for kind in KINDS]
    assert sorted(name for names in every for name in names) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_exporter_says_what_it_writes(name):
    exporter = contract.exporter(name)
    assert isinstance(exporter, KINDS)
    assert re.fullmatch(r"(\.[a-z]+)+", exporter.suffix)
    assert exporter.title == discover.title(discover.members(discover.EXPORTERS)[name])


@pytest.mark.parametrize("name", OF_RESULTS)
def test_results_become_the_same_bytes_each_time(name, kept_run):
    exporter = contract.exporters(ResultExporter)[name]
    results = [one for one in store.results_of(kept_run) if one.method == "measure"]
    document = exporter.write(results)
    assert isinstance(document, bytes)
    assert document == exporter.write(results)
    assert document != exporter.write(results[:1])


@pytest.mark.parametrize("name", OF_RESULTS)
def test_a_run_without_results_is_borne(name):
    assert isinstance(contract.exporters(ResultExporter)[name].write([]), bytes)


@pytest.mark.parametrize("name", sorted(contract.exporters(RunExporter)))
def test_a_run_without_findings_is_borne(name):
    run = FinishedRun(synthetic.scenario(), [])
    assert isinstance(contract.exporters(RunExporter)[name].write(run), bytes)


@pytest.mark.parametrize("name", OF_TREES)
def test_trees_of_any_depth_become_bytes(name):
    write = contract.exporters(TraceExporter)[name].write
    # The tree is deeper than Python's limit of nested calls (about a thousand), so an exporter that
    # recurses would fail.
    document = write(deep(sys.getrecursionlimit() + 1))
    assert len(document) > len(write(deep(1)))
    assert write(deep(1)) == write(deep(1)) != write(deep(0))


@pytest.mark.parametrize("name", sorted(contract.exporters(DescriptionExporter)))
def test_every_description_becomes_a_document(name):
    write = contract.exporters(DescriptionExporter)[name].write
    documents = {
        write(uml(system, list(system.operations)))
        for system in map(discover.file_system, discover.members(discover.FILE_SYSTEMS))
    }
    assert len(documents) == len(discover.members(discover.FILE_SYSTEMS))


def test_the_commands_offer_what_discovery_finds(tmp_path):
    with pytest.raises(InputError) as refused:
        commands_work.export(tmp_path, "poem", None)
    assert refused.value.allowed.endswith("; `dfslab report` writes the page")
    allowed = refused.value.allowed.removeprefix("must be one of ").partition(";")[0].split(", ")
    known = {**contract.exporters(ResultExporter), **contract.exporters(RunExporter)}
    assert allowed == sorted(known)
    with pytest.raises(InputError) as refused:
        trace_work.chosen("poem")
    allowed = refused.value.allowed.removeprefix("must be one of ").split(", ")
    assert allowed == sorted(contract.exporters(TraceExporter))


def test_a_companion_goes_where_its_file_goes(kept_run, tmp_path):
    commands_work.export(kept_run, "runs", Output("-o", tmp_path / "table.csv"))
    document = (tmp_path / "table.csv").read_bytes()
    about = json.loads((tmp_path / "table.json").read_text())
    assert about["rows"] == len(document.splitlines()) - 1
    commands_work.export(kept_run, "csv", Output("-o", tmp_path / "plain.csv"))
    assert not (tmp_path / "plain.json").exists()


def test_a_trace_exporter_that_writes_nothing_is_refused():
    with pytest.raises(MemberValueError, match="needs write"):
        TraceExporter("Nothing", ".txt")
