"""Tests of the law of a metadata server. The law is a formula for the response time as a function
of the number of clients, which is fitted to results. The tests compute these results from a known
law with known processor shares and known peaks of arrivals."""

from __future__ import annotations

import numpy as np
import pytest
from dfslab.documents.measured_load import MeasuredLoad, OperationCounts
from dfslab.models.fit import laws
from dfslab.models.queue import burst
from dfslab.result import Metric, Result, provenance
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario, WorkloadChoice
from dfslab.studies.server_law import server_law

K_S = 0.0004
CLIENTS = [1, 2, 4, 8, 16, 32, 64, 128]
OPERATIONS = 32


def scenario():
    """Returns a scenario with two processor shares of a NameNode, several numbers of clients, and
    one peak of arrivals."""
    nodes = [
        {"name": "master", "cores": 1, "roles": {"namenode": 1}},
        {"name": "server", "roles": {"datanode": 1}},
        {"name": "client", "roles": {"client": 1}},
    ]
    stat = {"name": "metadata", "operation": "stat", "operations_per_client": OPERATIONS}
    share = "deployment.node.master.share"
    return build(
        Scenario,
        {
            "name": "law",
            "deployment": {"node": nodes},
            "file_system": {"name": "hdfs", "access": {"testbed": True}, "replication": 1},
            "workload": stat,
            "sweep": [
                {share: [0.25, 1.0], "workload.clients": CLIENTS},
                {
                    share: [1.0],
                    "workload.clients": [32],
                    "workload.arrival": ["poisson"],
                    "workload.rate": ["3000 /s"],
                },
            ],
            "judge": {"hold_out": [{"workload.clients": [16, 128]}]},
        },
    )


def result(point, repetition, noise=1.0):
    """Returns a result of the planted law. For x clients, the mean latency is proportional to x ln
    x. At a quarter of a core, it is four times as long. `noise` multiplies the latency. For a peak
    of arrivals, the mean response time is that of the fluid formula, without noise."""
    requested, share = point.scenario.workload, point.scenario.deployment.node[0].share
    clients = requested.clients
    response = noise * K_S / share * max(clients * np.log(max(clients, 1.5)), 0.5)
    metrics = {
        "rate_per_s": Metric(value=clients / response),
        "latency_s_mean.stat": Metric(value=response),
    }
    if requested.arrival != "closed":
        q = 1 / (K_S * np.log(clients))
        wait = burst.fluid_wait_s(requested.rate, q, clients * OPERATIONS / requested.rate)
        metrics["response_s_mean.stat"] = Metric(value=wait + 1 / q)
    return Result(
        method="measure",
        point_id=point.id,
        point=point,
        repetition=repetition,
        metrics=metrics,
        load=MeasuredLoad(
            wall_s=0.0,
            operations={"stat": OperationCounts(count=clients * OPERATIONS)},
            processor_scores={"namenode": 50 * share},
        ),
        provenance=provenance(1),
    )


def runs(sd=0.01):
    random = np.random.default_rng(7)
    return [
        result(point, n, float(np.exp(sd * random.normal())))
        for point in scenario().points()
        for n in range(3)
    ]


def test_the_planted_law_shares_and_burst_are_found():
    found = server_law(runs())
    assert [(one.share, one.files, one.clients) for one in found.curves] == [
        (0.25, "each", CLIENTS),
        (1.0, "each", CLIENTS),
    ]
    for curve in found.curves:
        paper = next(fit for fit in curve.fits if fit.law == "x ln x")
        assert paper.parameters[0] == pytest.approx(K_S / curve.share, rel=0.02)
        assert paper.r2 > 0.99
        assert [error is None for error in paper.residuals] == [True] + [False] * 7
    small, large = found.ratios
    assert (small.k_ratio, small.score_ratio) == (1.0, 1.0)
    assert large.k_ratio == pytest.approx(4, rel=0.03)
    assert large.score_ratio == pytest.approx(4)
    assert large.q_from_score_per_s == pytest.approx(1 / (K_S * np.log(128)), rel=0.03)
    assert large.p_max_per_s == pytest.approx(3 * large.q_from_score_per_s)
    (peak,) = found.bursts
    assert peak.regime == "fluid"
    assert peak.predicted_s == pytest.approx(peak.measured.value, rel=0.05)
    assert peak.predicted_p90_s == pytest.approx(1.8 * peak.predicted_s, rel=0.05)
    assert peak.predicted_drain_s == pytest.approx(
        peak.length_s * (peak.rate_per_s / peak.capacity_per_s - 1)
    )
    assert large.q_best_per_s == pytest.approx(large.q_from_score_per_s, rel=0.05)


def test_the_weights_allow_for_runs_that_differ():
    """The weights of laws depend on how much repeated runs differ. The same mean times at eight
    numbers of clients are fitted twice. If repeated runs differ by 20 %, similar laws get similar
    weights. If repeated runs do not differ, the law from which the means were made gets almost all
    weight."""
    clients = np.array([1, 2, 4, 8, 16, 32, 64, 128])
    wobble = np.array([0.03, -0.02, 0.01, -0.03, 0.02, -0.01, 0.03, -0.02])
    means = (0.02 + 0.001 * clients) * (1 + wobble)
    exact = {one.law: one.weight for one in laws.fit(clients, means)}
    noisy = {one.law: one.weight for one in laws.fit(clients, means, [0.2] * 8, 24)}
    assert exact["linear"] > 0.95
    assert 0.3 < noisy["linear"] < 0.8
    assert noisy["lock queue"] > 10 * exact["lock queue"]
    assert sum(noisy.values()) == pytest.approx(1)
    # A spread between runs does not change the weights if it is far smaller than the deviations of
    # the means from the law. Here the spread is 1e-9.
    same = {one.law: one.weight for one in laws.fit(clients, means, [1e-9] * 8, 24)}
    assert same == pytest.approx(exact, abs=1e-3)


def test_the_between_run_deviation_is_pooled_over_the_curve():
    quiet, loud = (server_law(runs(sd)).curves[0].between_run_sd for sd in (0.01, 0.3))
    assert quiet == pytest.approx(0.01, rel=0.5)
    assert loud == pytest.approx(0.3, rel=0.5)
    once = [one for one in runs() if one.repetition == 0]
    assert server_law(once).curves[0].between_run_sd is None


def test_the_law_that_wins_by_weight_is_held_against_the_held_out_capacity():
    """A law is a formula for the response time as a function of the number of clients. Each law is
    fitted to results at some processor shares. The fitted law then predicts the capacity q of the
    server at the held-out shares.

    In this test, the law x ln x has the largest weight. If the held-out results follow this law,
    the conclusion says that it also predicts q best. If the rates at 128 clients are doubled, the
    conclusion says that it does not predict q best.
    """
    found = server_law(runs())
    assert found.capacity[0].law == "x ln x"
    assert found.capacity[0].median_abs_error < 0.05
    assert found.conclusion.startswith("The likeliest law, x ln x (weight ")
    assert "also predicts q best" in found.conclusion
    faster = [
        one.model_copy(
            update={
                "metrics": {
                    **one.metrics,
                    "rate_per_s": Metric(value=2 * one.value()),
                    "latency_s_mean.stat": Metric(value=one.value("latency_s_mean.stat") / 2),
                }
            }
        )
        if one.point.scenario.workload.clients == 128
        else one
        for one in runs()
    ]
    changed = server_law(faster)
    assert changed.capacity[0].law == "x ln x"
    assert changed.capacity[0].median_abs_error == pytest.approx(0.5, abs=0.05)
    assert "does not predict q best" in changed.conclusion
    held_out = {fit.law: fit.held_out_q_error for fit in changed.curves[0].fits}
    # The results with 16 and with 128 clients are held out. For 16 clients the error is 0. For 128
    # clients the measured rate is twice the predicted rate, so the error is 0.5. The mean error is
    # 0.25.
    assert held_out["x ln x"] == pytest.approx(0.25, abs=0.05)


def test_opens_of_files_with_a_block_are_metadata_operations():
    """Opens are metadata operations, even for files that have data. An open requests the locations
    of the file's blocks from the metadata server."""
    closed = [one for one in runs() if one.point.scenario.workload.arrival == "closed"]
    found = server_law([opened(one) for one in closed])
    assert {curve.operation for curve in found.curves} == {"open"}
    # A stream of opens consists of opens and closes in equal number, and closes do not reach the
    # metadata server. The server's rate is therefore half of its rate in a stream of stats.
    stats = server_law(closed)
    halves = [
        open_rate / stat_rate
        for opens, same in zip(found.curves, stats.curves, strict=True)
        for open_rate, stat_rate in zip(opens.rates, same.rates, strict=True)
    ]
    assert halves == pytest.approx([0.5] * len(halves))


def opened(one):
    """Returns a copy of `one`, a result of stats, as a result of opens of small files with the same
    times."""
    workload = {"name": "metadata", "operation": "open", "file_size": "1 KiB"}
    requested = one.point.scenario.workload
    chosen = WorkloadChoice(**workload, clients=requested.clients, operations_per_client=OPERATIONS)
    point = one.point.model_copy(
        update={"scenario": one.point.scenario.model_copy(update={"workload": chosen})}
    )
    metrics = {key.replace(".stat", ".open"): value for key, value in one.metrics.items()}
    same = one.load.operations["stat"]
    load = one.load.model_copy(update={"operations": {"open": same, "close": same}})
    return one.model_copy(update={"point": point, "metrics": metrics, "load": load})


def test_a_score_that_is_wrong_shows_as_a_wrong_capacity():
    wrong = [
        one.model_copy(
            update={"load": one.load.model_copy(update={"processor_scores": {"namenode": 50.0}})}
        )
        for one in runs()
    ]
    large = server_law(wrong).ratios[1]
    assert large.score_ratio == 1.0
    assert large.q_from_score_per_s < 0.3 * large.q_measured_per_s


def test_without_scores_there_are_curves_and_no_ratios():
    bare = [
        one.model_copy(update={"load": one.load.model_copy(update={"processor_scores": None})})
        for one in runs()
    ]
    found = server_law(bare)
    assert len(found.curves) == 2
    assert not found.ratios
    assert not found.bursts


def test_too_few_clients_are_no_curve():
    few = [one for one in runs() if one.point.scenario.workload.clients <= 4]
    assert server_law(few) is None
    assert server_law([]) is None
