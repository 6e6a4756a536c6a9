"""Tests the latency and the window of TCP streams over a path with jitter and loss, against
simulated draws, published equations, and predictions by the formula and by the Petri net."""

from __future__ import annotations

import math
import random

import pytest
from dfslab.models.petri import simulate
from dfslab.spec.deployment import Network
from dfslab.spec.steps.lossy_path import mean_latency_s, segments_in_flight, tcp_path
from support.predicted import SYSTEMS, rate_bytes_per_s, situation_of

BIG = {"file_size": "256 MiB", "transfer_size": "1 MiB", "operations_per_client": 1}


@pytest.mark.parametrize(("latency_s", "jitter_s"), [(1e-3, 1e-4), (1e-3, 1e-3), (1e-4, 2e-3)])
def test_the_mean_latency_is_that_of_draws_without_negative_ones(latency_s, jitter_s):
    rng = random.Random(1)
    drawn = [max(0.0, rng.gauss(latency_s, jitter_s)) for _ in range(100_000)]
    assert mean_latency_s(latency_s, jitter_s) == pytest.approx(sum(drawn) / len(drawn), rel=0.02)


def test_a_path_without_loss_and_jitter_is_as_declared():
    path = tcp_path(Network(latency="10 ms"))
    assert (path.latency_s, path.window_bytes, path.retransmission_s) == (0.01, 2**22, 0.0)


def test_reno_has_the_window_of_its_sawtooth():
    """Between two losses, the window grows from W/2 to W by one segment in each round trip. Of all
    segments that are sent from one loss to the next, exactly one is lost."""
    for peak in (10, 40, 200):
        sent = sum(range(peak // 2, peak))
        mean = sent / (peak / 2)
        assert segments_in_flight("reno", 1 / sent, 0.1) == pytest.approx(mean, rel=0.05)


def test_cubic_has_the_windows_that_its_standard_prints():
    """RFC 9438, table 1: average windows of Reno and CUBIC (C = 0.4) in segments, at a round trip
    of 0.1 s."""
    for loss, reno, cubic in ((1e-2, 12, 12), (1e-4, 120, 187), (1e-6, 1200, 5930)):
        assert segments_in_flight("reno", loss, 0.1) == pytest.approx(reno, rel=0.03)
        assert segments_in_flight("cubic", loss, 0.1) == pytest.approx(cubic, rel=0.03)


def test_bbr_is_not_slowed_by_loss():
    assert math.isinf(segments_in_flight("bbr", 0.01, 0.1))
    assert tcp_path(Network(latency="10 ms", loss=0.01, congestion="bbr")).window_bytes == 2**22


@pytest.mark.parametrize("system", [one for one in SYSTEMS if one not in ("local", "openzfs")])
@pytest.mark.parametrize("key", ["loss", "jitter"])
def test_a_worse_path_never_predicts_more(system, key):
    rates = []
    for worse in (0.0, 1e-4, 1e-3, 1e-2):
        network = {"latency": "1 ms", key: worse if key == "loss" else f"{worse} s"}
        given = situation_of(system, "sequential_read", cache="cold", network=network, **BIG)
        rates.append(rate_bytes_per_s(given))
        assert math.isfinite(rates[-1])
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize("system", ["nfs", "hdfs"])
def test_the_net_loses_as_much_as_the_formula(system):
    network = {"latency": "2 ms", "loss": 0.001, "jitter": "1 ms"}
    given = situation_of(system, "sequential_read", cache="cold", network=network, **BIG)
    simulated = simulate(given, given.constants, service="deterministic", replications=1)
    predicted = given.predict(given.constants).rate_per_s
    assert simulated.rate_per_s == pytest.approx(predicted, rel=0.08)
