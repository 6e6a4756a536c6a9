"""Tests that models of open workloads, finite queues, quantiles and bounds agree with closed forms
and Markov chains."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from dfslab.models.queue.open_queue import (
    FiniteQueue,
    finite_queue,
    open_network,
    quantile_s,
    waiting_share,
)
from dfslab.models.queue.queueing import mean_value_analysis
from hypothesis import given
from hypothesis import strategies as st

DEMANDS = st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=6)


def test_erlang_c_is_the_textbook_one():
    assert waiting_share(0.7, 1) == pytest.approx(0.7)
    # For two servers at utilisation rho, the probability that a customer waits is 2 rho^2 / (1 +
    # rho) (Erlang C). The test has rho = 0.6.
    assert waiting_share(1.2, 2) == pytest.approx(2 * 0.36 / 1.6)
    assert waiting_share(150.0, 200) < 1e-3


def test_an_open_station_is_m_m_1():
    found = open_network(0.8, [1.0])
    assert found.response_s == pytest.approx(5.0)
    assert found.utilisation[0] == pytest.approx(0.8)
    assert open_network(1.0, [0.2, 1.0]).full == 1


def test_a_closed_network_of_very_many_thinkers_is_an_open_one():
    demands, rate = [0.5, 0.2], 1.2
    opened = open_network(rate, demands)
    closed = mean_value_analysis(demands, 4000, 4000 / rate - opened.response_s)
    assert closed.response_s == pytest.approx(opened.response_s, rel=0.01)


def chain(rate, service, servers, places):
    """Returns the probabilities of 0, 1, 2, … customers in a queue with `servers` servers and
    `places` waiting places (M/M/c/K), from its balance equations. `rate` is the arrival rate, and
    `service` the mean service time."""
    size = servers + places + 1
    matrix = np.zeros((size, size))
    for n in range(size - 1):
        matrix[n, n + 1] += rate
        matrix[n + 1, n] += min(n + 1, servers) / service
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    equations = np.vstack([matrix.T, np.ones(size)])
    return np.linalg.lstsq(equations, np.r_[np.zeros(size), 1.0], rcond=None)[0]


@pytest.mark.parametrize(("rate", "servers", "places"), [(0.5, 1, 3), (3.0, 2, 5), (9.0, 10, 20)])
def test_a_finite_queue_is_its_chain(rate, servers, places):
    chance = chain(rate, 1.0, servers, places)
    found = finite_queue(rate, 1.0, servers, places)
    assert found.refused == pytest.approx(chance[-1], abs=1e-9)
    queued = sum(max(0, n - servers) * p for n, p in enumerate(chance))
    assert found.wait_s * found.rate_per_s == pytest.approx(queued)


def test_hdfs_call_queue_turns_away_only_what_it_must():
    calm, full = (finite_queue(rate, 1e-3, 10, 1000) for rate in (8_000, 12_000))
    assert calm.refused < 1e-50
    assert full.rate_per_s == pytest.approx(10_000, rel=1e-3)
    assert full.refused == pytest.approx(1 / 6, rel=0.01)
    assert full.wait_s == pytest.approx(0.1, rel=0.02)


def balanced_bounds(
    demands_s: Sequence[float], clients: int, think_s: float = 0.0
) -> tuple[float, float]:
    """Returns the balanced job bounds (lower, upper) on the rate of a closed network of single
    servers. Each bound is the rate of a network in which all stations have equal demands."""
    demand = np.asarray(demands_s, dtype=float)
    total, largest = float(demand.sum()), float(demand.max())
    mean = total / len(demand)
    lower = clients / (
        think_s + total + (clients - 1) * largest / (1 + think_s / (clients * total))
    )
    upper = clients / (think_s + total + (clients - 1) * mean / (1 + think_s / total))
    return lower, min(upper, 1 / largest)


@given(DEMANDS, st.integers(1, 40), st.floats(0.0, 5.0))
def test_balanced_bounds_hold(demands, clients, think):
    exact = mean_value_analysis(demands, clients, think).rate_per_s
    low, high = balanced_bounds(demands, clients, think)
    assert low * (1 - 1e-9) <= exact <= high * (1 + 1e-9)


@pytest.mark.parametrize("quantile", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("busy", [0.3, 0.6, 0.9])
def test_quantiles_are_near_those_of_m_m_1(busy, quantile):
    """Estimated quantiles of the response time are within 15 % of those of M/M/1, where the
    response time is exponential with mean 1 / (1 - busy) at utilisation `busy`."""
    mean = 1 / (1 - busy)
    exact = -math.log(1 - quantile) * mean
    found = quantile_s(0.0, [1.0], [mean - 1], [busy], quantile)
    assert found == pytest.approx(exact, rel=0.15)


def test_a_quantile_of_what_never_varies_is_itself():
    assert quantile_s(0.3, [], [0.0], [0.1], 0.99) == 0.3
    assert quantile_s(0.0, [2.0], [], [], 0.9) == pytest.approx(2 * math.log(10))


@pytest.mark.parametrize(("rate_per_s", "service_s"), [(0.0, 0.01), (5.0, 0.0)])
def test_a_queue_without_load_is_empty(rate_per_s, service_s):
    assert finite_queue(rate_per_s, service_s, 2, 10) == FiniteQueue(0.0, 0.0, rate_per_s, 0.0)
