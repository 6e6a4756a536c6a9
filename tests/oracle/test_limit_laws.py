"""Tests of the limit that dfslab names for random configurations of all file systems. Making the
named limit twice as fast must gain at least as much as making any other hardware twice as fast."""

from __future__ import annotations

import math
import random

import pytest
from dfslab.models.limit_text import text_of
from dfslab.models.tree.limits import NETWORK, limits_of
from dfslab.models.tree.prediction import Situation
from support.drawn_scenarios import configuration, drawn
from support.predicted import situation_of

SEEDS = range(40)
EACH = 5
# Doubling another resource may gain up to this factor more than doubling the named limit. There are
# two reasons. First, the named limit is the resource with the largest gain from a small change of
# speed. After a doubling, another resource may be the limit. Second, the model weights the waits of
# overlapping work by the overlap in an unloaded system (docs/decisions/021).
MOST_MISSED = 1.02
KINDS = ("cpu", "disk", "nic")
EQUAL_LINKS = {
    "adapter": {"bandwidth": "1 Gbit/s"},
    "disk": {"read_rate": "2 GB/s", "write_rate": "2 GB/s", "latency": "20 us"},
    "file_size": "256 MiB",
    "transfer_size": "1 MiB",
}


def better(scenario, resource):
    """Returns the scenario in which `resource`, such as "server.disk" or NETWORK, needs half the
    time for the same work."""
    deployment = scenario.deployment
    if resource == NETWORK:
        network = deployment.network
        network = network.model_copy(update={"latency": network.latency / 2})
        changed = deployment.model_copy(update={"network": network})
        return scenario.model_copy(update={"deployment": changed})
    name, kind = resource.split(".")
    nodes = [faster(one, kind) if one.name == name else one for one in deployment.node]
    changed = deployment.model_copy(update={"node": nodes})
    return scenario.model_copy(update={"deployment": changed})


def faster(group, kind):
    """Returns the node group in which the hardware `kind` ("cpu", "disk" or "nic") needs half the
    time for the same work."""
    if kind == "cpu":
        return group.model_copy(update={"frequency": group.frequency * 2})
    if kind == "disk":
        disk = group.disk
        rates = {name: getattr(disk, name) * 2 for name in ("read_rate", "write_rate")}
        disk = disk.model_copy(update={**rates, "latency": disk.latency / 2})
        return group.model_copy(update={"disk": disk})
    adapter = group.adapter
    adapter = adapter.model_copy(update={"bandwidth": adapter.bandwidth * 2})
    return group.model_copy(update={"adapter": adapter})


def resources_of(scenario):
    """Returns the names of all hardware of a scenario."""
    names = [f"{group.name}.{kind}" for group in scenario.deployment.node for kind in KINDS]
    return [NETWORK, *names]


def parts_of(limit):
    """Returns the hardware that a limit names, without the direction of adapters. The list is empty
    if the limit is no hardware, such as a wait or a pool of threads."""
    parts = [".".join(part.split(".")[:2]) for part in limit.name.split(" and ")]
    known = [part for part in parts if part == NETWORK or part.partition(".")[2] in KINDS]
    return known if known == parts else []


def gain(given, resources):
    """Returns (rate if all `resources` take half the time) / (rate of the unchanged
    configuration)."""
    scenario = given.scenario
    for resource in resources:
        scenario = better(scenario, resource)
    changed = Situation(scenario)
    before = given.predict(given.constants).rate_per_s
    return changed.predict(changed.constants).rate_per_s / before


@pytest.mark.grid
@pytest.mark.parametrize("seed", SEEDS)
def test_twice_the_named_limit_gains_most(seed):
    rng = random.Random(f"limits {seed}")
    for _ in range(EACH):
        table = drawn(rng)
        given = configuration(table)
        if given is None:
            continue
        found = limits_of(given, given.constants)
        assert all(0 < one.share <= 1 for one in found), table
        assert [one.share for one in found] == sorted((one.share for one in found), reverse=True)
        assert text_of(found)
        named = parts_of(found[0]) if found else []
        if not named:
            continue
        own = gain(given, named)
        assert math.isfinite(own), table
        assert own > 1, (found[0], table)
        for other in resources_of(given.scenario):
            assert gain(given, [other]) <= own * MOST_MISSED, (found[:3], other, own, table)


@pytest.mark.parametrize("system", ["nfs", "glusterfs", "alluxio", "s3"])
def test_equally_slow_links_are_one_limit(system):
    """If two links are equally slow, making only one of them faster gains nothing, so both are
    named as one limit."""
    given = situation_of(system, "sequential_write", servers=1, **EQUAL_LINKS)
    first = limits_of(given, given.constants)[0]
    named = parts_of(first)
    assert len(named) == 2
    assert first.share > 0.5
    assert gain(given, named) > 1.3
    assert all(gain(given, [one]) < 1.1 for one in named)
    assert "only a change of both helps" in text_of([first])


def test_unequal_links_are_not_joined():
    given = situation_of("nfs", "sequential_write", servers=1, **EQUAL_LINKS)
    scenario = better(given.scenario, "server.nic")
    faster_server = Situation(scenario)
    first = limits_of(faster_server, faster_server.constants)[0]
    assert parts_of(first) == ["client.nic"]
