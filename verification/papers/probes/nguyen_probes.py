"""Compares Nguyen and Apon 2012 with dfslab's Petri net of PVFS: its structure, its curves and its
errors.

The paper prints its curves as pictures without numbers, so only their shapes are compared. Figures
10 to 15 are compared with predictions of `scenarios/pvfs-figures.toml`, which has the paper's files
and packets. To save time, all other functions simulate smaller files, and whole stripes instead of
packets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from dfslab.filesystems.pvfs.net import (
    GIB,
    KIB,
    MIB,
    MSS_BYTES,
    PaperHardware,
    Setup,
    read_net,
    setup_of,
    simulate,
    write_net,
)
from dfslab.filesystems.pvfs.net_trace import shares_of
from dfslab.models.components import Components, limit_text, unfitted_error
from dfslab.models.tree.prediction import Situation
from dfslab.nets.build import Net
from dfslab.spec.design import LevelValue
from dfslab.spec.scenario import Point

from verification import recordings
from verification.papers.obtained import Obtained, judged, not_judged

BLOCKS = (64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB)
FILE_BYTES = 64 * MIB
# A curve counts as level if its largest value is less than 1.1 times its smallest.
LEVEL = 1.1
# Limits for the curves of the rate over the block size. The rate at 1 MiB must be more than RISES
# times the rate at 64 KiB. The rate at 16 MiB must be more than STAYS times the highest rate.
RISES, STAYS = 1.1, 0.9


@cache
def rate(operation: str, clients: int, block: int = MIB, size: int = FILE_BYTES) -> float:
    """Returns the simulated rate in bytes per second of all clients together. The net simulates
    whole stripes instead of packets."""
    setup = Setup(operation, clients, file_size=size, block_size=block, grain="chunk")
    return simulate(setup).throughput_bytes_per_s


def _of(rates: Sequence[float]) -> str:
    return ", ".join(f"{one / 1e6:.0f}" for one in rates) + " MB/s"


def table_1() -> Obtained:
    """Judges whether the scenario has the machines of Table 1 of Nguyen and Apon 2012."""
    deployment = recordings.scenario("pvfs-figures").deployment
    (io,) = deployment.groups_of("server")
    text = f"{io.count} servers, {io.processors} processors of {io.frequency / 1e9:.2g} GHz, "
    text += f"{io.memory / GIB:.0f} GiB"
    same = (io.count, io.processors, io.frequency, io.memory) == (4, 2, 2.8e9, 4 * GIB)
    return judged(same, text)


def figure_1() -> Obtained:
    """Judges whether PVFS' manager only serves opens, and no other requests, while files are
    read."""
    found = simulate(Setup("read", 8, file_size=FILE_BYTES, grain="chunk"))
    busy_s = found.utilisation["manager.cpu"] * found.time_s
    opened_s = 8 * PaperHardware().manager_call_s
    text = f"the manager works {busy_s * 1e3:.2f} ms, for 8 opens {opened_s * 1e3:.2f} ms, "
    return judged(abs(busy_s / opened_s - 1) < 1e-6, f"{text}and for 512 reads nothing")


def figure_2() -> Obtained:
    """Judges whether the write rate rises with the file size and is nearly level from 2 MiB on. The
    block size is 4 KiB."""
    sizes = [4 * KIB, 64 * KIB, 256 * KIB, 2 * MIB, 16 * MIB]
    rates = [rate("write", 1, min(size, 4 * KIB), size) for size in sizes]
    text = f"{_of(rates)} at 4 KiB, 64 KiB, 256 KiB, 2 MiB, 16 MiB"
    rises = rates == sorted(rates)
    return judged(rises and rates[3] > 0.85 * rates[-1], text)


def figure_3() -> Obtained:
    """Judges whether the read rate is level over file sizes, in blocks of 64 KiB."""
    rates = [rate("read", 1, 64 * KIB, size) for size in (MIB, 4 * MIB, 16 * MIB, 64 * MIB)]
    return judged(max(rates) / min(rates) < LEVEL, f"{_of(rates)} at 1, 4, 16, 64 MiB")


def stable_size() -> Obtained:
    """Judges whether files of 256 MiB, half of the standard size, have the same rates as files of
    512 MiB."""
    rates = [rate(kind, 1, MIB, size) for kind in ("read", "write") for size in HALF_AND_WHOLE]
    level = max(rates[1] / rates[0], rates[3] / rates[2]) < LEVEL
    return judged(level, f"{_of(rates)}: reads, then writes of 256 and 512 MiB")


HALF_AND_WHOLE = (256 * MIB, 512 * MIB)


def beyond_memory() -> Obtained:
    """Judges whether files that exceed the servers' memory of 256 MiB are slower than files that
    fit."""
    small = replace(PaperHardware(), memory_bytes=GIB // 4)
    rates = [
        simulate(Setup(kind, file_size=size, grain="chunk", hardware=small)).throughput_bytes_per_s
        for kind in ("read", "write")
        for size in (256 * MIB, 2 * GIB)
    ]
    text = f"{_of(rates)}: reads within and beyond memory, then writes"
    return judged(rates[1] < 0.8 * rates[0] and rates[3] < 0.8 * rates[2], text)


def smallest_file() -> Obtained:
    """Judges whether a file of 192 KiB is stored on three servers, and a file of 256 KiB on
    four."""
    found = [sum(size > 0 for size in shares_of(0, n * 64 * KIB, 4, 64 * KIB, 0)) for n in (3, 4)]
    return judged(found == [3, 4], f"192 KiB on {found[0]} servers, 256 KiB on {found[1]}")


def _has(net: Net, transitions: set[str]) -> Obtained:
    known = {one.name for one in net.transitions}
    lacking = sorted(transitions - known)
    text = f"transitions {', '.join(sorted(transitions))}"
    return judged(not lacking, f"{text}; lacking: {', '.join(lacking) or 'none'}")


def figure_4() -> Obtained:
    """Judges whether the net of reads has the transitions of the client in Nguyen and Apon's
    net."""
    return _has(read_net(Setup("read", 8)), {"issue", "gather", "gather_last"})


def figure_5() -> Obtained:
    """Judges whether the net of reads contains the sending network of Nguyen and Apon's net. This
    part has one station for each server's adapter."""
    net = read_net(Setup("read", 8))
    stations = {one.name: len(one.initial) for one in net.places}
    found = _has(net, {"back_send", "back_sent"})
    text = f"{found.text}; {stations['back_sender']} adapters send"
    return judged(found.verdict == "hit" and stations["back_sender"] == 4, text)


def figure_6() -> Obtained:
    """Judges whether the net of reads has the receiving network of Nguyen and Apon's net, which
    routes packets to their clients."""
    return _has(read_net(Setup("read", 8)), {"back_receive", "back_deliver"})


def figure_7() -> Obtained:
    """Judges whether the net of reads contains the server of Nguyen and Apon's net. This server
    processes requests in chunks of a stripe."""
    return _has(read_net(Setup("read", 8)), {"accept", "read", "fetch", "fetched", "disk"})


def figure_8() -> Obtained:
    """Judges whether the net of writes has the transitions of the client in Nguyen and Apon's
    net."""
    return _has(write_net(Setup("write", 8)), {"issue", "out_send", "answer", "last_answer"})


def figure_9() -> Obtained:
    """Judges whether the net of writes contains the server of Nguyen and Apon's net. This server
    reassembles data and writes them back later."""
    return _has(write_net(Setup("write", 8)), {"accept_data", "absorb", "clean", "cleaned", "sync"})


def mtu() -> Obtained:
    """Judges whether a full packet has 1,500 bytes with its headers."""
    packet = MSS_BYTES + 40
    return judged(packet == 1500, f"{MSS_BYTES} B of data and 40 B of headers: {packet} B")


def round_robin() -> Obtained:
    """Judges whether the first eight stripes of a file are stored on the four servers in turn."""
    found = [shares_of(at * 64 * KIB, 64 * KIB, 4, 64 * KIB, 0).index(64 * KIB) for at in range(8)]
    return judged(found == [0, 1, 2, 3] * 2, f"stripes 0 to 7 are on servers {found}")


def interleaved() -> Obtained:
    """Judges whether the rate of each client falls when 1, 4 and 8 clients read from disks. The
    cause must be that the disks seek between more files. To check this, the seeks are removed: each
    of 8 clients must then be more than 1.3 times as fast."""
    one = Setup("read", file_size=FILE_BYTES, block_size=4 * MIB, cached=False, grain="chunk")
    each = [simulate(replace(one, clients=n)).throughput_bytes_per_s / n for n in (1, 4, 8)]
    still = replace(PaperHardware(), disk_seek_s=0.0, disk_rotation_s=0.0)
    free = simulate(replace(one, clients=8, hardware=still)).throughput_bytes_per_s / 8
    text = f"a client gets {_of(each)}; without seeks {free / 1e6:.0f} MB/s at 8 clients"
    return judged(each[0] > each[1] > each[2] and free > 1.3 * each[2], text)


@cache
def predicted(operation: str, clients: int, block: int) -> float:
    """Returns the total bytes per second of all clients, as `dfslab predict
    scenarios/pvfs-figures.toml` prints them. `block` is the block size in bytes. Files have 512
    MiB, as in Nguyen and Apon 2012. The network sends packets of at most 1,500 bytes."""
    values: dict[str, LevelValue] = {
        "workload.name": f"sequential_{operation}",
        "workload.transfer_size": block,
        "workload.clients": clients,
        "run.network_level": "packet",
    }
    scenario = recordings.scenario("pvfs-figures").with_values(values)
    found = Components().run(Point(scenario=scenario, labels={}))
    return found.value("throughput_bytes_per_s")


def _curve(operation: str, clients: int) -> Obtained:
    """Judges whether the rate rises with the block size and is level at the largest blocks.

    The rate rises if the rate at 1 MiB is more than RISES times the rate at 64 KiB. The rate is
    level if the rate at 16 MiB is more than STAYS times the highest rate.
    """
    rates = [predicted(operation, clients, block) for block in BLOCKS]
    text = f"{_of(rates)} at 64 KiB, 256 KiB, 1, 4, 16 MiB; bars: 1 MiB over 64 KiB "
    text += f"{rates[2] / rates[0]:.2f} (more than {RISES}), 16 MiB over the highest "
    text += f"{rates[-1] / max(rates):.2f} (more than {STAYS})"
    return judged(rates[2] > RISES * rates[0] and rates[-1] > STAYS * max(rates), text)


def figure_10() -> Obtained:
    """Judges whether the read rate of one client rises with the block size and is level at the
    largest blocks."""
    return _curve("read", 1)


def figure_11() -> Obtained:
    """Judges whether the write rate of one client rises with the block size and is level at the
    largest blocks."""
    return _curve("write", 1)


def figure_12() -> Obtained:
    """Judges whether the read rate of four clients rises with the block size and is level at the
    largest blocks."""
    return _curve("read", 4)


def figure_13() -> Obtained:
    """Judges whether the write rate of four clients rises with the block size and is level at the
    largest blocks."""
    return _curve("write", 4)


def figure_14() -> Obtained:
    """Judges whether the read rate of eight clients rises with the block size and is level at the
    largest blocks."""
    return _curve("read", 8)


def figure_15() -> Obtained:
    """Judges whether the write rate of eight clients rises with the block size and is level at the
    largest blocks."""
    return _curve("write", 8)


def dequeue() -> Obtained:
    """De-queue is the taking of data from the receive buffer. Judges whether a cost of de-queue
    that grows with the buffer slows small blocks more than large ones."""
    growing = replace(PaperHardware(), dequeue_s=2e-3)
    kept = []
    for block in (64 * KIB, 16 * MIB):
        slow = Setup(
            "write", 8, file_size=16 * MIB, block_size=block, grain="chunk", hardware=growing
        )
        kept.append(simulate(slow).throughput_bytes_per_s / rate("write", 8, block, 16 * MIB))
    text = f"of the rate remain {kept[0]:.0%} with blocks of 64 KiB, {kept[1]:.0%} with 16 MiB"
    return judged(kept[0] < kept[1], text)


def errors_by_clients() -> Obtained:
    """Judges the relative half-widths of dfslab's prediction intervals without any measurement. The
    half-widths must be 20 %, 25 % and more than 40 % at 1, 4 and 8 clients."""
    found = [unfitted_error(count) for count in (1, 4, 8)]
    text = ", ".join(f"{one:.0%}" for one in found) + " at 1, 4, 8 clients"
    return judged(found[0] == 0.2 and found[1] == 0.25 and found[2] > 0.4, text)


def larger_clusters() -> Obtained:
    """Judges whether doubling the cluster about doubles the rate (1.8 to 2.1 times). The doubled
    cluster has 16 clients and 8 servers. Nguyen and Apon's cluster has 8 clients and 4 servers."""
    pairs = ((8, 4), (16, 8))
    setups = [
        Setup("read", clients, servers, file_size=16 * MIB, block_size=4 * MIB, grain="chunk")
        for clients, servers in pairs
    ]
    rates = [simulate(one).throughput_bytes_per_s for one in setups]
    return judged(1.8 < rates[1] / rates[0] < 2.1, f"{_of(rates)} with 4 and with 8 servers")


def bottleneck() -> Obtained:
    """Judges whether the net finds the right bottleneck: the servers' adapters for reads from
    memory, and the disks for writes to slow disks."""
    read = simulate(Setup("read", 8, file_size=FILE_BYTES, block_size=16 * MIB, grain="chunk"))
    disks = replace(PaperHardware(), disk_write_rate_bytes_per_s=2e7)
    write = simulate(Setup("write", 8, file_size=FILE_BYTES, grain="chunk", hardware=disks))
    named = [limit_text(one.utilisation) for one in (read, write)]
    right = named[0].startswith("server.nic.out") and named[1].startswith("server.disk")
    return judged(right, f"reads: {named[0]}; writes with slow disks: {named[1]}")


def synchronised_at_close() -> Obtained:
    """Judges whether synchronisation at close more than doubles the time to write a file of 64
    KiB."""
    one = Setup("write", file_size=64 * KIB, block_size=64 * KIB, grain="chunk")
    synced, free = (simulate(replace(one, sync_on_close=sync)).time_s for sync in (True, False))
    return judged(synced > 2 * free, f"{synced * 1e3:.1f} ms with, {free * 1e3:.1f} ms without")


def one_setup() -> Obtained:
    """Judges whether the scenario of the figures simulates 1, 4 and 8 clients, four servers and
    files of 512 MiB."""
    points = recordings.scenario("pvfs-figures").points()
    setups = [setup_of(Situation(point.scenario)) for point in points]
    counts = sorted({one.clients for one in setups})
    sizes = {one.file_size for one in setups}
    text = f"{len(setups)} simulations, clients {counts}, {setups[0].servers} servers"
    same = counts == [1, 4, 8] and sizes == {512 * MIB} and setups[0].servers == 4
    return judged(same, text)


def real_system() -> Obtained:
    """Returns "not judged". Nguyen and Apon 2012 prints no numbers of its real PVFS, and no
    recording of a real PVFS exists."""
    return not_judged("the paper prints no numbers; no PVFS is part of the recordings")
