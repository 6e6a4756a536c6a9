"""Tests of expectations, which are predicted statements such as "this step takes longer if the file
is larger". Expectations are derived from the description of a file system and compared with
results. The tests compute the step times of these results. The tests also fit functions to these
step times."""

from __future__ import annotations

import numpy as np
import pytest
from dfslab.method import RunFailed
from dfslab.models.fit import step_functions, step_terms
from dfslab.models.sequence import SequenceModel
from dfslab.result import Metric, Result, Step, provenance
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.studies import step_statements
from support.network_waits import waited_s

SIZES = ["64 KiB", "1 MiB", "16 MiB", "256 MiB"]


def hdfs(latencies=("50 us", "5 ms"), sizes=SIZES):
    """Returns a scenario of HDFS that varies the file size and the network latency. Each latency is
    a separate deployment."""
    roles = {"client": 1, "namenode": 1, "datanode": 3}
    nodes = [
        {"name": n, "count": c, "adapter": {"bandwidth": "1 Gbit/s"}, "roles": {n: 1}}
        for n, c in roles.items()
    ]
    return build(
        Scenario,
        {
            "name": "expected",
            "deployment": {"node": nodes},
            "file_system": {"name": "hdfs", "access": {"testbed": True}},
            "workload": {"name": "sequential_write"},
            "sweep": [
                {"deployment.network.latency": list(latencies), "workload.file_size": list(sizes)}
            ],
        },
    )


def measured(point, steps, repetition=0):
    """Returns a measured result whose only figures are the step times `steps` in seconds."""
    return Result(
        method="measure",
        point_id=point.id,
        point=point,
        repetition=repetition,
        metrics={"rate_per_s": Metric(value=1.0)},
        steps=[Step(operation=o, step=s, time_s_mean=t, count=10) for (o, s), t in steps.items()],
        provenance=provenance(1),
    )


def modelled(point):
    return {(s.operation, s.step): s.time_s_mean for s in SequenceModel().run(point).steps}


def test_a_run_as_described_makes_every_expectation_true():
    points = hdfs().points()
    stated = step_statements.expectations(points)
    assert {one.kind for one in stated} == {"dominates", "size", "deployment"}
    # The claim "shorter" holds for the mean time of operations if each client has more files. Only
    # the first operation of a client has to connect. With more files, this connection adds less to
    # the mean time.
    assert {one.claim for one in stated} == {"longer", "flat", "shorter"}
    results = [measured(point, modelled(point), n) for point in points for n in range(3)]
    verdicts = step_statements.score(stated, results)
    assert len(verdicts) == len(stated)
    assert {one.outcome for one in verdicts} == {step_statements.HIT}


def test_a_run_the_other_way_round_refutes_them():
    points = hdfs().points()
    stated = step_statements.expectations(points)
    results = [measured(p, {k: 1 / t for k, t in modelled(p).items()}) for p in points]
    moving = [v for v in step_statements.score(stated, results) if v.statement.claim != "flat"]
    assert moving
    assert all(one.outcome == step_statements.MISS for one in moving)


def test_noise_hides_what_it_is_larger_than():
    points = hdfs().points()
    stated = step_statements.expectations(points)
    random = np.random.default_rng(3)
    results = [
        measured(p, {k: float(np.exp(4 * random.normal())) for k in modelled(p)}, n)
        for p in points
        for n in range(2)
    ]
    found = step_statements.tally(step_statements.score(stated, results))
    assert sum(counts[step_statements.NOISE] for counts in found.values()) > 0


def test_what_is_flat_is_missed_only_beyond_the_noise():
    points = hdfs(latencies=("50 us",)).points()
    stated = [one for one in step_statements.expectations(points) if one.claim == "flat"]
    for spread, outcome in ((1.01, step_statements.MISS), (4.0, step_statements.NOISE)):
        results = [
            measured(p, {k: 3.0**place * spread**side for k in modelled(p)}, side)
            for place, p in enumerate(points)
            for side in (-1, 0, 1)
        ]
        near = [
            v
            for v in step_statements.score(stated, results)
            if 2 < max(v.measured, 1 / v.measured) < 4
        ]
        assert near
        assert {v.outcome for v in near} == {outcome}


def test_what_was_not_measured_is_not_scored():
    assert step_statements.score(step_statements.expectations(hdfs().points()), []) == []


def planted(scenario):
    """Returns the step times in seconds that the tests use as true times of a configuration.

    The step "write" takes 2 ms + 1.5 b + w, and the step "close" takes 5 ms + w. b is the time in
    which the network adapter transfers the written bytes. w is the time for which the step waits
    for the network according to the description of the file system.
    """
    size = step_terms.terms_of(scenario)[2]
    own = {"write": 0.002 + 1.5 * size, "close": 0.005}
    return {("write", step): time + waited_s(scenario, "write", step) for step, time in own.items()}


def test_planted_functions_are_found_and_predict_what_was_held_out():
    points = hdfs(sizes=[f"{2**n} KiB" for n in range(4, 18)]).points()
    random = np.random.default_rng(5)
    held = points[5::6]
    results = [
        measured(
            p,
            {k: t * float(np.exp(0.03 * random.normal())) for k, t in planted(p.scenario).items()},
            n,
        )
        for p in points
        if p not in held
        for n in range(3)
    ]
    functions = {one.step: one for one in step_functions.fit(results)}
    found = {c.term: c for c in functions["write"].coefficients}
    assert waited_s(points[0].scenario, "write", "write") > 0
    assert found["network latency"].value == 0
    assert found["bytes / adapter rate"].value == pytest.approx(1.5, rel=0.2)
    assert found["1"].low <= 0.002 * 1.1
    assert all(c.low <= c.value <= c.high for f in functions.values() for c in f.coefficients)
    covered = 0
    for point in held:
        for (_, step), true in planted(point.scenario).items():
            time, low, high = functions[step].time_s(point.scenario)
            assert time == pytest.approx(true, rel=0.1)
            covered += low <= true <= high
    assert covered >= 0.8 * 2 * len(held)
    closed_s = planted(points[0].scenario)["write", "close"]
    assert functions["close"].time_s(points[0].scenario)[0] == pytest.approx(closed_s, rel=0.05)


def test_too_few_points_are_refused():
    points = hdfs(latencies=("50 us",), sizes=SIZES[:3]).points()
    with pytest.raises(RunFailed, match="4 configurations"):
        step_functions.fit([measured(p, planted(p.scenario)) for p in points])
