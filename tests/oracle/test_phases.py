"""Tests that the phases of a workload are predicted one after the other. Each prediction is
compared with that of a workload of one phase that does the same work."""

import pytest
from dfslab.models.petri import PetriModel
from dfslab.models.sequence import SequenceModel
from dfslab.report.answers.phase_rates import phases_of
from dfslab.report.answers.rates import rate_table
from dfslab.result import Result
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario

GLUSTERFS = {
    "schema": 1,
    "name": "phases",
    "title": "Phases",
    "deployment": {
        "node": [
            {
                "name": "server",
                "count": 3,
                "roles": {"brick": 1},
                "disk": {"read_rate": "80 MiB/s", "write_rate": "80 MiB/s", "latency": "0 s"},
                "adapter": {"bandwidth": "400 Mbit/s"},
            },
            {
                "name": "client",
                "count": 2,
                "roles": {"client": 1},
                "adapter": {"bandwidth": "400 Mbit/s"},
            },
        ],
        "network": {"latency": "300 us"},
    },
    "file_system": {"name": "glusterfs", "copies": 3},
    "run": {"methods": ["sequence"]},
}


def predicted(model: SequenceModel | PetriModel, name: str, **workload: object) -> Result:
    """Returns the prediction by `model` for the workload `name` on GlusterFS. Keys in `workload`
    replace or supplement the defaults: four clients, files of 64 MiB, calls of 1 MiB, cold caches.
    """
    given = {
        "name": name,
        "clients": 4,
        "cache": "cold",
        "file_size": "64 MiB",
        "transfer_size": "1 MiB",
        **workload,
    }
    scenario = build(Scenario, {**GLUSTERFS, "workload": given}, "")
    return model.run(scenario.points()[0])


def test_each_phase_has_the_rate_of_the_same_work_alone():
    # IOR "easy": each client writes a file with fsync, then reads the file of its neighbour.
    model = SequenceModel()
    both = predicted(model, "ior_easy")
    write = predicted(model, "sequential_write", fsync=True, operations_per_client=1)
    read = predicted(model, "sequential_read", operations_per_client=1)
    rates = {one.name: one.rate_per_s for one in both.phases}
    assert rates["write"] == pytest.approx(write.value(), rel=0.02)
    assert rates["read"] == pytest.approx(read.value(), rel=0.02)


@pytest.mark.parametrize("name", ["ior_easy", "mdtest_easy", "nnbench", "iozone"])
def test_the_times_of_phases_add_up(name):
    # Every phase of these workloads has the same number of operations, so the time of a phase is
    # proportional to 1 / rate.
    found = predicted(SequenceModel(), name)
    time_s = sum(1 / one.rate_per_s for one in found.phases)
    assert len(found.phases) > 1
    assert found.value() == pytest.approx(len(found.phases) / time_s)


def test_a_simulated_phase_has_the_rate_of_the_same_work_alone():
    model = PetriModel()
    both = predicted(model, "mdtest_easy", file_size="64 KiB", operations_per_client=20)
    stat = predicted(model, "metadata", operation="stat", operations_per_client=20)
    rates = {one.name: one.rate_per_s for one in both.phases}
    # Both rates come from simulations with random service times, so they agree only within the
    # errors of simulation.
    assert rates["stat"] == pytest.approx(stat.value(), rel=0.1)
    assert set(rates) == {"create", "stat", "remove"}
    # The interval of the whole rate includes the error of the simulation. The interval of a phase's
    # rate has the same ratio of upper end to rate as the interval of the whole rate.
    whole = both.metrics["rate_per_s"]
    for one in both.phases:
        assert one.rate_per_s_high / one.rate_per_s == pytest.approx(whole.high / whole.value)


def test_a_phase_that_moves_no_bytes_has_no_throughput():
    found = predicted(SequenceModel(), "mdtest_easy", file_size="64 KiB")
    create, stat, _ = found.phases
    assert create.throughput_bytes_per_s == pytest.approx(create.rate_per_s * 65536)
    assert stat.throughput_bytes_per_s == 0
    # Only a third of all operations (the creates) transfer the content of a file, which has 64 KiB.
    moved = found.metrics["throughput_bytes_per_s"].value
    assert moved == pytest.approx(found.value() * 65536 / 3)


def test_a_workload_without_bytes_has_no_throughput():
    found = predicted(SequenceModel(), "metadata", operation="stat")
    assert "throughput_bytes_per_s" not in found.metrics
    assert found.phases == []


def test_a_percentile_over_several_phases_is_withheld():
    found = predicted(SequenceModel(), "iozone", tests=["write", "read", "random_read"])
    assert [one.name for one in found.phases] == ["write", "read", "random_read"]
    assert "latency_s_p99.write" in found.metrics
    assert "latency_s_mean.read" in found.metrics
    assert "latency_s_p99.read" not in found.metrics


def test_the_table_has_a_line_for_each_phase_but_the_last_barrier():
    found = predicted(SequenceModel(), "ior_easy")
    assert [one.name for one in phases_of([found])] == ["write", "read"]
    lines = [row[0].text for row in rate_table([found], "").rows]
    assert lines[1:] == ["  phase write", "  phase read"]
