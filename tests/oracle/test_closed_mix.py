"""Tests of closed queueing networks with a delay (think time) and one station (server with a
queue), and of mixes of reads and writes whose parameters are fitted from rates at two numbers of
clients."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dfslab.models.queue.queueing import mean_value_analysis
from dfslab.models.scaling import closed_mix, delayed_station, load_table
from dfslab.models.scaling.closed_mix import OperationPoint
from dfslab.spec.input_error import InputError
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize("clients", [1, 2, 7, 40])
def test_without_gain_the_rate_is_that_of_mean_value_analysis(clients):
    exact = mean_value_analysis([0.02], clients, think_s=0.15).rate_per_s
    assert delayed_station.rate_per_s(clients, 0.15, 0.02, 0.0) == pytest.approx(exact, rel=1e-9)


def test_with_a_gain_of_one_nothing_waits():
    assert delayed_station.rate_per_s(9, 0.3, 0.2, 1.0) == pytest.approx(9 / 0.5)


def test_without_a_delay_every_client_is_at_the_station():
    assert delayed_station.rate_per_s(16, 0.0, 0.01, 0.5) == pytest.approx(400.0)
    near = delayed_station.rate_per_s(16, 1e-9, 0.01, 0.5)
    assert near == pytest.approx(400.0, rel=1e-3)


def birth_death_rate(clients, delay_s, demand_s, gain):
    """Returns the rate of `clients` clients at one station. The rate follows from the balance
    equations of the number of requests at the station, solved as a linear system. With n requests,
    the station serves at the rate n^`gain` / `demand_s`."""
    flows = np.zeros((clients + 1, clients + 1))
    for n in range(clients):
        flows[n, n + 1] = (clients - n) / delay_s
        flows[n + 1, n] = (n + 1) ** gain / demand_s
    balance = flows.T - np.diag(flows.sum(axis=1))
    balance[-1] = 1.0
    wanted = np.zeros(clients + 1)
    wanted[-1] = 1.0
    states = np.linalg.solve(balance, wanted)
    return sum(states[n] * n**gain / demand_s for n in range(1, clients + 1))


@given(
    st.integers(1, 25), st.floats(0.001, 1.0), st.floats(0.001, 1.0), st.sampled_from([0, 0.1, 0.6])
)
def test_the_rate_solves_the_balance_equations(clients, delay_s, demand_s, gain):
    found = delayed_station.rate_per_s(clients, delay_s, demand_s, gain)
    assert found == pytest.approx(birth_death_rate(clients, delay_s, demand_s, gain), rel=1e-6)


def planted(clients, delays_s, demands_s, share, gain):
    """Returns the exact measurements of a mix of reads and writes at one station. For each of the
    two operations, these are its rate and the mean and 0.99 quantile of its response time; the
    quantile is four times the mean. `share` is the share of reads."""
    shares = {"read": share, "write": 1 - share}
    delay_s = sum(shares[kind] * delays_s[kind] for kind in shares)
    demand_s = sum(shares[kind] * demands_s[kind] for kind in shares)
    rate = delayed_station.rate_per_s(clients, delay_s, demand_s, gain)
    queue = clients - rate * delay_s
    return {
        kind: OperationPoint(
            rate * shares[kind],
            delays_s[kind] + demands_s[kind] * queue / (rate * demand_s),
            4 * delays_s[kind] + 4 * demands_s[kind] * queue / (rate * demand_s),
        )
        for kind in shares
    }


@given(
    st.floats(0.002, 0.2),
    st.floats(0.002, 0.2),
    st.floats(0.2, 5.0),
    st.floats(0.2, 0.8),
    st.sampled_from([(1, 8), (2, 32)]),
)
def test_a_planted_mix_is_found_again_from_two_numbers_of_clients(
    delay_s, demand_s, ratio, share, counts
):
    delays_s = {"read": delay_s, "write": delay_s / ratio}
    demands_s = {"read": demand_s, "write": demand_s * ratio}
    truth = [delays_s, demands_s, share, 0.05]
    mix = closed_mix.fit({n: planted(n, *truth) for n in counts}, gain=0.05, tail_growth=0.0)
    for clients in (4, 64):
        exact = planted(clients, *truth)
        for one in mix.predict(clients):
            known = exact[one.operation]
            assert one.rate_per_s.value == pytest.approx(known.rate_per_s, rel=1e-3)
            assert one.latency_s_mean.value == pytest.approx(known.latency_s_mean, rel=1e-3)
            assert one.latency_s_p99.value == pytest.approx(known.latency_s_p99, rel=1e-3)


@given(st.floats(1, 1e4), st.floats(0.3, 64.0), st.integers(1, 5000))
def test_predictions_are_positive_finite_and_obey_little(rate, growth, clients):
    def point(n, total):
        return {"read": OperationPoint(total, n / total)}

    mix = closed_mix.fit({1: point(1, rate), 16: point(16, rate * growth)})
    (one,) = mix.predict(clients)
    assert one.latency_s_p99 is None
    for interval in (one.rate_per_s, one.latency_s_mean):
        assert 0 < interval.low < interval.value < interval.high < math.inf
    product = one.rate_per_s.value * one.latency_s_mean.value
    if 1 <= growth <= 16 and clients >= 1:
        assert product == pytest.approx(clients, rel=0.02)


def test_more_measurements_than_two_are_fitted_by_least_squares():
    truth = [{"read": 0.05, "write": 0.02}, {"read": 0.01, "write": 0.02}, 0.7, 0.05]
    exact = {n: planted(n, *truth) for n in (1, 4, 16, 64)}
    mix = closed_mix.fit(exact, gain=0.05)
    assert mix.rate_per_s(200) == pytest.approx(
        sum(one.rate_per_s for one in planted(200, *truth).values()), rel=1e-4
    )


def test_more_operations_in_flight_than_clients_are_refused():
    head = "clients,operation,rate_per_s,latency_s_mean\n1,read,100,0.01\n"
    assert load_table.mix_points(head + "16,read,1000,0.0161\n", "rates.csv")
    with pytest.raises(InputError, match="gives 99 operations in flight"):
        load_table.mix_points(head + "16,read,1000,0.099\n", "rates.csv")


def test_comments_at_the_head_of_a_table_are_skipped_and_lines_counted():
    text = "# rates.csv\n# of Monday\nclients,operation,rate_per_s,latency_s_mean\n1,read,x,1\n"
    with pytest.raises(InputError, match="rate_per_s in line 4"):
        load_table.mix_points(text, "rates.csv")
