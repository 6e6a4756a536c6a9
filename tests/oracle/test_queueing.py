"""Tests that mean value analysis agrees with published numbers, with birth-death chains and with
bounds."""

from __future__ import annotations

import numpy as np
import pytest
from dfslab.models.queue.queueing import asymptotic_bounds, mean_value_analysis
from hypothesis import given
from hypothesis import strategies as st

# Service demands in ms of the published PVFS network: four network stations of 0.635 ms and four
# disks of 1.15 ms, each with a quarter of the visits.
PVFS = [0.635 / 4] * 4 + [1.15 / 4] * 4


@pytest.mark.parametrize(
    ("clients", "rate", "response", "disk_queue"),
    [(1, 0.560224, 1.785, None), (8, 2.254749, 3.548066, 1.46869), (32, 3.139280, None, None)],
)
def test_closed_network_has_its_published_answer(clients, rate, response, disk_queue):
    closed = mean_value_analysis(PVFS, clients)
    assert closed.rate_per_s == pytest.approx(rate, abs=1e-6)
    if response:
        assert closed.response_s == pytest.approx(response, abs=1e-6)
    if disk_queue:
        assert closed.queue[-1] == pytest.approx(disk_queue, abs=1e-5)


def machine_repair_rate(machines, servers, service, think):
    """Returns the rate of a closed system with `machines` customers and `servers` servers, computed
    from its birth-death chain. `service` and `think` are the mean service time and think time."""
    weight = [1.0]
    for k in range(1, machines + 1):
        birth = (machines - k + 1) / think
        weight.append(weight[-1] * birth / (min(k, servers) / service))
    probability = np.array(weight) / sum(weight)
    return sum(p * min(k, servers) / service for k, p in enumerate(probability))


@pytest.mark.parametrize(
    ("machines", "servers"), [(1, 2), (2, 2), (6, 2), (10, 4), (40, 4), (12, 1), (20, 8)]
)
@pytest.mark.parametrize("think", [0.1, 1.0, 3.0, 10.0])
def test_several_servers_are_within_three_per_cent(machines, servers, think):
    closed = mean_value_analysis([1.0], machines, think, [servers])
    expected = machine_repair_rate(machines, servers, 1.0, think)
    rel = 1e-7 if servers == 1 or machines <= servers else 0.03
    assert closed.rate_per_s == pytest.approx(expected, rel=rel)


@pytest.mark.parametrize("servers", [2, 8, 16, 64])
def test_a_small_change_of_a_demand_is_a_small_change_of_the_rate(servers):
    """A demand that rises in small steps lowers the rate in small steps, without jumps. In an
    earlier version of the computation the rate had a jump: for the demand multiplied by 1, 1.05 and
    1.1, it was 10.1, 8.2 and 10.1 requests per second."""
    factors = 1 + np.linspace(0, 0.2, 41)
    rates = [
        mean_value_analysis([f * 1.6, 0.02, 0.05], 32, 0.0, [servers, 1, 4]).rate_per_s
        for f in factors
    ]
    assert all(later <= one for one, later in zip(rates, rates[1:], strict=False))
    assert all(later >= 0.99 * one for one, later in zip(rates, rates[1:], strict=False))


@given(
    st.lists(st.floats(1e-4, 1.0), min_size=1, max_size=5), st.integers(1, 30), st.floats(0.0, 5.0)
)
def test_laws_and_bounds_hold(demands, clients, think):
    closed = mean_value_analysis(demands, clients, think)
    low, high = asymptotic_bounds(demands, clients, think, sum(demands))
    assert low * (1 - 1e-9) <= closed.rate_per_s <= high * (1 + 1e-9)
    # By Little's law, every client is either thinking or at a station.
    inside = closed.queue.sum()
    assert inside + closed.rate_per_s * think == pytest.approx(clients, rel=1e-6)
    assert (closed.utilisation <= 1 + 1e-9).all()


def test_overlap_keeps_the_bounds():
    demands = [0.4, 0.3]
    for clients in (1, 2, 5, 50):
        closed = mean_value_analysis(demands, clients, latency_s=0.45)
        assert closed.rate_per_s <= min(1 / 0.4, clients / 0.45) * (1 + 1e-9)
    assert mean_value_analysis(demands, 1, latency_s=0.45).rate_per_s == pytest.approx(1 / 0.45)
    assert mean_value_analysis(demands, 200, latency_s=0.45).rate_per_s == pytest.approx(
        1 / 0.4, rel=0.02
    )
