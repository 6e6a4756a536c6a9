"""Tests of the predicted effect of more servers on the rate if files are placed at random. The
prediction is compared with a simulation of hashing."""

from __future__ import annotations

import numpy as np
import pytest
from dfslab.models.scaling import hashed_placement


@pytest.mark.parametrize(("servers", "placements"), [(3, 30.0), (30, 100.0), (200, 20.0)])
def test_the_busiest_server_is_that_of_simulated_hashing(servers, placements):
    random = np.random.default_rng(7)
    largest = random.poisson(placements, (4000, servers)).max(axis=1).mean()
    found = hashed_placement.busiest_over_mean(servers, placements)
    assert found == pytest.approx(largest / placements, rel=0.01)


def test_one_server_has_the_mean():
    assert hashed_placement.busiest_over_mean(1, 50.0) == pytest.approx(1.0)


def test_more_servers_gain_less_than_in_proportion_and_many_placements_all_of_it():
    rates = [hashed_placement.scaled("read", 100.0, 10, n).rate_per_s for n in (10, 20, 40, 400)]
    assert rates[0] == pytest.approx(100.0)
    assert rates == sorted(rates)
    one = hashed_placement.scaled("read", 100.0, 10, 40)
    assert one.low_per_s < one.rate_per_s < one.proportional_per_s == pytest.approx(400.0)
    even = hashed_placement.scaled("read", 100.0, 10, 40, placements=1e6)
    assert even.rate_per_s == pytest.approx(400.0, rel=2e-3)


def test_fewer_servers_lose_less_than_in_proportion():
    one = hashed_placement.scaled("read", 100.0, 40, 10)
    assert 25.0 < one.rate_per_s < one.high_per_s < 100.0
