"""Draws the configurations of a blind campaign by a seed: file systems, hardware of their testbeds,
and workloads."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass

from dfslab.spec.design import LevelValue

KIB, MIB = 2**10, 2**20
# Ranges of the hardware. Values are drawn uniformly on a logarithmic scale.
LINK_BYTES_PER_S = (0.2e9 / 8, 4e9 / 8)
LATENCY_S = (20e-6, 20e-3)
DISK_BYTES_PER_S = (20.0 * MIB, 200.0 * MIB)
# Seek times of a disk: a disk without moving parts, and one with 7,200 revolutions per minute.
SEEK_S = (0.0, 8e-3)
CLIENT_HOSTS = (1, 2)
CLIENTS = (1, 2, 4, 8, 16)
# File sizes are powers of two between 4 KiB and 256 MiB.
SIZE_EXPONENTS = (12, 28)
TRANSFERS = (4 * KIB, 64 * KIB, 1 * MIB)
CACHES = ("warm", "cold", "direct")
SEQUENTIAL, RANDOM, MIXED, METADATA = "sequential", "random", "mixed", "metadata"
WORKLOADS = {
    SEQUENTIAL: ("sequential_read", "sequential_write"),
    RANDOM: ("random_read", "random_write"),
    MIXED: ("mixture",),
    METADATA: ("create", "stat", "list", "open", "rename", "delete"),
}
READS_ONLY = frozenset({"sequential_read", "random_read", *WORKLOADS[METADATA]})
LOCAL = "local"


@dataclass(frozen=True)
class Layout:
    """A file system with a layout of its data. `scenario` is the name of the scenario whose
    deployment is adapted, or "" for a directory of this machine. `servers` is the number of hosts
    that store data. `values` has the keys of the scenario that define the layout."""

    scenario: str
    servers: int
    values: Mapping[str, LevelValue]


LAYOUTS = {
    "glusterfs-distributed": Layout("glusterfs", 2, {"file_system.copies": 1}),
    "nfs": Layout("nfs", 1, {}),
    "moosefs": Layout("moosefs", 3, {"file_system.goal": 2}),
    "juicefs": Layout("juicefs", 2, {}),
    "glusterfs-replicated": Layout("glusterfs", 3, {"file_system.copies": 3}),
    "hdfs": Layout("hdfs-hosts", 3, {"file_system.replication": 2}),
    "cephfs": Layout("cephfs", 3, {"file_system.copies": 2}),
    "glusterfs-dispersed": Layout(
        "glusterfs", 3, {"file_system.copies": 3, "file_system.data_fragments": 2}
    ),
    "alluxio": Layout("alluxio", 2, {}),
    LOCAL: Layout("", 1, {}),
}


@dataclass(frozen=True)
class Hardware:
    """The hardware of a testbed: the rate of every link, the rate of every disk, the one-way
    latency between two hosts, the seek time of a disk, and the number of client hosts."""

    link_bytes_per_s: float
    latency_s: float
    disk_bytes_per_s: float
    seek_s: float
    client_hosts: int


@dataclass(frozen=True)
class Work:
    """The workload of a point. `kind` is one of WORKLOADS, and `operation` is one of its
    operations. `size_bytes` is the size of a file (0 for metadata operations). `transfer_bytes` is
    the number of bytes that one call transfers. If `fsync` is true, written files are forced to
    disk before they are closed."""

    kind: str
    operation: str
    clients: int
    size_bytes: int
    transfer_bytes: int
    cache: str
    fsync: bool


def hardware(chance: random.Random) -> Hardware:
    """Draws the hardware of a testbed. Rates and latencies have three significant digits."""
    return Hardware(
        link_bytes_per_s=_logarithmic(chance, *LINK_BYTES_PER_S),
        latency_s=_logarithmic(chance, *LATENCY_S),
        disk_bytes_per_s=_logarithmic(chance, *DISK_BYTES_PER_S),
        seek_s=chance.choice(SEEK_S),
        client_hosts=chance.choice(CLIENT_HOSTS),
    )


def work(chance: random.Random) -> Work:
    """Draws a workload. Each kind in WORKLOADS has the same probability."""
    kind = chance.choice(list(WORKLOADS))
    operation = chance.choice(WORKLOADS[kind])
    size = 2 ** chance.randint(*SIZE_EXPONENTS)
    transfer = chance.choice([one for one in TRANSFERS if one <= size])
    clients, cache = chance.choice(CLIENTS), chance.choice(CACHES)
    fsync = chance.random() < 0.5 and operation not in READS_ONLY
    return Work(
        kind=kind,
        operation=operation,
        clients=clients,
        size_bytes=0 if kind == METADATA else size,
        transfer_bytes=transfer,
        cache=cache,
        fsync=fsync,
    )


def source(seed: int, *names: object) -> random.Random:
    """Returns a generator of random numbers for one part of a campaign, such as one testbed. Each
    part has a separate generator, so that its draws do not depend on the draws of other parts."""
    return random.Random(" ".join(map(str, (seed, *names))))


def _logarithmic(chance: random.Random, low: float, high: float) -> float:
    drawn = math.exp(chance.uniform(math.log(low), math.log(high)))
    return float(f"{drawn:.3g}")
