"""Tests that predictions from descriptions of file systems, with constants at their prior values,
agree with measurements of the real file systems on rate-limited hosts.

Links have 1 Gbit/s, which carries 114 MiB/s of payload, and disks have 60 MiB/s. One client writes
256 MiB and calls fsync, in 2 to 3 runs for each case. Each expected time is also calculated by
hand.
"""

from __future__ import annotations

import pytest
from dfslab import discover
from dfslab.models.petri import simulate
from dfslab.models.tree.prediction import Situation
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario

MIB = 2**20
# Size of the file in MiB, payload rate in MiB/s of an emulated link of 1 Gbit/s whose limit counts
# whole frames, and rate of a disk in MiB/s.
SIZE, LINK, DISK = 256.0, 1e9 / 8 * 1448 / 1514 / MIB, 60.0


def situation(system, servers, latency="50 us", **keys):
    """Returns the situation (deployment, file system and workload) with each role on its own node
    and `servers` nodes of the data role. `latency` is one way."""
    parameters = keys.pop("parameters", {})
    nodes = [
        {
            "name": role.name,
            "count": servers if role.kind == "data" else 1,
            "cores": 2,
            "roles": {role.name: 1},
            "adapter": {"bandwidth": "1 Gbit/s"},
            "disk": {"read_rate": "60 MiB/s", "write_rate": "60 MiB/s", "latency": "0 s"},
        }
        for role in discover.file_system(system).roles
    ]
    workload = {
        "name": "sequential_write",
        "file_size": "256 MiB",
        "operations_per_client": 2,
        "fsync": True,
        **keys,
    }
    scenario = build(
        Scenario,
        {
            "name": "figures",
            "file_system": {"name": system, **parameters},
            "workload": workload,
            "deployment": {"node": nodes, "network": {"latency": latency}},
        },
    )
    check(scenario)
    return Situation(scenario)


def rates_mib_per_s(given):
    """Returns two throughputs in MiB/s: (result of the formula, result of the Petri net). In both,
    all constants have their prior values, as without calibration."""
    size = given.environment["file_size"] / MIB
    net = simulate(given, given.constants, service="deterministic")
    return given.predict(given.constants).rate_per_s * size, net.rate_per_s * size


# The keys are names of cases. Each value is (number of bricks, parameters, measured MiB/s, seconds
# calculated by hand). The client sends every copy, and then fsync makes the bricks write their page
# caches to disk.
GLUSTER = {
    "distribute": (4, {}, [37.4], SIZE / LINK + SIZE / DISK),
    "replica 2": (4, {"copies": 2}, [28.4, 28.3, 29.0], 2 * SIZE / LINK + SIZE / DISK),
    "replica 3": (3, {"copies": 3}, [23.1], 3 * SIZE / LINK + SIZE / DISK),
    "disperse 2+1": (
        3,
        {"copies": 3, "data_fragments": 2},
        [46.0, 46.1, 45.5],
        1.5 * SIZE / LINK + SIZE / 2 / DISK,
    ),
}


@pytest.mark.grid
@pytest.mark.parametrize("layout", GLUSTER)
def test_a_forced_write_to_glusterfs(layout):
    bricks, parameters, observed, by_hand_s = GLUSTER[layout]
    for rate in rates_mib_per_s(situation("glusterfs", bricks, parameters=parameters)):
        assert rate == pytest.approx(SIZE / by_hand_s, rel=0.03)
        assert rate == pytest.approx(sum(observed) / len(observed), rel=0.15)


def test_shards_are_forced_on_all_bricks_at_once():
    """fsync writes the shards of a file to the disks of all bricks at the same time. Measurements
    of 512 MiB in 32 shards on 4 bricks gave 70.5, 59.2 and 63.8 MiB/s, while one brick gives 38
    MiB/s."""
    sharded = {"shard": 1, "shard_block_size": "16 MiB"}
    given = situation("glusterfs", 4, parameters=sharded, file_size="512 MiB")
    by_hand_s = 512 / LINK + 1.3 * 512 / 4 / DISK
    for rate in rates_mib_per_s(given):
        # The calculation by hand ignores frame headers and calls, which take 3 %.
        assert rate == pytest.approx(512 / by_hand_s, rel=0.04)
        assert rate == pytest.approx((70.5 + 59.2 + 63.8) / 3, rel=0.15)
    one_shard = situation("glusterfs", 4, parameters=sharded, file_size="16 MiB")
    whole = situation("glusterfs", 4, file_size="16 MiB")
    for rate, same in zip(rates_mib_per_s(one_shard), rates_mib_per_s(whole), strict=True):
        assert rate == pytest.approx(same, rel=1e-6)


# The keys are names of cases. Each value is (file system, parameters, measured MiB/s). MooseFS
# forwards copies from page cache to page cache, so its goal (number of copies) costs almost
# nothing.
#
# An earlier measurement on a busy machine with two cores gave 66 to 111 MiB/s at goals 2 and 3.
# That measurement does not apply to hosts with separate processors.
OTHERS = {
    "moosefs goal 1": ("moosefs", {"goal": 1}, [113, 113, 113.4]),
    "moosefs goal 2": ("moosefs", {"goal": 2}, [113.7]),
    "moosefs goal 3": ("moosefs", {"goal": 3}, [110.3]),
    "cephfs size 2": ("cephfs", {"copies": 2}, [79.5, 72.6]),
    "cephfs striped": (
        "cephfs",
        {"copies": 2, "stripe_unit": "64 KiB", "stripe_count": 4, "object_size": "1 MiB"},
        [79],
    ),
}


@pytest.mark.parametrize("layout", OTHERS)
def test_a_forced_write_where_servers_hand_copies_on(layout):
    system, parameters, observed = OTHERS[layout]
    for rate in rates_mib_per_s(situation(system, 3, parameters=parameters)):
        assert rate == pytest.approx(sum(observed) / len(observed), rel=0.15)


# Each case is (file system, operation, number of round trips, measured rates). The measured rates
# are operations per second at a one-way latency of 0.5 ms and of 2 ms; None if not measured. The
# number of round trips explains both rates.
TRIPS = [
    ("glusterfs", "create", 3, (224, 72)),
    ("glusterfs", "delete", 2, (475, 107)),
    ("glusterfs", "stat", 1, (None, 218)),
    ("moosefs", "create", 2, (402, 114)),
    ("moosefs", "stat", 1, (789, 228)),
]


@pytest.mark.parametrize(("system", "operation", "trips", "observed"), TRIPS)
def test_a_name_costs_round_trips(system, operation, trips, observed):
    times_s = []
    for latency, rate in zip(("0.5 ms", "2 ms"), observed, strict=True):
        given = situation(
            system,
            3,
            latency,
            name="metadata",
            operation=operation,
            parameters={"goal": 1} if system == "moosefs" else {},
        )
        times_s.append(1 / given.predict(given.constants).rate_per_s)
        if rate:
            assert 1 / times_s[-1] == pytest.approx(rate, rel=0.25)
    assert (times_s[1] - times_s[0]) / (2 * 1.5e-3) == pytest.approx(trips, abs=0.01)


def test_a_small_file_comes_with_its_lookup_only_if_nothing_forbids():
    """A small file is read in one round trip if the lookup returns its content. Otherwise lookup,
    open, read and flush take a round trip each. If the lookup returns the content but `open_behind`
    is off, lookup, open and flush take a round trip each. The latency is 2 ms one way."""
    cases = [
        ({}, "64 KiB", 1),
        ({}, "65 KiB", 4),
        ({"quick_read": 0}, "64 KiB", 4),
        ({"open_behind": 0}, "64 KiB", 3),
        ({"shard": 1}, "64 KiB", 4),
        ({"copies": 3, "data_fragments": 2}, "64 KiB", 4),
    ]
    for parameters, size, trips in cases:
        given = situation(
            "glusterfs",
            3,
            "2 ms",
            name="sequential_read",
            file_size=size,
            fsync=False,
            parameters=parameters,
        )
        given.environment["brick.nic_bandwidth"] = given.environment["client.nic_bandwidth"] = 1e12
        nothing_kept = {**dict.fromkeys(given.constants, 1e-15), "kept": 0.0}
        time_s = 1 / given.predict(nothing_kept).rate_per_s
        assert time_s == pytest.approx(trips * 4e-3, rel=1e-3), (parameters, size)


def test_a_window_is_written_once_a_round_trip():
    """Write-behind sends one window per round trip: 1 MiB at a round trip of 10 ms gives 100 MiB/s
    on a link of 119 MiB/s. Without a window, one call of 128 KiB is sent per round trip."""
    rates = {}
    for key, parameters in (
        ("ahead", {}),
        ("half", {"write_behind_window_size": "512 KiB"}),
        ("in turn", {"write_behind": 0}),
    ):
        given = situation("glusterfs", 3, "5 ms", fsync=False, parameters=parameters)
        rates[key] = rates_mib_per_s(given)
    in_turn = 0.125 / (0.01 + 0.125 / LINK + 3.5e-4)
    for ahead, half, one in zip(*rates.values(), strict=True):
        assert ahead == pytest.approx(100, rel=0.04)
        assert half == pytest.approx(50, rel=0.03)
        assert one == pytest.approx(in_turn, rel=0.03)


def test_a_listing_asks_all_bricks_in_turn_or_at_once():
    """Listing a directory on three bricks takes seven round trips if the bricks are read one after
    the other, or three if they are read in parallel. Each brick is read until it has no more
    entries. The latency is 2 ms one way."""
    for parallel, trips in ((0, 7), (1, 3)):
        given = situation(
            "glusterfs",
            3,
            "2 ms",
            name="metadata",
            operation="list",
            parameters={"parallel_readdir": parallel},
        )
        given.environment["entries"] = 3.0
        time_s = 1 / given.predict(dict.fromkeys(given.constants, 1e-15)).rate_per_s
        assert time_s == pytest.approx(trips * 4e-3, rel=0.01)


@pytest.mark.parametrize(
    ("parameters", "allowed"),
    [
        ({"shard": 2}, "must be one of 0, 1"),
        ({"io_thread_count": 65}, "up to 64"),
        ({"shard": 1, "copies": 3, "data_fragments": 2}, "0 with data_fragments"),
        ({"shard_block_size": "1 MiB"}, "at least"),
        ({"read_ahead_page_count": 2.5}, "whole number"),
    ],
)
def test_wrong_volume_options_are_refused(parameters, allowed):
    with pytest.raises(InputError, match=allowed):
        situation("glusterfs", 3, parameters=parameters)
