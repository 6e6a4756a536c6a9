"""Plausibility rules that fire if a figure of a cache is presented as a figure of the storage."""

from __future__ import annotations

from dfslab.documents.evidence import Evidence, line_bytes_per_s, product
from dfslab.spec import units
from dfslab.studies.checks import rule
from dfslab.studies.checks.rule import Rule
from dfslab.studies.checks.thresholds import SLACK

NAMES = (
    "cold_that_was_warm",
    "cold_read_again",
    "client_cache",
    "reads_own_writes",
    "unforced_writes",
)
# Largest fraction of the data that may be in caches at the start of a cold run. Directories and the
# ends of files may remain there. A tenth of the data changes a rate by about a tenth.
RESIDENT = 0.1
# Smallest accepted ratio of the bytes from disks to the bytes that clients read for the first time.
# Below this ratio, most data came from memory. Read-ahead only raises the ratio, so read-ahead
# cannot cause a false finding.
FROM_DISKS = 0.5


def _cold(one: Evidence) -> str | None:
    if one.work.cache != "cold":
        return None
    resident = one.caches.resident
    if resident is not None and resident > RESIDENT:
        return f"caches were to be empty, but {resident:.0%} of the files were resident"
    read, first = one.caches.disk_reads, one.caches.first_reads
    if one.work.operation == "read" and first and read is not None and read < FROM_DISKS * first:
        return (
            f"of {units.text(first, 'B', 3)} read for the first time, "
            f"{units.text(read, 'B', 3)} came off a disk"
        )
    return None


def _read_again(one: Evidence) -> str | None:
    passes = one.caches.passes
    if one.work.cache != "cold" or one.work.operation != "read" or passes is None:
        return None
    if passes * FROM_DISKS <= 1 + RESIDENT:  # At least about half of the bytes came from disks.
        return None
    return f"the files were read {passes:.3g} times in a run that only began with empty caches"


def _client_cache(one: Evidence) -> str | None:
    """Returns the contradiction if reads are so fast that their data must have come from the
    clients' memory, but the state of the caches is not stated. Returns None otherwise."""
    work, hardware = one.work, one.hardware
    if work.operation != "read" or work.cache is not None or one.speed.throughput is None:
        return None
    shown = units.text(one.speed.throughput, "B/s", 4)
    line = line_bytes_per_s(hardware) if hardware.is_remote else None
    if line is not None and one.speed.throughput > line * SLACK:
        return f"{shown}, but the line rate of all nodes is {units.text(line, 'B/s', 4)}"
    memory = product(hardware.client_nodes, hardware.client_memory)
    disks = hardware.disks_read
    if memory is None or work.data_size is None or work.data_size > memory or disks is None:
        return None
    if one.speed.throughput <= disks * SLACK:
        return None
    return (
        f"{shown} of {units.text(work.data_size, 'B', 3)} that fit into the clients' "
        f"{units.text(memory, 'B', 3)}; all disks together have {units.text(disks, 'B/s', 4)}"
    )


def _own_writes(one: Evidence) -> str | None:
    work = one.work
    if not work.reads_own_writes or work.cache in ("cold", "direct"):
        return None
    memory = product(one.hardware.client_nodes, one.hardware.client_memory)
    if memory is not None and work.data_size is not None and work.data_size >= 2 * memory:
        return None
    return "every client reads the files that it has just written, without emptied caches"


def _unforced(one: Evidence) -> str | None:
    """Returns the contradiction if writes that were not forced to disk are faster than all disks
    together. The written data was then only in memory. Returns None otherwise."""
    work, hardware, throughput = one.work, one.hardware, one.speed.throughput
    if work.operation != "write" or work.forced is not False or throughput is None:
        return None
    # The rule does not judge a scenario that states the cache state and forces no data to disk. Its
    # readers know that writes may be in memory.
    if work.cache is not None or hardware.disks_write is None:
        return None
    stored = throughput * (work.copies or 1.0)
    if stored <= hardware.disks_write * SLACK:
        return None
    return (
        f"{units.text(stored, 'B/s', 4)} are written without being forced to disks, which "
        f"together have {units.text(hardware.disks_write, 'B/s', 4)}"
    )


make = rule.table(
    Rule(
        "cold_that_was_warm",
        "A read from a memory is no read from the storage.",
        "Empty the caches of clients and servers, or read more than twice their memory; count the "
        "bytes that come off the disks.",
        _cold,
    ),
    Rule(
        "cold_read_again",
        "Only the first read of a place is cold; memory may serve all others.",
        "End the timed part after one pass over the files, read larger files, or use direct I/O.",
        _read_again,
        is_doubt=True,
    ),
    Rule(
        "client_cache",
        "Data that was in clients' memory never reached the storage that the figure is about.",
        "State whether caches are part of the figure; repeat with emptied caches or direct I/O.",
        _client_cache,
    ),
    Rule(
        "reads_own_writes",
        "A client's page cache holds what the client has just written, so reads measure memory.",
        "Let other nodes read (IOR -C, mdtest -N), empty the caches in between, or use direct I/O.",
        _own_writes,
    ),
    Rule(
        "unforced_writes",
        "A write call that returns has filled a buffer; data is stored after fsync.",
        "Include fsync in the timed part (IOR -e, fio end_fsync=1), or write more than twice all "
        "memory.",
        _unforced,
    ),
).__getitem__
