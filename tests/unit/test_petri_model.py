"""Tests of the method `petri`, which predicts by simulating a Petri net. The tests cover intervals,
step times, determinism and the fit of the constants. Further tests cover predictions that simulate
only the beginning of a long stream."""

from __future__ import annotations

import numpy as np
import pytest
from dfslab.method import RunFailed
from dfslab.models import petri
from dfslab.models.compiled.token_flow import Arc, TokenFlow, main, type_of
from dfslab.models.phase_stream import streams
from dfslab.models.tree.prediction import Situation
from dfslab.result import Metric, Result, provenance
from dfslab.spec.model import build
from dfslab.spec.scenario import Point, Scenario

SERVERS = [
    {"name": "client", "cores": 4, "roles": {"client": 1}, "adapter": {"bandwidth": "1 Gbit/s"}},
    {"name": "master", "cores": 2, "roles": {"namenode": 1}},
    {"name": "worker", "count": 3, "cores": 2, "roles": {"datanode": 1}},
]
MEASURED = (1, 2, 4, 8, 16)


def point(name="metadata", clients=4, nodes=SERVERS, system="hdfs", **keys):
    workload = {"name": name, "clients": clients, "operations_per_client": 30, **keys}
    scenario = build(
        Scenario,
        {
            "name": "model",
            "deployment": {"node": nodes},
            "file_system": {"name": system},
            "workload": workload,
            "run": {"seed": 5},
        },
    )
    return Point(scenario=scenario, labels={"workload.clients": clients})


def measured(clients, factor):
    """Returns a measurement with `clients` clients. The measured rate is `factor` times the rate
    that the sequence model predicts with prior constants."""
    here = point(clients=clients, operation="stat")
    situation = Situation(here.scenario)
    rate = situation.predict(situation.constants).rate_per_s * factor
    return Result(
        method="measure",
        point_id=here.id,
        point=here,
        metrics={"rate_per_s": Metric(value=rate)},
        provenance=provenance(5),
    )


@pytest.mark.parametrize("name", ["sequential_write", "sequential_read", "mixture", "metadata"])
def test_a_prediction_has_intervals_steps_and_utilisation(name):
    result = petri.make("petri").run(point(name))
    latencies = [metric for metric in result.metrics if metric.startswith("latency_s_mean.")]
    assert len(latencies) == (2 if name == "mixture" else 1)
    for metric in result.metrics.values():
        assert 0 < metric.low < metric.value < metric.high
    assert all(step.time_s_mean > 0 for step in result.steps)
    assert 0 < max(result.utilisation.values()) <= 1 + 1e-9
    assert result.bottleneck
    assert any("not calibrated" in note for note in result.notes)


def test_littles_law_holds_for_what_is_reported():
    here = point("sequential_read", clients=8, operations_per_client=100)
    result = petri.make("petri").run(here)
    inside = result.value("rate_per_s") * result.value("latency_s_mean.read")
    # By Little's law, the product of rate and latency is the mean number of active clients. The
    # product is slightly less than eight, because the clients do not all end at the same time.
    assert 0.93 * 8 <= inside <= 8 * 1.001


def test_the_same_seed_gives_the_same_metrics_and_another_does_not():
    first = petri.make("petri").run(point(operation="create"))
    again = petri.make("petri").run(point(operation="create"))
    assert again.metrics == first.metrics
    here = point(operation="create")
    other = Point(scenario=here.scenario.with_overrides({"run.seed": 6}), labels={})
    assert petri.make("petri").run(other).metrics != first.metrics


def test_fit_learns_the_models_own_residuals():
    model = petri.make("petri").fit([measured(clients, 1.0) for clients in MEASURED])
    near = model.run(point(operation="stat")).metrics["rate_per_s"]
    noisy = petri.make("petri").fit(
        [measured(clients, factor) for clients, factor in zip(MEASURED, (2, 0.5) * 3, strict=False)]
    )
    far = noisy.run(point(operation="stat")).metrics["rate_per_s"]
    assert far.high / far.low > near.high / near.low
    assert near.low < measured(4, 1.0).value() < near.high


def test_fit_without_measurements_is_refused():
    with pytest.raises(RunFailed, match="nothing to calibrate on"):
        petri.make("petri").fit([])


def test_a_long_stream_is_simulated_by_its_prefix():
    here = point(operation="stat", operations_per_client=20_000)
    situation = Situation(here.scenario)
    found = petri.simulate(situation, situation.constants, firings=20_000)
    assert found.operations < found.offered == 20_000
    assert found.firings < 4 * 40_000
    spec = petri.stream_spec(here.scenario)
    short, long = (streams(spec, limit, 4) for limit in (7, 50))
    assert short == long[: 4 * 7]


def test_a_prefix_has_the_rate_of_the_whole():
    here = point(operation="stat", clients=8, operations_per_client=2000)
    situation = Situation(here.scenario)
    part = petri.simulate(situation, situation.constants, firings=60_000, replications=8)
    whole = petri.simulate(situation, situation.constants, firings=10**9, replications=8)
    assert part.operations < whole.operations == 2000
    error = np.hypot(part.errors["rate"], whole.errors["rate"])
    # The simulations of a part and of the whole run have nearly the same rate. At the end of a run,
    # some clients have already finished. Only the simulation of the whole run includes this end.
    # For 2000 operations, it changes the rate by less than 1 %.
    assert part.rate_per_s == pytest.approx(whole.rate_per_s, rel=float(3 * error) + 0.01)


def test_written_back_work_limits_the_rate():
    """If a run writes far more data than fit into memory, the rate at which the disk writes back
    limits the rate of the run."""
    nodes = [
        {
            "name": "one",
            "cores": 16,
            "memory": "1 GiB",
            "roles": {"client": 1, "storage": 1},
            "disk": {"write_rate": "100 MB/s"},
        }
    ]
    here = point(
        "sequential_write",
        clients=2,
        nodes=nodes,
        system="local",
        file_size="64 MiB",
        operations_per_client=100,
    )
    situation = Situation(here.scenario)
    assert situation.written_back > 0.98
    found = petri.simulate(situation, situation.constants)
    assert found.rate_per_s * 2**26 == pytest.approx(100e6, rel=0.03)
    assert found.rate_per_s * found.latency_s["write"] == pytest.approx(2, rel=0.03)


def test_replications_are_added_until_the_rate_is_as_precise_as_requested():
    here = point(operation="stat")
    situation = Situation(here.scenario)
    loose, tight, few = (
        petri.simulate(
            situation,
            situation.constants,
            firings=4_000,
            goal=petri.PrecisionGoal("rate_per_s", precision, most),
        )
        for precision, most in ((0.9, 64), (0.02, 256), (1e-9, 6))
    )
    assert loose.replications == petri.REPLICATIONS
    assert tight.replications > loose.replications
    assert tight.half_width(petri.PrecisionGoal("rate_per_s", 0.02, 256)) <= 0.02
    assert few.replications == 6
    # Two simulations have six replications. The first was begun with fewer replications and
    # continued to six. The second has six from the start. Both simulations give the same result.
    at_once = petri.simulate(
        situation, situation.constants, firings=4_000, replications=few.replications
    )
    assert at_once == few


@pytest.mark.parametrize("label", ["demand", "node", "c1", "ticket_namenode"])
def test_a_field_of_tokens_has_a_declared_type(label):
    assert type_of(label) is (float if label == "demand" else int)


def test_a_field_without_a_declared_type_is_an_error():
    """A real value in a field of type int would be truncated without notice."""
    flow = TokenFlow("mine")
    place = flow.place("start", [{"seconds": 0.5}])
    flow.transition("move", "page", [place], [Arc(place, delay=main("seconds"))])
    with pytest.raises(AssertionError, match="seconds: a field of tokens needs a type"):
        flow.net({})
