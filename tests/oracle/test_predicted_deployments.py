"""Tests that predictions from descriptions of hardware alone agree with measurements that were
published for the described hardware."""

from __future__ import annotations

import pytest
from dfslab.filesystems.lustre import operations as lustre
from dfslab.filesystems.zfs import operations as zfs
from dfslab.models.tree.ignored import ignored
from dfslab.models.tree.limits import limits_of
from dfslab.models.tree.prediction import Situation
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from support.predicted import (
    SYSTEMS,
    WITHOUT_DISKS,
    limit,
    rate_bytes_per_s,
    simulated_bytes_per_s,
    situation_of,
    table_of,
)

MB = 1e6
BIG = {"file_size": "1 GiB", "transfer_size": "128 KiB", "operations_per_client": 1}
# File systems whose clients may keep bytes of a written file in memory. The values are expressions
# for the largest number of bytes that one client keeps.
KEPT_BY_CLIENTS = {"lustre": lustre.absorbed_bytes, "zfs": zfs.absorbed_bytes}
ON_DISKS = [one for one in SYSTEMS if one not in WITHOUT_DISKS]
# File systems whose clients cannot make a write call wait for a disk: MooseFS acknowledges from
# memory, and an S3 object is stored only when it is closed.
WITHOUT_FORCE = (*WITHOUT_DISKS, "moosefs", "s3")


@pytest.mark.parametrize("system", ON_DISKS)
def test_a_cold_sequential_read_moves_the_head_rarely(system):
    """One client reads 1 GiB sequentially at more than 100 MB/s. A disk has a rate of 150 MB/s and
    a latency of 8 ms, which is needed only when the head moves. With a movement for each call, the
    rate would be far lower."""
    given = situation_of(system, "sequential_read", cache="cold", **BIG)
    assert rate_bytes_per_s(given) > 100 * MB


@pytest.mark.parametrize("system", ON_DISKS)
def test_a_random_read_pays_for_every_call(system):
    """A disk needs 8 ms for each call of 128 KiB, plus the transfer at 150 MB/s, so one disk gives
    14.8 MB/s. Stripes and replicas may spread the calls over several disks, so up to four times
    this rate is accepted."""
    given = situation_of(system, "random_read", cache="cold", **BIG)
    assert 5 * MB < rate_bytes_per_s(given) < 4 * 14.8 * MB


@pytest.mark.parametrize("system", ["hdfs", "glusterfs", "moosefs", "local"])
@pytest.mark.parametrize("workload", ["sequential_read", "random_read"])
def test_the_net_moves_the_head_as_often(system, workload):
    given = situation_of(system, workload, cache="cold", **{**BIG, "file_size": "64 MiB"})
    assert simulated_bytes_per_s(given) == pytest.approx(rate_bytes_per_s(given), rel=0.08)


@pytest.mark.parametrize("system", [one for one in ON_DISKS if one not in WITHOUT_FORCE])
@pytest.mark.parametrize("keys", [{"fsync": "write"}, {"sync_io": "data"}, {"sync_io": "all"}])
def test_every_forced_write_waits_for_the_disk(system, keys):
    """Each of the 2,048 calls of 128 KiB must take at least the disk's latency of 8 ms and the
    transfer of a quarter of its bytes. Only a quarter counts, because several disks may share a
    call."""
    size = {**BIG, "file_size": "256 MiB"}
    given = situation_of(system, "sequential_write", **size, **keys)
    least_s = 2048 * (0.008 + 131072 / 4 / 150e6)
    found = given.predict(given.constants)
    assert 1 / found.rate_per_s > least_s
    assert "disk" in limit(given)


@pytest.mark.parametrize("system", ["moosefs", "juicefs"])
def test_a_forced_write_waits_for_its_answer_where_no_disk_is_forced(system):
    size = {**BIG, "file_size": "256 MiB"}
    slow, fast = (
        situation_of(system, "sequential_write", fsync=fsync, **size) for fsync in ("write", False)
    )
    assert rate_bytes_per_s(slow) < 0.5 * rate_bytes_per_s(fast)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("workload", ["sequential_read", "sequential_write"])
def test_no_stream_is_faster_than_the_payload_of_its_link(system, workload):
    """A predicted stream is not faster than the 117.7 MB/s that Ethernet of 1 Gbit/s carries of a
    TCP stream. The file systems local and openzfs have no link and are skipped."""
    if system in ("local", "openzfs"):
        return
    keys = {**BIG, "adapter": {"bandwidth": "1 Gbit/s"}, "operations_per_client": 4}
    given = situation_of(system, workload, **{**keys, "cache": "cold"})
    carried = 1 - given.environment["kept"]
    if system in KEPT_BY_CLIENTS:
        # The client's cache may hold the end of a file until after the run. These bytes are not
        # sent over the link during the run.
        held_bytes = given.reader(given.constants).value(KEPT_BY_CLIENTS[system])
        carried -= (workload == "sequential_write") * held_bytes / 2**30
    assert rate_bytes_per_s(given) * carried < 117.7 * MB


@pytest.mark.parametrize("system", ["hdfs", "alluxio", "s3", "hadoop", "juicefs"])
def test_one_stream_is_held_back_by_its_window_on_a_long_path(system):
    """One stream with 4 MiB in flight at a round trip of 76 ms reaches at most 55 MB/s."""
    # Alluxio's FUSE client does not read through the kernel's cache as one continuous stream, so
    # this test uses direct reads.
    keys = {**BIG, "cache": "direct" if system == "alluxio" else "warm"}
    given = situation_of(system, "sequential_read", network={"latency": "38 ms"}, **keys)
    assert rate_bytes_per_s(given) < 4 * 2**20 / 0.076
    wider = {"latency": "38 ms", "window": "64 MiB"}
    freed = situation_of(system, "sequential_read", network=wider, **keys)
    assert rate_bytes_per_s(freed) > 1.5 * rate_bytes_per_s(given)


def replicated(disk_rate, link, **keys):
    """Returns a configuration of GlusterFS that writes three replicas. `disk_rate` is the rate of
    each disk, `link` the bandwidth of each adapter."""
    return situation_of(
        "glusterfs",
        "sequential_write",
        parameters={"copies": 3},
        adapter={"bandwidth": link},
        disk={"read_rate": disk_rate, "write_rate": disk_rate, "latency": "50 us"},
        operations_per_client=1,
        **keys,
    )


@pytest.mark.parametrize("servers", [3, 6])
def test_three_copies_share_the_clients_link(servers):
    """The client sends three copies of each byte through its link of 1 Gbit/s. The predicted rate
    is therefore a third of the link's rate, both with three and with six servers. This rate is
    within 3 % of the measured rate of 38.8 MB/s."""
    keys = {"file_size": "1 GiB", "transfer_size": "1 MiB", "servers": servers}
    given = replicated("250 MB/s", "1 Gbit/s", network={"latency": "100 us"}, **keys)
    assert rate_bytes_per_s(given) == pytest.approx(38.8 * MB, rel=0.03)
    assert limit(given).startswith("client.nic.out")


def test_equal_groups_of_one_role_share_its_limit():
    """Two equal groups of data servers limit a workload as much as one group with all these
    servers."""

    def limit_of_disks(counts):
        table = table_of("hdfs", "sequential_read", cache="cold", **BIG, clients=4)
        nodes = table["deployment"]["node"]
        (data,) = (one for one in nodes if "datanode" in one["roles"])
        nodes.remove(data)
        nodes += [{**data, "name": f"group{i}", "count": n} for i, n in enumerate(counts)]
        given = Situation(build(Scenario, table))
        found = limits_of(given, given.constants)
        return sum(one.share for one in found if one.name.endswith(".disk"))

    assert limit_of_disks([2, 2]) == pytest.approx(limit_of_disks([4]), rel=0.05)
    assert limit_of_disks([4]) > 0.1


def test_direct_writes_of_three_copies_take_the_client_its_time():
    """The predicted rate is near the measured one of about 150 MB/s, for adapters of 8 Gbit/s and
    bricks with disks of 670 MB/s. Write-behind ignores O_DIRECT, so the client does not wait for
    answers of the bricks. The client's processor limits the rate, because the client sends each
    byte three times."""
    keys = {"file_size": "6 GiB", "transfer_size": "128 KiB", "servers": 3}
    direct = replicated("670 MB/s", "8 Gbit/s", cache="direct", **keys)
    assert rate_bytes_per_s(direct) == pytest.approx(150 * MB, rel=0.2)
    assert limit(direct).startswith("client.cpu")
    wider = replicated("670 MB/s", "16 Gbit/s", cache="direct", **keys)
    assert rate_bytes_per_s(wider) == pytest.approx(rate_bytes_per_s(direct), rel=0.05)


def test_names_over_a_long_way_wait_for_round_trips():
    """Published rates are 5 to 10 operations per second at a round trip of 22 ms; a create takes 7
    round trips."""
    given = situation_of(
        "juicefs", "mdtest_hard", items=100, file_size="0 B", network={"latency": "11 ms"}
    )
    found = given.predict(given.constants)
    assert 5 < found.rate_per_s < 10
    first = limits_of(given, given.constants)[0]
    assert first.name == "network latency"
    assert first.share > 0.9
    assert first.round_trips["create"] == pytest.approx(7, abs=0.5)
    assert "about 7 round trips" in limit(given)


def test_the_latency_of_adapters_adds_no_round_trips():
    """A create takes 7 round trips, with and without a latency of the adapters. If the network has
    no latency, round trips cannot be counted."""
    keys = {"items": 100, "file_size": "0 B", "adapter": {"latency": "5 ms"}}
    given = situation_of("juicefs", "mdtest_hard", network={"latency": "11 ms"}, **keys)
    (found,) = (one for one in limits_of(given, given.constants) if one.round_trips)
    assert found.round_trips["create"] == pytest.approx(7, abs=0.5)
    without = situation_of("juicefs", "mdtest_hard", network={"latency": "0 ms"}, **keys)
    assert all(not one.round_trips for one in limits_of(without, without.constants))


@pytest.mark.parametrize("latency", ["5 ms", "25 ms", "50 ms"])
@pytest.mark.parametrize("copies", [1, 3])
def test_small_files_between_sites_wait_for_round_trips(latency, copies):
    keys = {"file_size": "80 KiB", "transfer_size": "80 KiB", "operations_per_client": 98}
    given = situation_of(
        "glusterfs",
        "sequential_write",
        servers=3,
        parameters={"copies": copies},
        network={"latency": latency},
        adapter={"bandwidth": "1 Gbit/s"},
        **keys,
    )
    assert limit(given).startswith("network latency")


def test_a_fuse_read_of_alluxio_opens_its_blocks_again():
    """The predicted times are in the ranges of published times. Reading 1 GB through Alluxio's FUSE
    client takes 61 to 120 s, but only 3 to 10 s if the calls arrive in sequential order, as direct
    reads do."""
    through_cache = situation_of("alluxio", "sequential_read", **BIG)
    assert 61 < 1 / through_cache.predict(through_cache.constants).rate_per_s < 120
    in_order = situation_of("alluxio", "sequential_read", cache="direct", **BIG)
    assert 3 < 1 / in_order.predict(in_order.constants).rate_per_s < 10


# The keys are file sizes in GB. The values are the seconds that Do et al. 2021 measured for writing
# the file (arXiv 2101.01335, experiment 1).
WRITTEN = {20: 6.5, 50: 18.7, 75: 38.1, 100: 99.2}


@pytest.mark.parametrize("gigabytes", WRITTEN)
def test_a_page_cache_takes_what_may_be_dirty(gigabytes):
    """The predicted time is within 35 % of the measured time. The host has 250 GiB of memory and a
    disk of 420 MB/s. The host's thresholds for dirty pages are not published, so the tolerance is
    large."""
    given = situation_of(
        "local",
        "sequential_write",
        file_size=f"{gigabytes} GB",
        transfer_size="1 MiB",
        operations_per_client=1,
        disk={"read_rate": "510 MB/s", "write_rate": "420 MB/s", "latency": "100 us"},
        memory="250 GiB",
    )
    found = given.predict(given.constants)
    assert 1 / found.rate_per_s == pytest.approx(WRITTEN[gigabytes], rel=0.35)


@pytest.mark.parametrize(("clients", "write_s", "read_s"), [(2, 17.4, 11.2), (3, 26.5, 16.7)])
def test_an_nfs_server_that_writes_through_waits_for_its_disk(clients, write_s, read_s):
    """The predicted times are within 25 % of the measured times. Each client writes and reads 3 GB
    over 25 Gbit/s (Do et al. 2021, experiment 3)."""
    keys = {
        "file_size": "3 GB",
        "transfer_size": "1 MiB",
        "operations_per_client": 1,
        "clients": clients,
        "adapter": {"bandwidth": "25 Gbit/s"},
        "disk": {"read_rate": "515 MB/s", "write_rate": "375 MB/s", "latency": "100 us"},
        "memory": "250 GiB",
    }
    written = situation_of("nfs", "sequential_write", sync_io="data", **keys)
    read = situation_of("nfs", "sequential_read", cache="cold", **keys)
    for given, measured_s in ((written, write_s), (read, read_s)):
        took_s = clients / given.predict(given.constants).rate_per_s
        assert took_s == pytest.approx(measured_s, rel=0.25)


CHANGED = [
    ({"fsync": "write"}, "workload.fsync"),
    ({"sync_io": "data"}, "workload.sync_io"),
    ({"sync_io": "all"}, "workload.sync_io"),
    ({"cache": "direct"}, "workload.cache"),
    ({"mmap": True}, "workload.mmap"),
    ({"processes": 1}, "workload.processes"),
    ({"nodes": 1}, "workload.nodes"),
    ({"network": {"latency": "50 us", "jitter": "1 ms"}}, "deployment.network.jitter"),
    ({"network": {"latency": "50 us", "loss": 0.1}}, "deployment.network.loss"),
    ({"network": {"latency": "50 us", "congestion": "reno"}}, "deployment.network.congestion"),
    ({"network": {"latency": "5 ms"}}, "deployment.network.latency"),
    ({"network": {"latency": "50 us", "window": "4 KiB"}}, "deployment.network.window"),
]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(("keys", "key"), CHANGED, ids=lambda one: str(one)[:24])
def test_a_key_moves_the_prediction_or_is_reported(system, keys, key):
    size = {**BIG, "file_size": "64 MiB"}
    usual, changed = (
        situation_of(system, "sequential_write", **{**size, **more}) for more in ({}, keys)
    )
    rates = [one.predict(one.constants).rate_per_s for one in (usual, changed)]
    moved = abs(rates[0] / rates[1] - 1) > 1e-9
    reported = key in ignored(changed, changed.constants)
    assert moved != reported
