"""Tests that predictions from the descriptions of five file systems agree with closed forms for
striping, replication chains and intent logs."""

from __future__ import annotations

import pytest
from dfslab import discover
from dfslab.models.petri import simulate
from dfslab.models.tree.prediction import Situation
from dfslab.spec.check import check
from dfslab.spec.deployment import SEGMENT_BYTES, WIRE_BYTES
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario

MIB = 2**20
FRAMING = WIRE_BYTES / SEGMENT_BYTES
# Each entry is (file system, key of its stripe count, role of its data servers, workload keys that
# make its writes durable).
STRIPED = [
    ("pvfs", "stripe_count", "server", {}),
    ("lustre", "stripe_count", "oss", {"fsync": True}),
    ("beegfs", "stripe_count", "storage", {"fsync": True}),
]


def situation(
    system, client_rate, server_rate, disk_rate, servers=4, parameters=None, latency="0 s", **keys
):
    """Returns the situation (deployment, file system and workload) with each role on its own node.
    Client adapters, server adapters and disks have the given rates in B/s, and everything else
    costs nothing."""
    described = discover.file_system(system)
    nodes = []
    for role in described.roles:
        data = role.kind == "data"
        nodes.append(
            {
                "name": role.name,
                "count": servers if data else 1,
                "cores": 64,
                "roles": {role.name: 1},
                # The given rate is that of a TCP stream. The adapter's bandwidth also carries the
                # headers of frames.
                "adapter": {
                    "bandwidth": f"{(server_rate if data else client_rate) * FRAMING:f} B/s"
                },
                "disk": {
                    "read_rate": f"{disk_rate:f} B/s",
                    "write_rate": f"{disk_rate:f} B/s",
                    "latency": "0 s",
                },
            }
        )
    network = {"latency": latency, "loopback_latency": "0 s"}
    workload = {
        "name": "sequential_write",
        "operations_per_client": 4,
        "transfer_size": "4 MiB",
        "file_size": "512 MiB",
        **keys,
    }
    scenario = build(
        Scenario,
        {
            "name": "bounds",
            "deployment": {"node": nodes, "network": network},
            "file_system": {"name": system, **(parameters or {})},
            "workload": workload,
        },
    )
    check(scenario)
    return Situation(scenario)


def rates_bytes_per_s(given):
    """Returns two throughputs in B/s: (result of the formula, result of the net). Every calibrated
    constant is close to zero in both computations."""
    constants = dict.fromkeys(given.constants, 1e-15)
    size_bytes = given.environment["file_size"]
    net = simulate(given, constants, service="deterministic")
    return (given.predict(constants).rate_per_s * size_bytes, net.rate_per_s * size_bytes)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("client_rate", "server_rate", "disk_rate"),
    [(1e8, 1e9, 1e9), (1e10, 1e8, 1e9), (1e10, 1e10, 5e7)],
    ids=["client", "servers", "disks"],
)
@pytest.mark.parametrize("stripes", [1, 2, 4])
@pytest.mark.parametrize(("system", "key", "role", "durable"), STRIPED, ids=lambda v: str(v)[:6])
def test_a_large_write_takes_the_narrowest_of_client_servers_and_disks(
    system, key, role, durable, stripes, client_rate, server_rate, disk_rate
):
    """A large write runs at the smallest of three rates: the client's adapter, n server adapters,
    and n disks, where n is the stripe count. Only filling the pipeline takes extra time. In PVFS, a
    call also waits for the server to admit it, and the disks write after the last byte was sent."""
    given = situation(
        system, client_rate, server_rate, disk_rate, parameters={key: stripes}, **durable
    )
    bound = min(client_rate, stripes * server_rate, stripes * disk_rate)
    for rate in rates_bytes_per_s(given):
        assert (0.9 if system == "pvfs" else 0.93) * bound <= rate <= 1.001 * bound


@pytest.mark.parametrize(("system", "key", "role", "durable"), STRIPED, ids=lambda v: str(v)[:6])
def test_a_cold_read_takes_the_narrowest_too(system, key, role, durable):
    """A cold read runs at the smaller of two rates: the rate of the client's adapter, and the rate
    of all servers together. With servers of 1e8 B/s each and a client of 2.5e8 B/s, one or two
    servers are the bottleneck, but with four servers the client is."""
    for stripes, bound in ((1, 1e8), (2, 2e8), (4, 2.5e8)):
        given = situation(
            system,
            2.5e8,
            1e8,
            1e10,
            parameters={key: stripes},
            name="sequential_read",
            cache="cold",
        )
        for rate in rates_bytes_per_s(given):
            assert 0.85 * bound <= rate <= 1.001 * bound


def test_a_pvfs_block_of_one_stripe_keeps_one_server_busy():
    """With one stripe, PVFS sends a block as calls of 64 KiB, each of which waits for its answer. A
    call takes the time of its bytes on the slower adapter, plus the latencies of its messages."""
    given = situation(
        "pvfs",
        1e9,
        1e8,
        1e10,
        latency="1 ms",
        name="sequential_read",
        transfer_size="64 KiB",
        file_size="4 MiB",
    )
    # Request, data and reply of a call each cross the network once. Opening and closing the file
    # are two calls to the manager.
    messages_s = 64 * (3e-3 + 65536 / 1e8 + 2 * 256 / 1e8) + 2 * (2e-3 + 2 * 256 / 1e9)
    for rate in rates_bytes_per_s(given):
        assert rate == pytest.approx(4 * MIB / messages_s, rel=2e-3)


def test_the_small_write_of_lustre_stays_in_the_clients_cache():
    """A write of 16 MiB, less than Lustre's `max_dirty`, stays in the client's cache. Only fsync
    waits for the disk of the single stripe."""
    cached, forced = (
        situation("lustre", 1e9, 1e9, 1e8, file_size="16 MiB", fsync=fsync)
        for fsync in (False, True)
    )
    for kept, written in zip(rates_bytes_per_s(cached), rates_bytes_per_s(forced), strict=True):
        assert written <= 1e8
        assert kept > 100 * written


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_gfs_pushes_along_its_chain_in_b_over_t_plus_r_l(replicas):
    """A push of B bytes through R replicas at rate T takes B/T + R L, where L is the latency
    between two servers. 1 MB at 100 Mbit/s takes about 80 ms (Ghemawat 2003, section 3.2). The
    description forwards data in units of u bytes, which adds (R - 1) u/T."""
    size_bytes, rate, latency_s, unit_bytes = 1e6, 1.25e7, 1e-4, 16384
    given = situation(
        "gfs",
        rate,
        rate,
        1e12,
        parameters={"replication": replicas},
        latency="0.1 ms",
        file_size="1 MB",
        transfer_size="1 MB",
    )
    # Besides the push, the write needs messages of 256 B: two each for create, allocateChunk and
    # the mutation, and two more to pass the mutation on to the secondaries.
    control_s = (6 + 2 * (replicas > 1)) * (latency_s + 256 / rate)
    units = -(-size_bytes // unit_bytes)
    ideal_s = size_bytes / rate + replicas * latency_s
    exact_s = ideal_s + (replicas - 1) * size_bytes / units / rate
    predicted, simulated = rates_bytes_per_s(given)
    assert size_bytes / predicted - control_s == pytest.approx(exact_s, rel=2e-3)
    assert size_bytes / simulated - control_s == pytest.approx(exact_s, rel=1e-2)
    assert size_bytes / predicted - control_s == pytest.approx(ideal_s, rel=0.04)


def pool(parameters, disks, **keys):
    """Returns the situation (deployment, file system and workload) of a storage pool on one
    machine. The disks of the pool have a rate of 1e8 B/s and no latency."""
    scenario = build(
        Scenario,
        {
            "name": "pool",
            "file_system": {"name": "openzfs", **parameters},
            "deployment": {
                "node": [
                    {
                        "name": "machine",
                        "cores": 64,
                        "roles": {"client": 1, "pool": 1},
                        "disk": {
                            "read_rate": "1e8 B/s",
                            "write_rate": "1e8 B/s",
                            "latency": "0 s",
                            "count": disks,
                        },
                    }
                ]
            },
            "workload": {
                "name": "sequential_write",
                "operations_per_client": 4,
                "fsync": True,
                "file_size": "64 MiB",
                **keys,
            },
        },
    )
    check(scenario)
    return Situation(scenario)


@pytest.mark.parametrize(
    ("parameters", "disks", "useful"),
    [
        ({}, 1, 1),
        ({"mirrors": 2}, 2, 1),
        ({"mirrors": 2, "vdevs": 3}, 6, 3),
        ({"data_disks": 4, "parity_disks": 2}, 6, 4),
        ({"data_disks": 4, "parity_disks": 2}, 3, 2),
    ],
    ids=["one disk", "mirror", "three mirrors", "raidz2", "raidz2 on half the disks"],
)
def test_a_pool_writes_as_fast_as_its_useful_disks(parameters, disks, useful):
    """Copies and parity reduce a pool's write rate to (total rate of the disks) × (share of the
    written bytes that are data)."""
    for rate in rates_bytes_per_s(pool(parameters, disks)):
        assert rate == pytest.approx(useful * 1e8, rel=0.02)


def test_a_small_record_of_a_raidz_is_one_sector_and_its_parity():
    """A record of 4 KiB is written to three of six disks at once (one data sector and two parity
    sectors), so it takes as long as one sector on one disk."""
    layout = {"data_disks": 4, "parity_disks": 2}
    given = pool(layout, 6, file_size="4 KiB")
    for rate in rates_bytes_per_s(given):
        assert rate == pytest.approx(1e8, rel=1e-3)
    shared = pool(layout, 3, file_size="4 KiB", clients=1)
    for rate in rates_bytes_per_s(shared):
        assert rate == pytest.approx(1e8, rel=1e-3)


def test_a_separate_log_serves_its_clients_one_at_a_time():
    """A separate log device of 1e7 B/s and 1 ms latency takes 2 ms for 10 KB and serves one commit
    at a time, so four clients get 500 commits/s in total."""
    given = pool(
        {"separate_log": 1, "log_rate": "10 MB/s", "log_latency": "1 ms"},
        64,
        file_size="10 kB",
        clients=4,
        operations_per_client=40,
    )
    net = simulate(given, dict.fromkeys(given.constants, 1e-15), service="deterministic")
    assert net.rate_per_s == pytest.approx(500, rel=0.02)


ILLEGAL = [
    ("pvfs", {"stripe_count": 5}, "servers deployed"),
    ("lustre", {"stripe_size": "100 KiB"}, "64 KiB"),
    ("beegfs", {"mirrored": 1, "stripe_count": 3}, "pairs of buddies"),
    ("beegfs", {"chunk_size": "96 KiB"}, "power of two"),
    ("gfs", {"replication": 5}, "chunkservers deployed"),
    ("gfs", {"record_limit": 2}, "at most 1"),
    ("lustre", {"stripe_count": 1.5}, "whole number"),
]


@pytest.mark.parametrize(("system", "parameters", "allowed"), ILLEGAL)
def test_an_illegal_layout_is_refused_with_what_is_allowed(system, parameters, allowed):
    with pytest.raises(InputError, match=allowed):
        situation(system, 1e9, 1e9, 1e9, parameters=parameters)


@pytest.mark.parametrize(
    ("parameters", "allowed"),
    [
        ({"data_disks": 4}, "data_disks is more than 1"),
        ({"parity_disks": 4}, "raidz3"),
        ({"mirrors": 2, "parity_disks": 1}, "1 in a raidz"),
        ({"record_size": "3 KiB"}, "power of"),
    ],
)
def test_an_illegal_pool_is_refused(parameters, allowed):
    with pytest.raises(InputError, match=allowed):
        pool(parameters, 6)
