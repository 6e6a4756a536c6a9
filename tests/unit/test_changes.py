"""Tests of the language in which users describe changes of a scenario. The tests check which texts
are accepted, which are refused, and which type of change each accepted text gives."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from dfslab.spec.changes.change import possible_log_gain
from dfslab.spec.changes.change_language import apply, parse_change, parse_changes
from dfslab.spec.changes.differences import change_between
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read
from dfslab.studies.plans.deployments import layouts, scenario_of

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SERVER = "deployment.node.server"


@pytest.fixture(scope="module")
def hdfs():
    return read(SCENARIOS / "hdfs-hosts.toml").points()[0].scenario


@pytest.fixture(scope="module")
def beegfs():
    return scenario_of(next(iter(layouts(("beegfs",), 1))), 8, 1, {"name": "sequential_write"})


@pytest.mark.parametrize(
    ("text", "values", "kind"),
    [
        ("servers +1", {f"{SERVER}.count": 5}, "servers"),
        ("servers+1", {f"{SERVER}.count": 5}, "servers"),
        ("datanodes 20", {f"{SERVER}.count": 20}, "servers"),
        ("clients 8", {"workload.clients": 8}, "clients"),
        ("client nodes x2", {"deployment.node.client.count": 2}, "clients"),
        ("copies 2", {"file_system.replication": 2}, "copies"),
        ("Replication -1", {"file_system.replication": 0}, "copies"),
        ("server link 10 Gbit/s", {f"{SERVER}.adapter.bandwidth": "1250000000.0 B/s"}, "link"),
        ("server link 10Gbit", {f"{SERVER}.adapter.bandwidth": "1250000000.0 B/s"}, "link"),
        ("server disk latency 1 ms", {f"{SERVER}.disk.latency": "0.001 s"}, "disk"),
        ("server cores /2", {f"{SERVER}.cores": 1}, "processor"),
        ("network latency +50 %", {"deployment.network.latency": "7.5e-05 s"}, "latency"),
        ("transfer size x2", {"workload.transfer_size": "2 MiB"}, "size"),
        ("handler_count 30", {"file_system.handler_count": 30}, "setting"),
        ("fsync on", {"workload.fsync": True}, "setting"),
        ("deployment.node.server.count = 8", {f"{SERVER}.count": 8}, "servers"),
    ],
)
def test_a_change_is_read(hdfs, text, values, kind):
    found = parse_change(text, hdfs)
    assert dict(found.values) == values
    assert found.kind == kind
    assert found.distance > 0


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("servrs +1", 'did you mean "servers +1"?'),
        ("faster disks", 'did you mean "disk x2"?'),
        ("NVMe drives", 'did you mean "disk x2"?'),
        ("more RAM", 'did you mean "memory x2"?'),
        ("less latency", 'did you mean "latency /2"?'),
        ("add a server", 'did you mean "servers +1"?'),
        ("fewer clients", 'did you mean "clients -1"?'),
        ("warm cache", 'did you mean "cache warm"?'),
        ("blorp", 'a change is such as "servers +1". Most used: servers, clients'),
        ("client link 10 GBit/s", 'did you mean "10 Gbit/s"?'),
        ("client link 10gbps", 'did you mean "10 Gbit/s"?'),
        ("client link 10Gb", 'did you mean "10 Gbit/s"?'),
        ("banana 7", "names nothing that can change"),
        ("client lnk 10 Gbit/s", 'did you mean "client link 10 Gbit/s"?'),
        ("server dsk latency /2", 'did you mean "server disk latency /2"?'),
        ("clients about 5", "names nothing that can change"),
        ("copies", "needs a value such as 8, +1, x2 or /2; now 1"),
        ("copies two", "needs a value such as"),
        ("clients -5", "gives -4; needs a whole number; now 1"),
        ("servers x1.1", "needs a whole number; now 4"),
        ("client link 10", "needs a unit"),
        ("client link 10 s", "is a time"),
        ("server disk /0", "is not a quantity"),
        ("deployment.node.x.count=8", "no such group"),
        ("", "needs a change"),
    ],
)
def test_a_wrong_change_is_one_line_that_says_what_is_allowed(hdfs, text, allowed):
    with pytest.raises(InputError) as error:
        parse_changes([text], hdfs)
    assert allowed.replace("now 1", "now") in str(error.value)
    assert "\n" not in str(error.value)


def test_a_step_of_the_number_of_several_groups_asks_which_one():
    scenario = read(SCENARIOS / "wu-read.toml").points()[0].scenario
    with pytest.raises(InputError, match="name one of strong, weak"):
        parse_change("servers +1", scenario)
    assert len(parse_change("servers x2", scenario).values) == 2


@pytest.mark.parametrize("text", ["copies 2", "replicas +1", "copies x2", "mirrored 1"])
def test_two_copies_switch_a_mirror_on(beegfs, text):
    found = parse_change(text, beegfs)
    assert found.values == {"file_system.mirrored": 1}
    assert apply(beegfs, [found]).file_system.parameters["mirrored"] == 1


def test_three_copies_are_no_mirror(beegfs):
    with pytest.raises(InputError, match="0 or 1"):
        apply(beegfs, [parse_change("copies 3", beegfs)])


def test_an_illegal_configuration_is_refused(hdfs):
    with pytest.raises(InputError, match="replication"):
        apply(hdfs, [parse_change("copies 9", hdfs)])


def test_only_added_hardware_has_bounds(hdfs):
    more, less = parse_change("server link x2", hdfs), parse_change("server link /2", hdfs)
    assert possible_log_gain([more]) == (0.0, pytest.approx(math.log(2)))
    assert possible_log_gain([less]) == possible_log_gain([more, less]) == (-math.inf, math.inf)


def test_the_change_between_two_configurations(hdfs):
    one = parse_change("server link x4", hdfs)
    other = apply(hdfs, [one])
    assert change_between(hdfs, other) == ("link", pytest.approx(math.log(4)))
    assert change_between(hdfs, hdfs) is None
    assert change_between(hdfs, apply(other, [parse_change("clients 2", other)])) is None
