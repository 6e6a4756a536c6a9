"""Tests that predictions for random configurations of all file systems are finite, bounded and
monotone."""

from __future__ import annotations

import copy
import math
import random

import pytest
from dfslab.models.fit.demand import uncalibrated
from support.drawn_scenarios import configuration, drawn
from support.predicted import SYSTEMS

SEEDS = range(67)
EACH = 15
# Largest relative decrease of the predicted rate that a faster resource may cause. The limit is
# above 0 because the model weights the waits of overlapping work by the overlap that the work has
# in an unloaded system, and a faster resource changes this overlap a little (docs/decisions/021).
MOST_LOSS = 0.05


def faster(table):
    """Yields for each resource (name of the resource, table of the scenario in which only this
    resource is better). A better resource has twice the rate, size or number, or half the latency.
    """
    for place, group in enumerate(table["deployment"]["node"]):
        for path in ("cores", "disk.count", "disk.read_rate", "disk.write_rate", "disk.latency"):
            yield f"{group['name']}.{path}", scaled(table, place, path)
        for path in ("adapter.bandwidth", "memory"):
            yield f"{group['name']}.{path}", scaled(table, place, path)
    better = copy.deepcopy(table)
    network = better["deployment"]["network"]
    network["latency"] = f"{float(network['latency'].split()[0]) / 2} us"
    yield "network.latency", better


def scaled(table, place, path):
    """Returns a copy of the scenario's table in which one value of a group of nodes is doubled, or
    halved if it is a latency. `place` is the index of the group, and `path` the dotted key of the
    value."""
    better = copy.deepcopy(table)
    *outer, key = path.split(".")
    part = better["deployment"]["node"][place]
    for name in outer:
        part = part[name]
    factor = 0.5 if key == "latency" else 2
    value = part[key]
    if isinstance(value, str):
        number, unit = value.split()
        part[key] = f"{float(number) * factor} {unit}"
    else:
        part[key] = value * factor
    return better


@pytest.mark.grid
@pytest.mark.parametrize("seed", SEEDS)
def test_predictions_of_random_configurations_keep_the_laws(seed):
    rng = random.Random(seed)
    for _ in range(EACH):
        table = drawn(rng)
        given = configuration(table)
        if given is None:
            continue
        found = given.predict(given.constants)
        numbers = [found.rate_per_s, *found.latency_s.values(), *found.unloaded_s.values()]
        assert all(math.isfinite(one) and one > 0 for one in numbers), table
        assert found.rate_per_s <= found.bounds_per_s[1] * (1 + 1e-6), table
        assert max(found.utilisation.values()) <= 1 + 1e-6, table
        for what, better in faster(table):
            other = configuration(better)
            rate = other.predict(other.constants).rate_per_s
            assert rate >= found.rate_per_s * (1 - MOST_LOSS), (what, table)


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_interval_is_neither_empty_nor_without_width(system):
    rng = random.Random(system)
    for _ in range(200):
        table = drawn(rng)
        if table["file_system"]["name"] != system:
            continue
        given = configuration(table)
        if given is not None:
            factor = uncalibrated(given).interval_factor(given)
            assert 1.05 < factor < 100, table


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_an_empty_file_takes_time(system, cache):
    table = drawn(random.Random(1))
    while table["file_system"]["name"] != system or configuration(table) is None:
        table = drawn(random.Random(str(table)))
    table["workload"] = {"name": "mdtest_hard", "items": 10, "file_size": "0 B", "cache": cache}
    given = configuration(table)
    found = given.predict(given.constants)
    for numbers in (found.latency_s, found.unloaded_s, found.steps):
        assert all(math.isfinite(one) and one >= 0 for one in numbers.values())
    assert min(found.latency_s.values()) > 0
