"""Tests that descriptions count the requests, round trips and messages that a file system's client
makes. The expected numbers are closed forms or come from a naive simulation of the kernel."""

from __future__ import annotations

import pytest
from dfslab.models.tree.reader import TreeReader
from dfslab.spec.steps.operation import cpu
from dfslab.spec.steps.read_ahead import WINDOW_BYTES, windows_of
from support.predicted import situation_of

KIB, MIB = 2**10, 2**20
PAGE_BYTES = 4096
DELAY_S = 10e-3
SLOW = {"network": {"latency": "10 ms"}, "servers": 3}


def naive_windows(size_bytes, call_bytes):
    """Returns the number of requests that the kernel's read-ahead makes for a sequential read. The
    kernel makes one request for each window. The sizes of the windows are computed as in
    mm/readahead.c, and the largest window has 32 pages."""
    most = WINDOW_BYTES // PAGE_BYTES
    pages, called = -(-size_bytes // PAGE_BYTES), -(-call_bytes // PAGE_BYTES)
    # The size of the first window, as in get_init_ra_size.
    rounded = 1 << (called - 1).bit_length()
    if rounded <= most // 32:
        window = rounded * 4
    elif rounded <= most // 4:
        window = rounded * 2
    else:
        window = most
    count = 0
    while pages > 0:
        count += 1
        pages -= window
        # The size of the next window, as in get_next_ra_size.
        window = window * 4 if window < most // 16 else min(most, window * 2)
    return count


@pytest.mark.parametrize("call_bytes", [4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, MIB])
@pytest.mark.parametrize(
    "size_bytes", [4 * KIB, 16 * KIB, 20 * KIB, 48 * KIB, 128 * KIB, 512 * KIB, MIB, 64 * MIB]
)
def test_windows_are_those_of_the_kernel(size_bytes, call_bytes):
    given = situation_of("glusterfs", "sequential_read", transfer_size=f"{call_bytes} B")
    reader = TreeReader(given.placement, given.environment, given.client)
    (station, count) = next(
        iter(reader.read(cpu("client", windows_of(size_bytes))).demands.items())
    )
    assert station.kind == "cpu"
    assert count == naive_windows(size_bytes, call_bytes)


def cost(system, workload, operation="", **keys):
    """Returns the cost of the only operation of a workload. The constants have their default
    values."""
    if operation:
        keys["operation"] = operation
    given = situation_of(system, workload, **keys)
    (found,) = given.costs(given.constants).values()
    return found


def demand_s(demands, place, kind="cpu"):
    """Returns the sum, in seconds, of the demands at all stations of the kind `kind` at the place
    `place`."""
    return sum(
        s for station, s in demands.items() if (station.place, station.kind) == (place, kind)
    )


def test_write_behind_ignores_direct_io_unless_it_is_strict():
    """Write-behind of GlusterFS acknowledges direct writes, too, except with `strict_o_direct`.
    With this option, a file of 128 KiB in calls of 4 KiB takes 32 round trips more, because each
    call waits for the bricks."""
    keys = {
        "file_size": "128 KiB",
        "transfer_size": "4 KiB",
        "operations_per_client": 4,
        "cache": "direct",
        **SLOW,
    }
    usual = cost("glusterfs", "sequential_write", **keys)
    strict = cost("glusterfs", "sequential_write", parameters={"strict_o_direct": 1}, **keys)
    one_way = cost("glusterfs", "sequential_write", parameters={"write_behind": 0}, **keys)
    assert strict.latency_s == pytest.approx(one_way.latency_s, rel=1e-9)
    assert strict.latency_s - usual.latency_s == pytest.approx(32 * 2 * DELAY_S, rel=0.05)


def test_a_stream_over_a_long_path_has_two_windows_in_flight():
    """GlusterFS reads two windows of 128 KiB in each round trip, even if link and disks could
    transfer more."""
    given = situation_of(
        "glusterfs",
        "sequential_read",
        file_size="256 MiB",
        transfer_size="1 MiB",
        operations_per_client=1,
        cache="cold",
        **SLOW,
    )
    found = given.predict(given.constants)
    assert found.rate_per_s * 256 * MIB == pytest.approx(2 * 128 * KIB / (2 * DELAY_S), rel=0.02)


@pytest.mark.parametrize(("names", "calls"), [(100, 1), (1000, 7)])
def test_a_listing_of_glusterfs_takes_a_round_trip_for_each_buffer(names, calls):
    """A listing takes a round trip for each buffer of 32 KiB, where each name takes 200 bytes. Two
    more round trips open the directory and report that no name follows."""
    keys = {"operations_per_client": names, "servers": 2, "parameters": {"copies": 2}}
    slow = cost("glusterfs", "metadata", "list", network={"latency": "10 ms"}, **keys)
    fast = cost("glusterfs", "metadata", "list", network={"latency": "5 ms"}, **keys)
    assert (slow.latency_s - fast.latency_s) / (2 * 5e-3) == pytest.approx(calls + 2, rel=1e-6)


def test_names_on_a_slow_network_are_forgotten_sooner():
    """The kernel caches a name for one second. On a slow network, writing 200 small files takes
    longer than one second, because GlusterFS takes at least four round trips of 20 ms to write a
    file. So most names must be looked up again when the files are read."""
    keys = {"file_size": "4 KiB", "transfer_size": "4 KiB", "operations_per_client": 200}
    near = cost("glusterfs", "sequential_read", network={"latency": "1 us"}, servers=1, **keys)
    far = cost("glusterfs", "sequential_read", network={"latency": "10 ms"}, servers=1, **keys)
    forgotten = 1 - 1 / (200 * (0.002 + 1 / 2000 + 4 * 2 * DELAY_S + 4096 / 1.25e9))
    assert near.latency_s < 1e-3
    assert far.latency_s == pytest.approx(forgotten * 2 * DELAY_S, rel=0.05)


@pytest.mark.parametrize(("names", "asks"), [(100, False), (20_000, True)])
@pytest.mark.parametrize("operation", ["stat", "list"])
def test_a_client_of_cephfs_answers_for_the_names_that_it_keeps(operation, names, asks):
    found = cost("cephfs", "metadata", operation, operations_per_client=names)
    assert bool(demand_s(found.demands, "mds")) is asks


def test_a_deleted_file_of_cephfs_is_removed_from_its_stores_afterwards():
    given = situation_of("cephfs", "metadata", operation="delete", parameters={"copies": 3})
    (found,) = given.costs(given.constants).values()
    removed_s = 3 * given.constants["object_cpu"]
    assert demand_s(found.background, "osd") == pytest.approx(removed_s, rel=1e-9)
    assert not demand_s(found.demands, "osd")


def test_a_block_of_juicefs_that_is_not_full_is_fetched_once():
    """Direct random reads in small calls fetch the whole object of a small file once. For a large
    file, each call sends a separate request."""
    small = {"file_size": "64 KiB", "transfer_size": "4 KiB", "operations_per_client": 8}
    given = situation_of("juicefs", "random_read", cache="direct", **small)
    (found,) = given.costs(given.constants).values()
    known = given.constants
    object_s = known["object_cpu"] + 64 * KIB * known["store_byte_cpu"]
    assert demand_s(found.demands, "store") == pytest.approx(object_s, rel=1e-9)
    large = {**small, "file_size": "4 MiB"}
    calls = cost("juicefs", "random_read", cache="direct", **large)
    assert demand_s(calls.demands, "store") > 1024 * known["object_cpu"]


def test_alluxio_opens_a_block_again_only_after_a_jump_if_reads_come_in_order():
    """With `sync_read`, a sequential reader opens a block once, and a random reader opens a block
    for each call. Without `sync_read`, both open a block for each request of the kernel."""
    keys = {"file_size": "2 MiB", "transfer_size": "256 KiB", "operations_per_client": 4}
    opened = {}
    for workload in ("sequential_read", "random_read"):
        for in_order in (0, 1):
            given = situation_of(
                "alluxio", workload, parameters={"sync_read": in_order}, servers=1, **keys
            )
            (found,) = given.costs({**given.constants, "worker_byte_cpu": 1e-30}).values()
            opens = demand_s(found.demands, "worker") / given.constants["connect_cpu"]
            opened[workload, in_order] = round(opens, 6)
    assert opened == {
        ("sequential_read", 0): 16,
        ("sequential_read", 1): 1,
        ("random_read", 0): 16,
        ("random_read", 1): 8,
    }


def test_a_new_chunk_of_moosefs_is_made_before_its_data_are_sent():
    """A write of a small file with two copies takes 14 one-way latencies. Seven steps take two
    latencies each: lookup, create, the new chunk at the master, the new chunk at the chunkservers,
    the data along the chain, the acknowledgements of the data, and the end of the write."""
    keys = {
        "file_size": "4 KiB",
        "transfer_size": "4 KiB",
        "operations_per_client": 4,
        "parameters": {"goal": 2},
    }
    slow = cost("moosefs", "sequential_write", network={"latency": "10 ms"}, **keys)
    fast = cost("moosefs", "sequential_write", network={"latency": "5 ms"}, **keys)
    assert (slow.latency_s - fast.latency_s) / 5e-3 == pytest.approx(14, rel=1e-6)
