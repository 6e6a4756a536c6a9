"""Plausibility rules that fire if a figure exceeds what the hardware and the workload allow."""

from __future__ import annotations

from dfslab.documents.evidence import Evidence, Hardware, Work, least, line_bytes_per_s, product
from dfslab.spec import units
from dfslab.studies.checks import rule
from dfslab.studies.checks.rule import Rule
from dfslab.studies.checks.thresholds import SLACK

NAMES = (
    "faster_than_line",
    "faster_than_disks",
    "faster_than_memory",
    "more_than_clients_allow",
    "shorter_than_round_trip",
)
# Upper limit of one thread's throughput in bytes per second. A thread copies each byte at least
# once, and no present processor copies at this rate.
THREAD_BYTES_PER_S = 100e9


def must_cross_network(work: Work, hardware: Hardware) -> bool:
    """Returns whether every byte has to cross the network. Every byte has to cross the network if
    the storage is remote and the work is one of these:
    - cold or direct reads
    - reads of data that is much larger than the clients' memory
    - forced or direct writes"""
    if not hardware.is_remote:
        return False
    if work.operation == "read":
        return work.cache in ("cold", "direct") or outgrows(
            work.data_size, hardware.client_nodes, hardware.client_memory
        )
    if work.operation == "write":
        return bool(work.forced) or work.cache == "direct"
    return False


def outgrows(data_bytes: float | None, nodes: int | None, memory_bytes: float | None) -> bool:
    """Returns whether the distinct data is at least twice as large as the memory of all nodes;
    false if one of the three values is unknown."""
    memory = product(nodes, memory_bytes)
    return data_bytes is not None and memory is not None and data_bytes >= 2 * memory


def must_reach_disks(work: Work, hardware: Hardware) -> bool:
    """Returns whether every byte has to be read from or written to a disk. Every byte has to be
    read from or written to a disk in these cases:
    - forced writes
    - cold and direct reads from local storage
    - other reads of data that is much larger than the servers' memory"""
    if work.operation == "write":
        return bool(work.forced)
    if work.operation == "read" and hardware.is_remote is False:
        return work.cache in ("cold", "direct")
    return work.operation == "read" and outgrows(
        work.data_size, hardware.server_nodes, hardware.server_memory
    )


def _line(one: Evidence) -> str | None:
    line, throughput = line_bytes_per_s(one.hardware), one.speed.throughput
    if line is None or throughput is None or not must_cross_network(one.work, one.hardware):
        return None
    return _above(throughput, line, "the line rate of all nodes is")


def _disks(one: Evidence) -> str | None:
    work, throughput = one.work, one.speed.throughput
    reads = work.operation == "read"
    disks = one.hardware.disks_read if reads else one.hardware.disks_write
    if disks is None or throughput is None or not must_reach_disks(work, one.hardware):
        return None
    stored = throughput * (1.0 if reads else work.copies or 1.0)
    return _above(stored, disks, "all disks together have")


def _memory(one: Evidence) -> str | None:
    throughput = one.speed.throughput
    if throughput is None:
        return None
    memory = product(one.hardware.client_nodes, one.hardware.memory_rate)
    if memory is not None and throughput > memory:
        return _above(throughput, memory, "the clients' memory has")
    threads = one.work.clients
    if threads and throughput > threads * THREAD_BYTES_PER_S:
        text = f"{threads} threads would each copy {_rate(throughput / threads)}"
        return f"{_rate(throughput)}: {text}"
    return None


def _clients(one: Evidence) -> str | None:
    outstanding = product(one.work.clients, one.work.queue_depth)
    latency_s = one.speed.latency_mean
    # The rule examines two rates: the stated rate, and operations / duration. The second rate is
    # needed because the stated rate may be too low. Neither rate may exceed what is possible.
    rates = [one.speed.rate or 0.0]
    if one.work.operations and one.work.duration:
        rates.append(one.work.operations / one.work.duration)
    rate = max(rates)
    if not outstanding or latency_s is None:
        return None
    busy = rate * latency_s
    if busy <= outstanding * SLACK:
        return None
    return (
        f"{rate:,.6g} operations a second of {units.text(latency_s, 's', 3)} each keep "
        f"{busy:,.4g} outstanding; {outstanding:,.0f} were possible"
    )


def _round_trip(one: Evidence) -> str | None:
    trip_s = one.hardware.round_trip
    latency_s = least([one.speed.latency_mean, one.speed.latency_p50])
    if not trip_s or latency_s is None or not one.hardware.is_remote:
        return None
    if one.work.operation == "write" and not one.work.forced:
        return None
    if one.work.cache == "warm" or latency_s >= trip_s / SLACK:
        return None
    return (
        f"an operation takes {units.text(latency_s, 's', 3)}, the round trip to a server "
        f"{units.text(trip_s, 's', 3)}"
    )


def _above(rate: float, most: float, what: str) -> str | None:
    if rate <= most * SLACK:
        return None
    return f"{_rate(rate)}, but {what} {_rate(most)}"


def _rate(bytes_per_s: float) -> str:
    return units.text(bytes_per_s, "B/s", 4)


make = rule.table(
    Rule(
        "faster_than_line",
        "Data that crosses a network cannot be faster than its adapters together.",
        "Count the bytes at the adapters during the run, and check the declared line rate.",
        _line,
    ),
    Rule(
        "faster_than_disks",
        "Data that has to reach the disks cannot be faster than all disks together.",
        "Count the bytes at the disks during the run, and check the declared rates and copies.",
        _disks,
    ),
    Rule(
        "faster_than_memory",
        "Every byte is copied in memory at least once.",
        "Verify the content that was read; check units and the number of operations.",
        _memory,
    ),
    Rule(
        "more_than_clients_allow",
        "Clients that wait for each answer have at most clients × queue depth operations "
        "outstanding, which is rate × mean time (Little's law).",
        "Check the units of rate and time, the number of clients and their queue depth, and "
        "whether both figures are of the same operations and the same time.",
        _clients,
    ),
    Rule(
        "shorter_than_round_trip",
        "An answer of a server takes at least one round trip; a shorter one came from the client.",
        "Measure the round trip; repeat with emptied caches and with caches of attributes off.",
        _round_trip,
    ),
).__getitem__
