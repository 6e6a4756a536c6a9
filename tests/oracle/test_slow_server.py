"""Tests that `dfslab expect` finds one slow server of several. The tests place files on servers at
random, as the file systems do, and compute the rates that a slow server then causes."""

from __future__ import annotations

import numpy as np
import pytest
from dfslab import discover
from dfslab.instruments.discovery.place import DiscoveredPlace
from dfslab.instruments.discovery.probes import Probed
from dfslab.spec.systems.discovery import SystemDiscovery
from dfslab.spec.systems.standard import standard
from dfslab.studies.expect.diagnosis import diagnosed, suspects
from dfslab.studies.expect.expected_rates import expectation
from dfslab.studies.expect.grid import log_rates, planned
from dfslab.studies.expect.hardware_facts import DeclaredHardware
from dfslab.studies.expect.place_scenario import scenario_of
from dfslab.studies.expect.slow_server import SlowServers

LINK, DISK, LATENCY_S, SERVERS = 60e6, 80e6, 1e-4, 4
COPIES = {"glusterfs": "copies", "moosefs": "goal", "hdfs": "replication", "cephfs": "copies"}
# Factor by which the slow server's link is slower than declared, and the standard deviation of the
# natural logarithm of a measured rate.
FACTOR, NOISE_SD = 8.0, 0.05
SERIES = 10


def compared(system: str):
    """Returns the operations that are compared on a file system with two copies of its data, the
    hardware facts, and the group of its data servers."""
    described = discover.file_system(system)
    declared = standard(described, SERVERS, 1, LINK, LATENCY_S, DISK)
    place = DiscoveredPlace(
        text=system,
        system=system,
        directory="" if system == "hdfs" else "/mnt/x",
        uri="hdfs://127.0.0.1:8020" if system == "hdfs" else "",
        discovery=SystemDiscovery(
            instances={role.name: declared.instances(role.name) for role in described.roles},
            settings={COPIES[system]: 2.0},
        ),
        deployment=declared,
    )
    made = scenario_of(place, Probed(copy_bytes_per_s=4e9, call_s=1e-6), DeclaredHardware())
    operations = planned(made.busy, 60.0, empties_clients=True)
    deployment = operations[0].point.scenario.deployment
    group = next(one for one in deployment.node if one.name == "server")
    return operations, made.facts, group


@pytest.mark.parametrize(
    ("system", "write", "read", "stat"),
    [
        # A file is stored on two of four servers, and read from one of its copies.
        ("moosefs", 0.5, 0.25, 0.0),
        ("hdfs", 0.5, 0.25, 0.0),
        # The parts of a large file are on all servers. A write of CephFS waits for each of them.
        ("cephfs", 1.0, 1.0, 0.0),
        # Servers of GlusterFS store names, too.
        ("glusterfs", 0.5, 0.25, 0.25),
    ],
)
def test_the_share_of_operations_on_one_server_is_that_of_the_file_system(
    system, write, read, stat
):
    operations, _, group = compared(system)
    shares = SlowServers(operations, group).shares
    by_name = dict(zip((one.operation.name for one in operations), shares, strict=True))
    assert by_name["write, 1 stream"] == pytest.approx(write, abs=0.15)
    assert by_name["read, 1 stream"] == pytest.approx(read, abs=0.1)
    assert by_name["stat"] == pytest.approx(stat, abs=0.3)


def test_a_slow_server_slows_down_every_transfer_at_most_by_its_factor():
    operations, _, group = compared("moosefs")
    servers = SlowServers(operations, group)
    small, large = servers.change(2.0), servers.change(FACTOR)
    assert (large.mean <= small.mean + 1e-9).all()
    assert (large.mean >= -np.log(FACTOR) - 1e-9).all()
    assert (large.sd >= 0).all()
    # Of thousands of small files, nearly the same share is on the slow server in every run.
    by_name = dict(zip((one.operation.name for one in operations), large.sd, strict=True))
    assert by_name["read 64 KiB files"] < 0.2 < by_name["read, 1 stream"]
    assert servers.change(1.0).mean == pytest.approx(0.0)


def rates(operations, group, seed: int) -> list[float]:
    """Returns the rates per second that the operations show if the link of one server is FACTOR
    times as slow and each file is on random servers."""
    random = np.random.default_rng(seed)
    deployment = operations[0].point.scenario.deployment
    slow = group.adapter.model_copy(update={"bandwidth": group.adapter.bandwidth / FACTOR})
    nodes = [
        one.model_copy(update={"adapter": slow}) if one.name == group.name else one
        for one in deployment.node
    ]
    normal = log_rates(operations, deployment)
    ratios = np.exp(normal - log_rates(operations, deployment.model_copy(update={"node": nodes})))
    found = []
    for one, log_rate, ratio in zip(operations, normal, ratios, strict=True):
        clients = int(one.point.labels["workload.clients"])
        files = clients * int(one.point.labels["workload.operations_per_client"])
        # Several streams queue at the slow server, so it limits their rate wherever files are.
        share = 1.0 if clients > 1 else (2 if one.operation.writes else 1) / SERVERS
        slowed = random.binomial(files, share) / files
        error = random.normal(0.0, NOISE_SD)
        found.append(float(np.exp(log_rate + error) / (1 - slowed + slowed * ratio)))
    return found


@pytest.mark.parametrize(("system", "least"), [("glusterfs", 5), ("moosefs", 7), ("hdfs", 7)])
def test_one_slow_server_is_named_in_most_series_of_rates(system, least):
    """One slow server is named in at least `least` of SERIES series of rates. The slow server
    cannot be named in all series. There are few large files, and by chance most of these files may
    be on the slow server. A slow client link then explains the rates equally well. This happens
    most often on GlusterFS, because its cached reads use no link and therefore cannot rule out a
    slow link."""
    operations, facts, group = compared(system)
    suspected = suspects(operations, facts)
    expected = expectation(operations, facts)
    named = 0
    for seed in range(SERIES):
        found = diagnosed(suspected, expected, rates(operations, group, seed))
        texts = [one.text for one in found if one.name == "one slow server"]
        named += len(texts)
        assert all(f"one of {SERVERS} servers (server) is about" in text for text in texts)
    assert named >= least
