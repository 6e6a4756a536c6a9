"""Tests of runs of which a part failed. The output of such a run first states that the run is
incomplete. The exit code is 1. Every export of the results also states that they are incomplete."""

import csv
import io
import json

import pytest
from dfslab.documents.load_report import ErrorCount
from dfslab.documents.measured_load import MeasuredLoad
from dfslab.exports.contract import ResultExporter, exporters
from dfslab.spec.files.outputs import Output
from dfslab.studies.runs import completeness, csv_runs
from support import synthetic
from support.command import dfslab

SIZES, CLIENTS = ["64 KiB"], (1, 2)
REASON = "run.time_limit ended the workload run"


def cut_short(result):
    return result.model_copy(update={"complete": False, "notes": [REASON]})


@pytest.fixture
def results():
    """Provides planted results, of which the first one is incomplete because its run was cut
    short."""
    first, *others = synthetic.planted(sizes=SIZES, clients=CLIENTS, hold_out=())
    return [cut_short(first), *others]


@pytest.fixture
def given(tmp_path, results):
    """Provides a folder with a scenario and a table of its runs. One of the runs is incomplete."""
    scenario = synthetic.scenario(
        sizes=SIZES, clients=CLIENTS, methods=["measure", "mean"], hold_out=()
    )
    (tmp_path / "s.toml").write_text(scenario.toml())
    csv_runs.write(results, Output("-o", tmp_path / "runs.csv"))
    return tmp_path


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_a_run_says_so_first_and_exits_with_1(given, as_json):
    words = ("run", "s.toml", "--from", "runs.csv", *as_json)
    answer = dfslab(*words, cwd=given)
    assert answer.returncode == 1
    said = [line for line in answer.stderr.splitlines() if "incomplete: " in line]
    assert said[0].startswith("dfslab: incomplete: 1 of ")
    if as_json:
        (lacking,) = json.loads(answer.stdout)["incomplete"]
        assert lacking["method"] == "measure"
    allowed = dfslab(*words, "--fresh", "--allow-incomplete", cwd=given)
    assert (allowed.returncode, "incomplete: 1 of " in allowed.stderr) == (0, True)


def test_a_later_look_and_the_page_tell_it_too(given):
    assert dfslab("run", "s.toml", "--from", "runs.csv", cwd=given).returncode == 1
    (folder,) = (given / "runs" / "synthetic").glob("2*")
    compared = dfslab("compare", folder)
    assert compared.returncode == 1
    assert "incomplete: 1 of " in compared.stdout.replace("\n", " ")
    assert dfslab("compare", folder, "--allow-incomplete").returncode == 0
    assert dfslab("compare", folder, folder).returncode == 1
    assert "incomplete: 1 of " in (folder / "report.html").read_text()
    assert "Incomplete results" in dfslab("export", folder, "--as", "tables").stdout


def test_a_whole_run_says_nothing(tmp_path):
    whole = synthetic.planted(sizes=SIZES, clients=CLIENTS, hold_out=())
    assert completeness.warning(whole) == ""
    assert completeness.table(whole) is None
    assert b"complete" not in csv_runs.as_csv(whole)


def test_failed_operations_count_even_where_they_are_allowed(results):
    error = ErrorCount(operation="read", kind="other", count=1, first="EIO")
    failed = results[1].model_copy(update={"load": MeasuredLoad(wall_s=1.0, errors=[error])})
    assert not completeness.is_whole(failed)
    layer = {"run.layer": [{"kind": "fault", "share": 0.5}]}
    point = failed.point
    meant = point.model_copy(update={"scenario": point.scenario.with_overrides(layer)})
    assert completeness.is_whole(failed.model_copy(update={"point": meant}))


def test_predictions_that_fail_are_no_incomplete_measurements(results):
    predicted = cut_short(results[1]).model_copy(update={"method": "sequence"})
    assert completeness.incomplete([predicted]) == []


def test_a_table_of_runs_keeps_it(results, tmp_path):
    path = tmp_path / "runs.csv"
    csv_runs.write(results, Output("-o", path))
    read = csv_runs.read(path, synthetic.scenario(sizes=SIZES, clients=CLIENTS, hold_out=()))
    assert sum(not one.complete for one in read) == 1
    assert len(json.loads(path.with_suffix(".json").read_text())["incomplete"]) == 1


def test_every_metric_row_keeps_it_and_a_failure_has_a_row(results):
    failed = results[1].model_copy(update={"complete": False, "metrics": {}})
    write = exporters(ResultExporter)["csv"].write
    rows = list(csv.DictReader(io.StringIO(write([results[0], failed]).decode())))
    assert {row["complete"] for row in rows} == {"False"}
    assert rows[-1]["metric"] == "complete"


def test_prometheus_keeps_it(results):
    text = exporters(ResultExporter)["prometheus"].write(results).decode()
    values = [line.rpartition(" ")[2] for line in text.splitlines() if "dfslab_complete{" in line]
    assert sorted(values) == ["0"] + ["1"] * (len(results) - 1)
