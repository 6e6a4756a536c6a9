"""Tests of the nets of the PVFS paper: closed forms where nothing queues, and the paper's findings
where requests queue."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import pytest
from dfslab.filesystems.pvfs import net as pvfs
from dfslab.filesystems.pvfs.net import GIB, KIB, MIB, PaperHardware, Setup, simulate
from dfslab.nets.engine import check
from dfslab.nets.net_json import json_text
from dfslab.spec.model import InputError

BLOCKS = (64 * KIB, 256 * KIB, 1 * MIB, 16 * MIB, 100 * MIB)


def rate(operation: str, clients: int = 1, **keys) -> float:
    """Returns the aggregate rate of all clients in B/s. The net's units are stripes by default,
    which takes less time to simulate than packets."""
    return simulate(Setup(operation, clients, **{"grain": "chunk", **keys})).throughput_bytes_per_s


def frame_s(size: int, hardware: PaperHardware) -> float:
    """Returns the time in seconds that `size` bytes take on the wire, including the overhead of
    every packet."""
    packets = ceil(size / pvfs.MSS_BYTES)
    return (size + packets * pvfs.FRAME_OVERHEAD_BYTES) / hardware.network_rate_bytes_per_s


def test_one_cached_stripe_takes_the_sum_of_its_steps():
    size, h = 64 * KIB, PaperHardware()
    point = simulate(Setup("read", file_size=size, block_size=size, grain="chunk"))
    opened = h.manager_call_s + 2 * h.network_latency_s
    asked = h.client_call_s + h.network_latency_s
    served = h.server_request_s + size / h.memory_rate_bytes_per_s
    carried = 2 * frame_s(size, h) + h.network_latency_s
    copied = size / h.memory_rate_bytes_per_s
    assert point.time_s == pytest.approx(opened + asked + served + carried + copied, abs=1e-8)


def test_one_written_stripe_is_synced_when_the_file_is_closed():
    size, h = 64 * KIB, PaperHardware()
    point = simulate(Setup("write", file_size=size, block_size=size, grain="chunk"))
    opened = h.manager_call_s + 2 * h.network_latency_s
    sent = h.client_call_s + size / h.memory_rate_bytes_per_s
    sent += 2 * frame_s(size, h) + h.network_latency_s
    stored = h.server_request_s + size / h.memory_rate_bytes_per_s + h.network_latency_s
    disk = h.disk_seek_s + h.disk_rotation_s + size / h.disk_write_rate_bytes_per_s
    closed = h.client_call_s + 2 * h.network_latency_s + disk
    assert point.time_s == pytest.approx(opened + sent + stored + closed, abs=1e-8)


@pytest.mark.parametrize("block", [4 * KIB, 64 * KIB, 192 * KIB, 1 * MIB, 7 * 64 * KIB])
@pytest.mark.parametrize("size", [1, 100_000, 3 * MIB + 17])
@pytest.mark.parametrize("operation", ["read", "write"])
def test_every_byte_is_moved_whatever_the_sizes(operation, size, block):
    """The net transfers all bytes for any file and block size, although integer formulas cut blocks
    into stripes: every client ends, and not earlier than the wire allows."""
    setup = Setup(operation, 3, file_size=size, block_size=block)
    point = simulate(setup)
    assert point.time_s >= frame_s(size, setup.hardware)


@pytest.mark.parametrize("operation", ["read", "write"])
def test_packets_and_stripes_agree_where_the_pipe_is_full(operation):
    """Simulating packets or whole stripes gives almost the same rate if many stripes are in flight,
    but not if only one is."""
    for clients, apart in ((1, 0.05), (4, 0.15)):
        many = [
            rate(operation, clients, file_size=64 * MIB, block_size=16 * MIB, grain=grain)
            for grain in ("packet", "chunk")
        ]
        assert many[0] == pytest.approx(many[1], rel=apart)
    one = [
        rate(operation, 1, file_size=16 * MIB, block_size=64 * KIB, grain=grain)
        for grain in pvfs.GRAINS
    ]
    assert one[0] > 1.2 * one[1]
    assert one[1] == pytest.approx(one[2], rel=0.01)


def test_small_files_pay_the_sync_at_close():
    """Writes are slow below the file size at which all servers and the cache take part (section 4.3
    of the PVFS paper), because closing a file syncs it."""
    sizes = [64 * KIB, 256 * KIB, 2 * MIB, 64 * MIB]
    rates = [rate("write", file_size=size, block_size=min(size, MIB)) for size in sizes]
    assert rates == sorted(rates)
    assert rates[0] < 0.1 * rates[-1]
    quick = replace(PaperHardware(), disk_seek_s=0.0, disk_rotation_s=0.0)
    small = rate("write", file_size=256 * KIB, block_size=256 * KIB, hardware=quick)
    assert small > 2 * rates[1]
    # Reads of cached files have no such slow range: packets of the network limit them at every
    # size.
    reads = [rate("read", file_size=size, block_size=256 * KIB) for size in (2 * MIB, 64 * MIB)]
    assert reads[0] == pytest.approx(reads[1], rel=0.05)


@pytest.mark.parametrize("operation", ["read", "write"])
def test_the_rate_collapses_when_files_outgrow_memory(operation):
    small = replace(PaperHardware(), memory_bytes=GIB // 4)
    within = rate(operation, file_size=256 * MIB, hardware=small)
    beyond = rate(operation, file_size=2 * GIB, hardware=small)
    assert beyond < 0.8 * within
    assert rate(operation, file_size=2 * GIB) > 1.2 * beyond


def test_interleaved_streams_of_many_clients_cost_seeks():
    """With eight clients, each server alternates between many streams, which costs seeks on
    uncached reads (section 6.2.3 of the PVFS paper)."""
    keys = {"file_size": 64 * MIB, "cached": False, "block_size": 4 * MIB}
    each = [rate("read", clients, **keys) / clients for clients in (1, 4, 8)]
    assert each[0] > each[1] > each[2]
    still = replace(PaperHardware(), disk_seek_s=0.0, disk_rotation_s=0.0)
    assert rate("read", 8, hardware=still, **keys) > 1.3 * rate("read", 8, **keys)
    # Flash storage with channels has no seeks, so the number of streams does not matter.
    flash = replace(still, disk_channels=4)
    assert rate("read", 8, hardware=flash, **keys) >= rate("read", 8, hardware=still, **keys)


def test_last_packets_take_their_turn_so_that_no_convoy_forms():
    """Eight clients are not slower than four; sections 5.2 and 6.2 of the PVFS paper give no reason
    why they should be.

    Servers send packets first come, first served. If full packets had priority over last packets,
    the clients of a server would end together, move to the next server together, and share the rate
    of one adapter.
    """
    keys = {"file_size": 32 * MIB, "block_size": 64 * KIB, "grain": "packet"}
    rates = [rate("read", clients, **keys) for clients in (1, 2, 4, 6, 8)]
    assert all(after > 0.97 * before for before, after in zip(rates, rates[1:], strict=False))
    adapters = 4 * 64 * KIB / frame_s(64 * KIB, PaperHardware())
    assert rates[-1] == pytest.approx(adapters, rel=0.03)


@pytest.mark.parametrize("operation", ["read", "write"])
def test_larger_blocks_use_more_servers_at_once(operation):
    """One client's rate rises with the block size up to the rate of its adapter, because larger
    blocks use more servers at once (Figures 10 and 11 of the PVFS paper)."""
    rates = [rate(operation, file_size=100 * MIB, block_size=block) for block in BLOCKS]
    assert all(after > 0.97 * before for before, after in zip(rates, rates[1:], strict=False))
    assert rates[2] > 1.3 * rates[0]
    assert max(rates) < PaperHardware().network_rate_bytes_per_s


def test_dirty_pages_throttle_the_writer():
    """A writer is throttled to the disk's rate above the limit of dirty pages, and runs at memory
    speed below the limit."""
    low = replace(PaperHardware(), dirty_background_ratio=0.002, dirty_limit_ratio=0.004)
    high = replace(PaperHardware(), dirty_background_ratio=0.002, dirty_limit_ratio=0.4)
    slow = (
        replace(low, disk_write_rate_bytes_per_s=5e6),
        replace(high, disk_write_rate_bytes_per_s=5e6),
    )
    throttled, free = (rate("write", file_size=256 * MIB, hardware=one) for one in slow)
    # Closing syncs all data, so both runs end at the disks' rate, and the throttled run does not
    # end earlier.
    assert throttled <= free * 1.001
    assert free < 4 * 5e6


def test_the_paper_scale_nets_are_sound():
    for build in (pvfs.write_net, pvfs.read_net):
        net = build(Setup(clients=8))
        report = check(net)
        assert report.places > 10
        json_text(net.document())


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"operation": "append"}, "must be one of read, write, replay"),
        ({"grain": "byte"}, "must be one of packet, chunk, flow"),
        ({"clients": 0}, "clients = 0: must be at least 1"),
        ({"block_size": 96 * KIB}, "must divide or be a multiple"),
        ({"hardware": PaperHardware(disk_seek_s=-1)}, "disk_seek_s = -1: is negative"),
    ],
)
def test_wrong_setups(keys, words):
    with pytest.raises(InputError, match=words):
        Setup(**keys)
