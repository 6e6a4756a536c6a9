"""Tests that `dfslab expect` reports doubt about the probed hardware if the measured rates
contradict it. The rates are computed for a disk that is much faster than the probed disk."""

from __future__ import annotations

import numpy as np
import pytest
from dfslab.instruments.discovery.place import DiscoveredPlace
from dfslab.instruments.discovery.probes import DiskProbe, Probed
from dfslab.studies.expect import place_rates
from dfslab.studies.expect.grid import log_rates
from dfslab.studies.expect.hardware_facts import DeclaredHardware, with_fact
from dfslab.studies.expect.place_rates import ExpectationPlan
from dfslab.studies.expect.place_scenario import scenario_of
from dfslab.studies.expect.wrong_facts import is_many

LOCAL = DiscoveredPlace(text="/data", system="local", directory="/data")
NOISE_SD = 0.05


def answer(factor):
    """Returns the answer of `expect` on a directory whose disk is `factor` times as fast as the
    probed disk."""
    disk = DiskProbe([3.7e6] * 4, [3.65e6] * 4, [1e-4] * 4)
    probed = Probed(copy_bytes_per_s=4e9, call_s=1e-6, disk=disk)
    made = scenario_of(LOCAL, probed, DeclaredHardware())
    found: ExpectationPlan = place_rates.plan(LOCAL, probed, made, 60.0)
    fact = next(one for one in made.facts if one.label)
    deployment = found.planned[0].point.scenario.deployment
    rates = log_rates(found.planned, with_fact(deployment, fact, fact.value * factor))
    noise = np.random.default_rng(1).normal(0.0, NOISE_SD, len(rates))
    return place_rates.judged(found, [float(one) for one in np.exp(rates + noise)], [])


def test_rates_of_a_faster_disk_than_probed_put_the_probe_in_doubt():
    first, second, *_ = answer(300.0).sentences()
    assert first.startswith("Doubtful: ")
    assert "rates are faster than their 90 % intervals" in first
    assert "“disk of this machine” were about 1.1 GB/s; taken was" in first
    assert "3.65 MB/s (probed)" in first
    assert "operations on /data" in second


def test_right_facts_and_a_slow_disk_are_not_doubted():
    assert answer(1.0).doubt == ""
    slow = answer(1 / 6)
    assert slow.doubt == ""
    assert slow.fault.startswith("the disk of this machine")


@pytest.mark.parametrize(
    ("outside", "of", "many"), [(0, 10, False), (3, 10, False), (4, 10, True), (1, 1, False)]
)
def test_one_rate_outside_is_chance_and_four_of_ten_are_not(outside, of, many):
    assert is_many(outside, of) is many
