"""Tests that results from a table of runs can replace measurements. Nothing is measured. The
results are compared with predictions and plotted like measured results."""

from __future__ import annotations

import io
import json

import pytest
from dfslab.cli.root import app
from dfslab.documents.measured_load import MeasuredLoad, OperationCounts
from dfslab.instruments import access
from dfslab.models.fit.step_functions import fit
from dfslab.report import run_document
from dfslab.report.terminal import drawn
from dfslab.result import Metric, Result, Step, provenance
from dfslab.spec.files.outputs import Output
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.studies.runs import csv_runs
from rich.console import Console
from support import synthetic
from support.network_waits import waited_s
from typer.testing import CliRunner

SIZES = ["1 MiB", "2 MiB", "4 MiB", "8 MiB"]


def scenario(**workload):
    nodes = [
        {"name": "master", "roles": {"namenode": 1}},
        {"name": "server", "count": 3, "roles": {"datanode": 1}},
        {"name": "client", "roles": {"client": 1}},
    ]
    return build(
        Scenario,
        {
            "name": "recorded",
            "deployment": {"node": nodes},
            "file_system": {"name": "hdfs", "access": {"testbed": True}},
            "workload": {"name": "sequential_write", **workload},
            "run": {"methods": ["measure", "sequence", "mean"], "repetitions": 1},
            "sweep": [{"workload.file_size": SIZES}],
            "judge": {"hold_out": [{"workload.file_size": "4 MiB"}], "folds": 2},
        },
    )


def run_of(point, repetition):
    """Returns an artificial measurement with known times. An operation on s MiB takes (5 + 20 s)
    ms. Each further repetition takes 1 % more. The step `create` takes 1 ms of this time, `close`
    takes 2 ms, and `write` takes the remaining time."""
    size = int(point.labels["workload.file_size"].split()[0])
    time = (0.005 + 0.02 * size) * (1 + 0.01 * repetition)
    metrics = {"rate_per_s": Metric(value=1 / time), "latency_s_mean.write": Metric(value=time)}
    steps = [
        Step(operation="write", step="create", time_s_mean=0.001, count=9),
        Step(operation="write", step="write", time_s_mean=time - 0.003, count=9),
        Step(operation="write", step="close", time_s_mean=0.002, count=9),
    ]
    return Result(
        method="measure",
        point_id=point.id,
        point=point,
        repetition=repetition,
        metrics=metrics,
        steps=steps,
        provenance=provenance(1),
        load=MeasuredLoad(wall_s=9 * time, operations={"write": OperationCounts(count=9)}),
    )


@pytest.fixture
def recorded(tmp_path):
    """Writes a scenario file and a table of its runs. The table has two repetitions, but the last
    run is missing. Returns the folder with both files."""
    results = [run_of(point, n) for n in range(2) for point in scenario().points()][:-1]
    csv_runs.write(results, Output("-o", tmp_path / "runs.csv"))
    (tmp_path / "recorded.toml").write_text(scenario().toml())
    return tmp_path


def test_recorded_runs_are_compared_without_a_testbed(recorded, monkeypatch):
    def never(*_):
        raise AssertionError("nothing is measured")

    monkeypatch.setattr(access.InstrumentSession, "reach", never)
    file, data, out = (str(recorded / name) for name in ("recorded.toml", "runs.csv", "out"))
    said = CliRunner().invoke(
        app, ["run", file, "--from", data, "--out", out, "--json", "--allow-incomplete"]
    )
    assert said.exit_code == 0, said.output
    found = json.loads(said.stdout)
    assert found["held_out"]["sequence"]["n"] == 1
    assert [row["repetitions"] for row in found["points"]] == [2, 2, 2, 1]
    assert found["notes"][0].endswith(
        "the configuration has fewer recorded repetitions than others"
    )
    page = (recorded / "out" / "recorded" / "latest" / "report.html").read_text()
    assert "Operations by size and count" in page


def latencies(latency):
    return scenario().with_values({"deployment.network.latency": f"{latency!r} s"})


@pytest.mark.parametrize(
    ("blocks", "requested", "trips"),
    [(1, 64, 1), (16, 64, 1), (32, 64, 2), (64, 64, 3), (64, 10, 1)],
)
def test_locations_of_many_blocks_arrive_in_windows(blocks, requested, trips):
    """The locations of the blocks of a large file may not fit into one congestion window. The
    answer with the locations then takes additional round trips.

    The location of a block takes about 690 bytes. A new connection has a window of 14,480 bytes,
    which holds 16 locations but not 32.
    """
    given = scenario(name="sequential_read").with_values(
        {
            "deployment.network.latency": "1 ms",
            "file_system.block_size": "1 MiB",
            "file_system.prefetch_blocks": requested,
            "workload.file_size": f"{blocks} MiB",
        }
    )
    found = waited_s(given, "read", "open/getBlockLocations")
    assert found == pytest.approx(trips * 2e-3, rel=0.02)


def test_a_call_crosses_the_network_twice_and_functions_know_it():
    given = latencies(1e-3)
    assert waited_s(given, "create", "close") == pytest.approx(2e-3, rel=0.01)
    assert waited_s(given, "create", "nothing of the kind") == 0
    results = []
    # The function is fitted to noisy measurements at two short latencies. The network waits at
    # these latencies differ by less than the noise.
    for number, (latency, noise) in enumerate([(5e-5, 1.3), (2e-4, 0.8)] * 3):
        one = scenario(clients=number + 1).with_values(
            {"deployment.network.latency": f"{latency!r} s", "workload.file_size": "1 MiB"}
        )
        (point,) = one.points()
        time = noise * (1e-3 + waited_s(one, "write", "close"))
        step = Step(operation="write", step="close", time_s_mean=time, count=9)
        results.append(
            run_of(
                point.model_copy(update={"labels": {"workload.file_size": "1 MiB"}}), 0
            ).model_copy(update={"steps": [step]})
        )
    (function,) = fit(results, only=("1", "network latency"))
    at_given = waited_s(given, "write", "close")
    assert at_given > 5e-3, "two crossings of a call, and what is on the way of a block's end"
    assert function.time_s(given)[0] == pytest.approx(1e-3 + at_given, rel=0.15)
    assert function.text.startswith("latency of the network")
    (flat,) = fit(results, only=("1",))
    assert flat.time_s(given)[0] < 0.5 * function.time_s(given)[0]


@pytest.mark.parametrize(("rate", "full"), [("100 /s", False), ("1000000 /s", True)])
def test_an_open_load_is_predicted_from_the_command_line(tmp_path, rate, full):
    requested = scenario().model_dump(mode="json")
    requested["workload"] = {
        "name": "metadata",
        "operation": "stat",
        "arrival": "poisson",
        "rate": rate,
    }
    requested["file_system"] |= {"handler_count": 2, "call_queue": 5}
    requested["sweep"], requested["judge"] = [], {}
    # Eight client nodes are enough to make the NameNode the bottleneck.
    requested["deployment"]["node"][2]["count"] = 8
    # The scenario's methods include `mean`, which cannot predict open workloads. The command line
    # replaces these methods.
    requested["run"]["methods"] = ["measure", "mean", "sequence"]
    (tmp_path / "open.toml").write_text(build(Scenario, requested).toml())
    said = CliRunner().invoke(
        app, ["predict", str(tmp_path / "open.toml"), "--method", "sequence", "--json"]
    )
    assert said.exit_code == 0, said.output
    (found,) = json.loads(said.stdout)
    reported, response = found["open_load"], found["metrics"]["response_s_mean.stat"]
    assert 0 < response["low"] < response["value"] < response["high"]
    assert reported["call_queue"] == 10
    if not full:
        assert found["metrics"]["rate_per_s"]["value"] == pytest.approx(100)
        assert reported["refused"] < 1e-6
        return
    # The NameNode's queue has ten places, so an admitted call waits for at most ten other calls.
    assert found["metrics"]["rate_per_s"]["value"] == pytest.approx(reported["largest_rate_per_s"])
    assert reported["refused"] > 0.95
    assert response["value"] < 30 / reported["largest_rate_per_s"] + 1e-3
    assert any("call queue" in note for note in found["notes"])


def test_a_method_that_nobody_has_is_the_command_lines_own_mistake(tmp_path):
    (tmp_path / "given.toml").write_text(scenario().toml())
    said = CliRunner().invoke(app, ["predict", str(tmp_path / "given.toml"), "--method", "sequenc"])
    assert said.exit_code != 0
    assert "--method = 'sequenc': unknown" in str(said.exception)


@pytest.mark.parametrize("form", ["page", "csv", "tables"])
def test_a_form_goes_into_a_folder_that_is_there(kept_run, tmp_path, form):
    words = ["report", str(kept_run), "--as", form, "--output", str(tmp_path / "none" / "file")]
    said = CliRunner().invoke(app, words)
    assert "--output" in str(said.exception)
    assert "its directory does not exist" in str(said.exception)


def test_another_programs_form_is_no_json(kept_run):
    said = CliRunner().invoke(app, ["report", str(kept_run), "--as", "csv", "--json"])
    assert "--json" in str(said.exception)


def test_no_number_is_broken_at_80_columns(tmp_path):
    """At 80 columns, every rate with its interval is printed as in a wide table, without line
    breaks."""
    shown = [
        synthetic.predicted(point, 1e6, 123_456.0, 7_654_321.0, "sequence")
        for point in scenario().points()
    ]
    narrow = Console(width=80, file=io.StringIO())
    narrow.print(drawn(run_document.result_table(shown)))
    text = narrow.file.getvalue()
    assert max(len(line) for line in text.splitlines()) <= 80
    assert text.count("(123,456–7,654,321)") == len(shown)
    assert "Predictions by sequence (90 % interval)" in text
