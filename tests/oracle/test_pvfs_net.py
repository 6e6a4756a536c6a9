"""Tests of the Petri nets that model the PVFS paper. Where nothing queues, the nets agree with
closed forms. Where requests queue, the nets show what the paper found."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import pytest
from dfslab.filesystems.pvfs import net as pvfs
from dfslab.filesystems.pvfs.net import GIB, KIB, MIB, MSS_BYTES, PaperHardware, Setup, simulate
from dfslab.nets.engine import check
from dfslab.nets.net_json import json_text
from dfslab.spec.input_error import InputError

BLOCKS = (64 * KIB, 256 * KIB, 1 * MIB, 16 * MIB, 100 * MIB)


def rate(operation: str, clients: int = 1, **keys) -> float:
    """Returns the aggregate rate of all clients in B/s. By default the net simulates whole stripes
    instead of packets (`grain` "chunk"), which takes less time."""
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
    requested = h.client_call_s + h.network_latency_s
    served = h.server_request_s + h.server_chunk_s + size / h.memory_rate_bytes_per_s
    carried = 2 * frame_s(size, h) + h.network_latency_s
    copied = size / h.memory_rate_bytes_per_s
    assert point.time_s == pytest.approx(opened + requested + served + carried + copied, abs=1e-8)


def written_s(size: int, h: PaperHardware) -> float:
    """Returns the time in seconds until a new file of one stripe is written but not yet closed.
    This time is the sum of three requests to the manager, a round trip for the request to the
    server, and a round trip for the data, each with the processing at client and server."""
    created = 3 * (h.manager_call_s + 2 * h.network_latency_s)
    requested = h.client_call_s + size / h.memory_rate_bytes_per_s
    requested += 2 * h.network_latency_s + h.server_request_s
    sent = 2 * frame_s(size, h) + h.network_latency_s
    stored = h.server_chunk_s + size / h.memory_rate_bytes_per_s + h.network_latency_s
    return created + requested + sent + stored


def test_one_written_stripe_is_synced_when_the_file_is_closed():
    size, h = 64 * KIB, PaperHardware()
    point = simulate(Setup("write", file_size=size, block_size=size, grain="chunk"))
    disk = h.disk_seek_s + h.disk_rotation_s + size / h.disk_write_rate_bytes_per_s
    closed = h.client_call_s + 2 * h.network_latency_s + disk
    assert point.time_s == pytest.approx(written_s(size, h) + closed, abs=1e-8)


@pytest.mark.parametrize("grain", ["packet", "chunk"])
@pytest.mark.parametrize("operation", ["read", "write"])
def test_the_laws_of_queues_hold_in_the_nets(operation, grain):
    """With the check of the laws of queues, the engine would end a run at the first broken law. No
    law is broken, and the results equal those without the check."""
    setup = Setup(operation, 3, file_size=4 * MIB, block_size=MIB, grain=grain)
    assert simulate(setup, laws=True) == simulate(setup)


def test_a_file_that_is_not_synced_at_close_waits_for_no_disk():
    size, h = 64 * KIB, PaperHardware()
    setup = Setup("write", file_size=size, block_size=size, grain="chunk", sync_on_close=False)
    point = simulate(setup)
    assert point.time_s == pytest.approx(written_s(size, h), abs=1e-8)
    assert point.utilisation["server.disk"] == 0


def test_clients_of_one_node_share_its_adapter_in_both_directions():
    """Four clients on one node move at most as much as one adapter carries. Four clients on four
    nodes move more."""
    most = MSS_BYTES / frame_s(MSS_BYTES, PaperHardware())
    for operation in ("read", "write"):
        keys = {"file_size": 16 * MIB, "block_size": MIB, "sync_on_close": False}
        shared = rate(operation, 4, client_nodes=1, **keys)
        assert 0.9 * most < shared <= most
        assert rate(operation, 4, client_nodes=4, **keys) > 2 * shared
        # Servers on one node share its adapter as well.
        assert rate(operation, 4, server_nodes=1, **keys) <= most


def test_cores_that_all_nodes_share_limit_the_rate():
    """Each byte is copied twice, once at the client and once at the server. If all nodes share one
    slow core, the total rate is at most half the rate at which the core copies."""
    slow = replace(PaperHardware(), memory_rate_bytes_per_s=50e6)
    keys = {"file_size": 16 * MIB, "block_size": MIB, "sync_on_close": False, "hardware": slow}
    for operation in ("read", "write"):
        found = rate(operation, 4, shared_cores=1, **keys)
        assert 0.7 * 25e6 < found <= 25e6
        assert rate(operation, 4, shared_cores=4, **keys) > 1.8 * found
        assert rate(operation, 4, **keys) > 1.8 * found


def test_a_file_uses_no_more_servers_than_its_stripes():
    """One client's rate depends on the number of servers that store its file, not on the number of
    deployed servers. Several clients together use more servers."""
    keys = {"file_size": 16 * MIB, "block_size": 4 * MIB, "start_seed": 3, "stripe_count": 2}
    fast = replace(PaperHardware(), network_rate_bytes_per_s=1e9)
    few, many = (rate("read", 1, servers=n, hardware=fast, **keys) for n in (2, 16))
    assert many == pytest.approx(few, rel=1e-9)
    few, many = (rate("read", 8, servers=n, hardware=fast, **keys) for n in (2, 16))
    assert many > 2 * few


def test_files_start_at_random_servers_and_every_server_may_be_first():
    setup = Setup(clients=400, start_seed=5)
    firsts = [setup.first_server(client) for client in range(400)]
    assert {firsts.count(server) > 60 for server in range(4)} == {True}
    assert firsts != [client % 4 for client in range(400)]
    again = [replace(setup, start_seed=6).first_server(client) for client in range(400)]
    assert again != firsts
    # If all stripes of a file are on one server, only this server gets requests. The simulated rate
    # therefore equals the rate with a single server.
    for seed in (1, 2, 3):
        one = Setup(clients=1, stripe_count=1, start_seed=seed, file_size=MIB, grain="chunk")
        assert simulate(one).throughput_bytes_per_s == pytest.approx(
            rate("read", 1, servers=1, file_size=MIB), rel=1e-9
        )


def test_taking_an_item_out_takes_longer_the_more_items_wait():
    """If taking an item out of a receive buffer takes longer the fuller the buffer is, small blocks
    are slowed more than large ones (section 6.2.1 of the PVFS paper)."""
    growing = replace(PaperHardware(), dequeue_s=2e-3)
    slower = {}
    for block in (64 * KIB, 16 * MIB):
        keys = {"file_size": 16 * MIB, "block_size": block, "sync_on_close": False}
        slower[block] = rate("write", 8, hardware=growing, **keys) / rate("write", 8, **keys)
    assert slower[64 * KIB] < 0.8 * slower[16 * MIB] < 1


def test_smaller_flow_buffers_overlap_storing_with_receiving():
    """While a block is still arriving, the server already stores its first flow buffers. A larger
    flow buffer delays the start of storing and lowers the rate."""
    slow = replace(PaperHardware(), memory_rate_bytes_per_s=100e6, server_chunk_s=0.0)
    keys = {"file_size": 16 * MIB, "block_size": 16 * MIB, "servers": 1, "sync_on_close": False}
    rates = [
        rate("write", 1, hardware=slow, flow_buffer=size, **keys)
        for size in (64 * KIB, 1 * MIB, 16 * MIB)
    ]
    assert rates[0] > 1.02 * rates[1] > 1.2 * rates[2]


@pytest.mark.parametrize("block", [4 * KIB, 64 * KIB, 192 * KIB, 1 * MIB, 7 * 64 * KIB])
@pytest.mark.parametrize("size", [1, 100_000, 3 * MIB + 17])
@pytest.mark.parametrize("operation", ["read", "write"])
def test_every_byte_is_moved_whatever_the_sizes(operation, size, block):
    """The net transfers all bytes for any file size and block size, although blocks are cut into
    stripes by integer division. Every client ends, and not earlier than the network allows."""
    setup = Setup(operation, 3, file_size=size, block_size=block)
    point = simulate(setup)
    assert point.time_s >= frame_s(size, setup.hardware)


@pytest.mark.parametrize("operation", ["read", "write"])
def test_packets_and_stripes_agree_where_the_pipe_is_full(operation):
    """Simulating packets or whole stripes gives almost the same rate if many stripes are in flight,
    but not if only one stripe is in flight."""
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
    """Writes of files that are too small to use all servers and the cache are slow, because closing
    a file syncs it (section 4.3 of the PVFS paper)."""
    sizes = [64 * KIB, 256 * KIB, 2 * MIB, 64 * MIB]
    rates = [rate("write", file_size=size, block_size=min(size, MIB)) for size in sizes]
    assert rates == sorted(rates)
    assert rates[0] < 0.1 * rates[-1]
    quick = replace(PaperHardware(), disk_seek_s=0.0, disk_rotation_s=0.0)
    small = rate("write", file_size=256 * KIB, block_size=256 * KIB, hardware=quick)
    assert small > 2 * rates[1]
    # Reads of cached files are not slow at small sizes, because the network's packets limit the
    # rate at every size.
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
    """From one to eight clients, more clients do not lower the total rate. Sections 5.2 and 6.2 of
    the PVFS paper give no reason for a lower total rate.

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
