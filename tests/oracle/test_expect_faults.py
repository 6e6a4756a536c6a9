"""Tests that `dfslab expect` names the right slow resource. The tests compute the rates that a
deployment with one slow resource would show, and add noise. For rates without a fault, no resource
may be named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dfslab import discover
from dfslab.instruments.discovery.place import DiscoveredPlace
from dfslab.instruments.discovery.probes import Probed
from dfslab.spec.systems.discovery import SystemDiscovery
from dfslab.spec.systems.standard import standard
from dfslab.studies.expect.diagnosis import (
    LEAST_EVIDENCE,
    diagnosed,
    long_round_trip,
    suspects,
    telling_operation,
)
from dfslab.studies.expect.expected_rates import Expectation, expectation, narrowing_fact
from dfslab.studies.expect.grid import GridOperation, log_rates, planned
from dfslab.studies.expect.hardware_facts import DeclaredHardware, HardwareFact, with_fact
from dfslab.studies.expect.place_scenario import scenario_of

LINK, DISK, LATENCY_S, SERVERS = 60e6, 80e6, 1e-4, 4
COPIES = {"glusterfs": "copies", "moosefs": "goal", "hdfs": "replication", "cephfs": "copies"}
SYSTEMS = ("nfs", "glusterfs", "moosefs", "hdfs", "cephfs", "juicefs")
NOISE_SD = 0.05


def place(system: str, known: bool = True) -> DiscoveredPlace:
    """Returns the discovered facts about a mount of the file system `system`. If `known` is true,
    the deployment is declared; otherwise only the name of the file system is known."""
    described = discover.file_system(system)
    servers = 1 if system in ("nfs", "juicefs") else SERVERS
    declared = standard(described, servers, 1, LINK, LATENCY_S, DISK)
    instances = {role.name: declared.instances(role.name) for role in described.roles}
    settings = {COPIES[system]: 2.0} if system in COPIES else {}
    return DiscoveredPlace(
        text=system,
        system=system,
        directory="" if system == "hdfs" else "/mnt/x",
        uri="hdfs://127.0.0.1:8020" if system == "hdfs" else "",
        discovery=SystemDiscovery(instances=instances, settings=settings),
        deployment=declared if known else None,
    )


def plan(one: DiscoveredPlace) -> tuple[list[GridOperation], list[HardwareFact], Expectation]:
    made = scenario_of(one, Probed(copy_bytes_per_s=4e9, call_s=1e-6), DeclaredHardware())
    operations = planned(made.busy, 60.0, empties_clients=one.deployment is not None)
    return operations, list(made.facts), expectation(operations, made.facts)


def rates(operations, deployment, seed: int) -> list[float]:
    """Returns for each of `operations` the rate that the deployment would show, with the random
    noise of a measurement."""
    noise = np.random.default_rng(seed).normal(0.0, NOISE_SD, len(operations))
    return [float(rate) for rate in np.exp(log_rates(operations, deployment) + noise)]


@pytest.mark.parametrize("system", SYSTEMS)
def test_half_a_link_and_a_third_of_a_disk_are_named(system):
    operations, facts, expected = plan(place(system))
    deployment = operations[0].point.scenario.deployment
    by_name = {one.name: one for one in facts}
    suspected = suspects(operations, facts)
    faults = {"client link": 2.0, "server disk": 3.0}
    if system == "juicefs":
        # JuiceFS's objects are stored in memory in this deployment, so no operation uses the disks
        # of the servers.
        del faults["server disk"]
    for name, factor in faults.items():
        slow = with_fact(deployment, by_name[name], by_name[name].value / factor)
        measured = rates(operations, slow, 1)
        shift = np.log(measured) - np.log(rates(operations, deployment, 1))
        if shift @ np.linalg.inv(expected.covariance) @ shift < 2 * LEAST_EVIDENCE:
            # The slow resource hardly limits any rate. The fault shifts the rates by less than the
            # intervals allow and cannot be found.
            continue
        found = diagnosed(suspected, expected, measured)
        assert found, f"{system}: {name} is not found"
        alike = {name} if name != "client link" else {"client link", "server link"}
        assert found[0].name in alike, f"{system}: {found} instead of {name}"


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_fault_is_named_where_there_is_none(system):
    operations, facts, expected = plan(place(system))
    deployment = operations[0].point.scenario.deployment
    suspected = suspects(operations, facts)
    for seed in range(20):
        found = diagnosed(suspected, expected, rates(operations, deployment, seed))
        assert found == [], f"{system}, seed {seed}: {found}"


def test_a_directory_has_a_disk_of_this_machine_and_no_server():
    """If the disk of a local directory is slow, the answer names the "disk of this machine". The
    answer does not mention a server."""
    local = DiscoveredPlace(text="/data", system="local", directory="/data")
    declared = DeclaredHardware(server_disk="80 MB/s")
    made = scenario_of(local, Probed(copy_bytes_per_s=4e9, call_s=1e-6), declared)
    operations = planned(made.busy, 60.0)
    (disk,) = (one for one in made.facts if one.label)
    slow = with_fact(operations[0].point.scenario.deployment, disk, disk.value / 6.0)
    expected = expectation(operations, made.facts)
    found = diagnosed(suspects(operations, made.facts), expected, rates(operations, slow, 1))
    assert found[0].name == "disk of this machine"
    assert found[0].text.startswith("the disk of this machine delivers about 1")
    assert made.hardware[0] == "disk of this machine 80 MB/s (declared)"
    assert "server" not in " ".join([*made.hardware, *(one.text for one in found)])


def test_a_disk_and_a_link_are_told_apart_by_a_cached_read_only():
    """Uncached reads and forced writes are as slow on a slow disk as over a slow link. So both the
    disk and the link are named until the rate of a cached read, which needs no disk, is measured.
    """
    operations, facts, expected = plan(place("nfs"))
    disk = next(one for one in facts if one.name == "server disk")
    slow = with_fact(operations[0].point.scenario.deployment, disk, disk.value / 6.0)
    suspected = suspects(operations, facts)
    measured = rates(operations, slow, 1)
    uncached = {"write, 1 stream", "write, 4 streams", "read, 1 stream", "read, 4 streams"}
    partly = [
        rate if one.operation.name in uncached else None
        for one, rate in zip(operations, measured, strict=True)
    ]
    found = diagnosed(suspected, expected, partly)
    assert {one.name for one in found} == {"server disk", "client link", "server link"}
    assert telling_operation(operations, found, partly) == "read again, cached"
    (named,) = diagnosed(suspected, expected, measured)
    assert named.name == "server disk"
    assert telling_operation(operations, [named], measured) == ""


@pytest.mark.parametrize(("system", "role"), [("hdfs", "namenode"), ("moosefs", "master")])
def test_a_late_metadata_server_is_named_by_its_round_trips(system, role):
    operations, facts, _ = plan(place(system))
    trips = {role: [0.0402], "datanode": [2.1e-4] * 3}
    found = long_round_trip(operations, trips, facts)
    assert found is not None
    assert role in found.name
    assert "40.2 ms" in found.text
    # A slow round trip makes metadata operations much slower, but large transfers hardly slower.
    shifts = dict(zip((one.operation.name for one in operations), found.shifts, strict=True))
    assert shifts["create"] < -1.0
    assert shifts["create"] < 5 * shifts["write, 4 streams"]
    # Round trips that the declared latency explains are no fault.
    assert long_round_trip(operations, {role: [2.4e-4]}, facts) is None


@pytest.mark.parametrize("system", SYSTEMS)
def test_intervals_hold_what_the_description_says_and_are_never_empty(system):
    operations, _, expected = plan(place(system))
    for at, one in enumerate(operations):
        low, high = expected.interval_per_s(at)
        assert low < expected.centre_per_s[at] * 1.3, one.operation.name
        assert high > expected.centre_per_s[at] / 1.3, one.operation.name
        assert high / low > 1.2, f"{one.operation.name}: no interval is this sure"
        if one.operation.large and one.point.scenario.workload.cache == "cold":
            # Links and disks are declared, so the upper end of a stream's interval is at most about
            # 2.6 times its lower end.
            assert high / low < 2.6, f"{system} {one.operation.name}: {low} to {high}"


def test_cold_reads_of_a_mount_are_cold_if_caches_of_client_processes_are_emptied():
    """ceph-fuse keeps 200 MiB of file data in its own process, and the kernel does not drop this
    data with its caches. If this cache is not emptied, cold reads are served from the cache, and
    neither a link nor a disk limits the reads."""
    made = scenario_of(place("cephfs"), Probed(copy_bytes_per_s=4e9), DeclaredHardware())
    kept, emptied = (planned(made.busy, 30.0, empties_clients=one) for one in (False, True))
    for at, one in enumerate(emptied):
        if one.point.scenario.workload.cache != "cold":
            assert one == kept[at]
            continue
        deployment = one.point.scenario.deployment
        disk = next(fact for fact in made.facts if fact.name == "server disk")
        slow = with_fact(deployment, disk, disk.value / 20.0)
        shifts = [
            float(log_rates([planned_one], slow)[0] - log_rates([planned_one], deployment)[0])
            for planned_one in (kept[at], one)
        ]
        assert shifts[0] == pytest.approx(0.0)
        assert shifts[1] < -1.0, one.operation.name


def test_assumed_hardware_is_listed_with_its_value_and_option():
    """Hardware whose value is assumed is listed with this value and the option that declares it. A
    testbed declares all of its hardware, so no hardware of a testbed is listed."""
    unknown = scenario_of(place("nfs", known=False), Probed(), DeclaredHardware())
    text = unknown.commented_toml()
    assert "server disk 500 MB/s (assumed; --server-disk declares it)" in text
    assert "assumed of node server: cores 2, frequency 2.5 GHz, memory " in text
    assert "--set deployment.node.server.memory=VALUE" in text
    assert "assumed of node client: frequency 2.5 GHz;" in text, "its cores were read"
    assert unknown.scenario.deployment.uncertainty.disk > 5
    assert (
        "assumed of" not in scenario_of(place("nfs"), Probed(), DeclaredHardware()).commented_toml()
    )


def test_undeclared_hardware_widens_intervals_and_is_asked_for():
    known, unknown = plan(place("nfs")), plan(place("nfs", known=False))
    for at, one in enumerate(known[0]):
        if one.operation.large:
            sure, wide = (found[2].interval_per_s(at) for found in (known, unknown))
            assert wide[1] / wide[0] > sure[1] / sure[0]
    asked = narrowing_fact(unknown[2], unknown[1])
    assert asked is not None
    assert asked.source == "assumed"
    assert asked.flag in ("--server-disk", "--server-link", "--client-link", "--latency")
    assert narrowing_fact(known[2], known[1]) is None


def test_servers_whose_caches_cannot_be_emptied_widen_cold_reads_only():
    one = place("nfs")
    made = scenario_of(one, Probed(copy_bytes_per_s=4e9), DeclaredHardware(server_disk="10MB/s"))
    operations = planned(made.busy, 60.0)
    emptied = expectation(operations, made.facts)
    kept = expectation(operations, made.facts, can_empty_servers=False)
    for at, planned_one in enumerate(operations):
        narrow, wide = emptied.interval_per_s(at), kept.interval_per_s(at)
        if planned_one.point.scenario.workload.cache == "cold":
            assert wide[1] > 2 * narrow[1], planned_one.operation.name
        else:
            assert wide == narrow


def test_a_busy_machine_widens_what_processors_limit():
    one = place("nfs")
    idle = scenario_of(one, Probed(copy_bytes_per_s=4e9), DeclaredHardware())
    busy = scenario_of(one, Probed(copy_bytes_per_s=4e9, processor_share=0.2), DeclaredHardware())
    assert idle.scenario == busy.scenario == idle.busy, "the place is the same"
    assert busy.hardware == idle.hardware
    assert busy.load_notes == ["other work is running here: a thread gets 20 % of a processor"]
    operations = planned(idle.busy, 60.0)
    crowded = [
        replace(
            each,
            point=each.point.model_copy(
                update={
                    "scenario": each.point.scenario.model_copy(
                        update={"deployment": busy.busy.deployment}
                    )
                }
            ),
        )
        for each in operations
    ]
    at = next(n for n, each in enumerate(operations) if each.operation.name == "create")
    alone = expectation(operations, idle.facts).interval_per_s(at)
    beside = expectation(crowded, busy.facts).interval_per_s(at)
    assert beside[0] < alone[0]
