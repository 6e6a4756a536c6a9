"""Tests that the recordings of real runs contain exactly the configurations that their scenarios
request."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import pytest
from dfslab.models.learn.encoding import layout_key
from dfslab.models.learnt import TrainingRows, rows_of
from dfslab.result import Result
from dfslab.spec.scenario import Scenario
from dfslab.studies.designs import design_plan
from dfslab.studies.designs.legal import legal
from dfslab.studies.server_law import server_law

from verification import recordings
from verification.experiments import EXPERIMENTS
from verification.figures import committed
from verification.reproductions import (
    dfsperf,
    kumar,
    kumar_blocks,
    kumar_copies,
    liu,
    liu_calls,
    wu,
    wu_locations,
    wu_scale,
)

WU = [(name, one) for name in wu.SCENARIOS for one in recordings.of_scenario(name)]
# Each recording of a scenario follows one of two plans (lists of configurations). The keys are the
# numbers of configurations in the plans, and each value is how many of them are held out. In the
# plan with 84 configurations, only the runs with eight clients had small files.
CONFIGURATIONS = {3 * 28: 44, 3 * 23: 37}
CALLS = {
    "wu-write": {"create/create", "write/addBlock", "close/complete"},
    "wu-read": {"open/getBlockLocations"},
}
NETS = {"net-reality": 16, "net-reality-local": 20}


@lru_cache(maxsize=1)
def studied() -> tuple[Scenario, list[Result], TrainingRows]:
    """Returns the recorded designed study of Kumar 2018: its scenario, its results, and the rows
    for training a regression."""
    results = recordings.runs(kumar.STUDY, kumar.STUDY)
    return recordings.scenario(kumar.STUDY), results, rows_of(results)


@pytest.mark.parametrize(("name", "recording"), WU)
def test_every_size_and_deployment_is_there_with_the_time_of_each_operation(name, recording):
    results = recordings.runs(name, recording)
    held_out = {result.point_id: result.point.held_out for result in results}
    assert len(held_out) == recordings.configurations(recording)
    assert sum(held_out.values()) == CONFIGURATIONS[len(held_out)]
    assert len(results) == 4 * len(held_out)
    assert len({result.labels["deployment.network.latency"] for result in results}) == 3
    for result in results:
        assert CALLS[name] <= {step.step for step in result.steps}


def test_every_recording_of_wu_is_there():
    """There are fifteen recordings of Wu's reads and writes. These recordings follow four plans
    (lists of configurations), which have 2, 2, 5 and 6 recordings."""
    assert len(WU) == 15
    plans = {
        plan: len(members)
        for name in wu.SCENARIOS
        for plan, members in recordings.plans(name).items()
    }
    assert sorted(plans.values()) == [2, 2, 5, 6]


def test_the_law_of_the_metadata_server_has_its_shares_and_clients():
    found = server_law(recordings.runs("wu-namenode", "wu-namenode"))
    each = [curve for curve in found.curves if curve.files == "each"]
    assert [curve.share for curve in each] == [0.15, 0.3, 0.6]
    assert all(curve.clients == [1, 2, 4, 8, 16, 32, 64, 128] for curve in each)
    constant = server_law(recordings.runs("wu-namenode", "wu-namenode-constant"))
    curves = [curve for curve in constant.curves if curve.files == "in all"]
    assert [curve.share for curve in curves] == [0.15, 0.3]
    for curve in curves:
        assert curve.clients == [4, 8, 16, 32, 64, 128]
        # Only four configurations are not held out, too few to choose a law with two parameters by
        # the corrected Akaike criterion (AICc).
        assert [fit.law for fit in curve.fits] == ["x ln x"]


def test_the_bursts_above_the_capacity_reach_p_max_at_two_shares():
    bursts = server_law(recordings.runs("wu-burst", "wu-burst")).bursts
    above = [one for one in bursts if one.regime == "fluid"]
    assert len(above) == 4
    at_p_max = [one for one in above if one.rate_per_s > 2.5 * one.capacity_per_s]
    assert {one.share for one in at_p_max} == {0.3, 0.6}


def test_the_design_of_the_scenario_gives_every_recorded_run_again():
    scenario, results, _ = studied()
    allowed = legal(scenario)
    requested = scenario.design
    testbeds = design_plan.choose(
        allowed, requested.kind, requested.testbeds, requested.per_testbed, scenario.run.seed
    )
    planned = {
        frozenset((k, str(v)) for k, v in allowed.values(row).items())
        for rows in testbeds
        for row in rows
    }
    found = {frozenset((k, str(v)) for k, v in result.labels.items()) for result in results}
    assert found <= planned
    assert len(planned) == requested.testbeds * requested.per_testbed


def test_the_recording_has_the_requested_runs_and_factors():
    scenario, results, rows = studied()
    assert len(rows.points) == 200
    assert len(results) >= 300
    assert len(scenario.design.factor) == 20
    assert len({layout_key(point) for point in rows.points}) >= 20


def test_every_experiment_with_figures_has_its_recordings():
    """No experiment with figures lacks its recordings. Without this test, missing recordings would
    not be noticed: tests that are parametrised by recordings would have no case and pass."""
    assert WU
    with_figures = {one.experiment: set() for one in committed()}
    for one in committed():
        with_figures[one.experiment].add(one.recording)
    for name, found in with_figures.items():
        assert found <= set(EXPERIMENTS[name].subjects()), name


REPEATED = (wu_locations, wu_scale, kumar_blocks, kumar_copies, dfsperf)


@pytest.mark.parametrize("recording", [one for every in REPEATED for one in every.subjects()])
def test_every_configuration_was_recorded_as_often_as_planned(recording):
    name = recordings.scenario_of(recording)
    planned = recordings.scenario(name)
    counts = Counter(run.point_id for run in recordings.runs(name, recording))
    assert counts == {point.id: planned.run.repetitions for point in planned.points()}


def test_locations_and_attributes_are_asked_by_the_same_clients():
    found = server_law(recordings.runs("wu-locations", "wu-locations"))
    clients = {curve.operation: curve.clients for curve in found.curves if curve.files == "each"}
    assert clients == {"open": [1, 4, 8, 16], "stat": [1, 4, 8, 16]}


def as_opens(run: Result) -> Result:
    """Returns a copy of the result of a run of stat. In the copy, the operation is open and every
    metric has half its value."""
    scenario = run.point.scenario.with_values({"workload.operation": "open"})
    halved = {
        name.replace("stat", "open"): one.model_copy(update={"value": one.value / 2})
        for name, one in run.metrics.items()
    }
    point = run.point.model_copy(update={"scenario": scenario})
    return run.model_copy(update={"point": point, "metrics": halved})


def test_ratios_of_two_operations_are_those_of_the_locations():
    stats = recordings.runs("wu-namenode", "wu-namenode")
    opens = [as_opens(run) for run in stats]
    alone, both = server_law(opens), server_law([*stats, *opens])
    assert len(both.curves) == 2 * len(alone.curves)
    assert both.ratios == alone.ratios
    assert both.ratios[0].k_ms != server_law(stats).ratios[0].k_ms


def wrong_calls(recording: str) -> list[str]:
    """Returns one text for each problem of a recording of function calls. Problems are: the
    recording has no configuration; it has a configuration that the scenario does not plan; a
    configuration lacks the function that every program calls. A missing job is no problem, because
    jobs of some sizes took too long to record; docs/liu.md names them."""
    planned = recordings.scenario(recordings.scenario_of(recording)).points()
    labels = {tuple(map(str, one.labels.values())) for one in planned}
    found = liu_calls.calls(recording)
    wrong = [] if found else ["no configuration"]
    wrong += [f"{one}: not planned" for one in found if one not in labels]
    return wrong + [f"{one}: no file system" for one in found if liu_calls.CREATE not in found[one]]


def test_every_recorded_job_size_and_frequency_is_planned():
    assert {one: wrong_calls(one) for one in liu_calls.subjects() if wrong_calls(one)} == {}


@pytest.mark.parametrize(
    ("rows", "problems"),
    [
        ([("tiny", "sort", liu_calls.CREATE)], []),
        ([], ["no configuration"]),
        ([("vast", "sort", liu_calls.CREATE)], ["('vast', 'sort'): not planned"]),
        ([("tiny", "sort", liu_calls.CLOSE)], ["('tiny', 'sort'): no file system"]),
    ],
)
def test_the_check_of_recorded_calls_can_fail(tmp_path, monkeypatch, rows, problems):
    recording = f"{liu_calls.JOBS}-planted-{len(rows)}-{'-'.join(problems)}"
    path = tmp_path / "planted.csv"
    head = "size,job,function,calls,sum_s,mean_s,p99_s,took_s"
    path.write_text("\n".join([head, *(",".join((*row, "1,1,1,1,1")) for row in rows)]) + "\n")
    monkeypatch.setattr(recordings, "path_of", lambda name: path)
    assert wrong_calls(recording) == problems


def test_ten_rounds_slow_each_kind_of_part():
    rows = liu.rounds("liu-interventions")
    assert len(rows) == 10
    assert {row["part"].partition(": ")[2] for row in rows} == {"disk", "link", "processor"}


@pytest.mark.parametrize("name", NETS)
def test_the_nets_have_every_configuration_and_what_was_held_out(name):
    planned = {point.id for point in recordings.scenario(name).points()}
    runs = recordings.runs(name, name)
    assert {run.point_id for run in runs} == planned
    assert len({run.point_id for run in runs if run.point.held_out}) == NETS[name]
