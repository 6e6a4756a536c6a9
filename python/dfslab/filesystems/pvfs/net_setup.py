"""The input of a simulation of PVFS: machines, files, clients and the level of network detail."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, replace

from dfslab.spec.input_error import InputError

KIB, MIB, GIB = 1024, 1024**2, 1024**3
# Number of requests to the manager that create a file.
CREATE_REQUESTS = 3
GRAINS = ("packet", "chunk", "flow")
MSS_BYTES, FRAME_OVERHEAD_BYTES = 1460, 78
FLOW_BYTES = 1 << 40
# A Mersenne prime P. Files are spread over servers by (a c + b) mod P, where c is the number of the
# client, and a and b are random.
PRIME = 2**31 - 1
# Two limits for a setup that simulates only a part of an experiment (`Setup.part`). FEWEST_BLOCKS
# is the smallest number of blocks of a file. FEWEST_WRITE_BACKS is the smallest number of
# write-back requests in which a server writes all its dirty pages.
FEWEST_BLOCKS = 4
FEWEST_WRITE_BACKS = 3


@dataclass(frozen=True)
class PaperHardware:
    """The machines of Nguyen & Apon 2012 (Table 1) with one gigabit network. Values that the table
    lacks are estimated.

    A server spends `server_request_s` on each request. The server also spends `server_chunk_s` on
    each stripe that it reads, and on each flow buffer that it stores. For a small request, the sum
    of the two is about 150 us, as measured on OrangeFS 2.10. `dequeue_s` is the time to skip one
    waiting write request in a receive buffer.
    """

    network_rate_bytes_per_s: float = 125e6
    server_network_rate_bytes_per_s: float = 125e6
    network_latency_s: float = 60e-6
    memory_rate_bytes_per_s: float = 1.2e9
    memory_bytes: int = 4 * GIB
    client_call_s: float = 30e-6
    manager_call_s: float = 200e-6
    server_request_s: float = 90e-6
    server_chunk_s: float = 60e-6
    dequeue_s: float = 0.0
    disk_seek_s: float = 4.7e-3
    disk_rotation_s: float = 3e-3
    disk_channels: int = 1
    disk_read_rate_bytes_per_s: float = 160e6
    disk_write_rate_bytes_per_s: float = 90e6
    dirty_background_ratio: float = 0.10
    dirty_limit_ratio: float = 0.40
    dirty_expire_s: float = 30.0
    read_ahead_bytes: int = 128 * KIB
    write_back_bytes: int = 1 * MIB
    swap_share: float = 0.5


@dataclass(frozen=True)
class TracedCall:
    """A call of a trace as the servers handle it: the bytes on each server, and where the data is
    found.

    `does` is the kind of the call: "read", "write", "force" (a sync), "name" (a request to the
    manager) or "pass" (no server is involved). `way` says where a read finds its data: `ahead` is
    the read-ahead window, `hit` is memory, and `jump` is the disk after a seek. The call starts no
    earlier than `due_s` seconds after the start of the trace."""

    client: int
    does: str
    shares: tuple[int, ...] = ()
    way: str = "ahead"
    due_s: float = 0.0

    @property
    def total_bytes(self) -> int:
        """Returns the number of bytes that the call moves, over all servers."""
        return sum(self.shares)


@dataclass(frozen=True)
class Setup:
    """The input of one simulation of PVFS: one point of the experiment of Nguyen & Apon 2012, or
    the `calls` of a trace.

    Sizes are in bytes. Further fields:
    - `operations`: number of operations that each client executes. In a trace, an operation has one
      or more calls.
    - `stripe_count`: number of servers of one file. 0: all servers.
    - `start_seed`: seed of the random first server of every file. 0: the file of client c starts at
      server c.
    - `client_nodes`, `server_nodes`: numbers of nodes over which clients and servers are spread. 0:
      each has a separate node. Each node has one adapter.
    - `shared_cores`: number of cores that all nodes share. 0: every node has enough cores.
    - `cached`: whether the data is in the servers' caches. If the data is not cached, all bytes are
      read from the disks.
    - `missed`: fraction of the sequentially read bytes that is read from the disks although the
      data is `cached`.
    """

    operation: str = "read"
    clients: int = 1
    servers: int = 4
    file_size: int = 512 * MIB
    block_size: int = 1 * MIB
    stripe_size: int = 64 * KIB
    grain: str = "packet"
    cached: bool = True
    missed: float = 0.0
    hardware: PaperHardware = PaperHardware()
    calls: tuple[TracedCall, ...] = ()
    sync_on_close: bool = True
    flow_buffer: int = 256 * KIB
    stripe_count: int = 0
    start_seed: int = 0
    client_nodes: int = 0
    server_nodes: int = 0
    shared_cores: int = 0
    operations: int = 1

    def in_memory_bytes(self, size_bytes: int) -> int:
        """Returns how many bytes at the beginning of a stream are in the memory of its server at
        the start.

        The stream has `size_bytes` bytes. The result is 0 if the data is not cached, and
        `size_bytes` if `missed` is 0. Otherwise the result is size_bytes * (1 - missed), rounded to
        whole stripes.
        """
        if not self.cached:
            return 0
        if self.missed == 0:
            return size_bytes
        stripes = round(size_bytes * (1 - self.missed) / self.stripe_size)
        return min(size_bytes, stripes * self.stripe_size)

    def __post_init__(self) -> None:
        _one_of("operation", self.operation, ("read", "write", "replay"))
        _one_of("grain", self.grain, GRAINS)
        counts = {**self.sizes, "clients": self.clients}
        if not 0 <= self.stripe_count <= self.servers:
            allowed = f"must be at most the {self.servers} servers"
            raise InputError("stripe_count", self.stripe_count, allowed)
        for key in ("clients", "servers", "file_size", "block_size", "stripe_size"):
            if counts[key] < 1:
                raise InputError(key, counts[key], "must be at least 1")
        if not 0 <= self.missed <= 1:
            raise InputError("missed", self.missed, "must be a fraction from 0 to 1")
        small, large = sorted((self.block_size, self.stripe_size))
        if large % small:
            raise InputError(
                "block_size",
                self.block_size,
                f"must divide or be a multiple of the stripe, {self.stripe_size}",
            )
        for key, value in asdict(self.hardware).items():
            if value < 0:
                raise InputError(key, value, "is negative")

    @property
    def sizes(self) -> dict[str, int]:
        """Returns the number of servers ("servers"), and the sizes of files, blocks and stripes in
        bytes, each under its name in the net."""
        return {
            "servers": self.servers,
            "file_size": self.file_size,
            "block_size": self.block_size,
            "stripe_size": self.stripe_size,
        }

    @property
    def width(self) -> int:
        """Returns the number of servers over which a file is striped."""
        return self.stripe_count or self.servers

    @property
    def start_factors(self) -> tuple[int, int]:
        """Returns two numbers, a and b, that determine the first server of each file. The file of
        client c starts at server (a c + b) mod PRIME mod the number of servers. The numbers are
        random, or 1 and 0 if `start_seed` is 0."""
        if not self.start_seed:
            return 1, 0
        chance = random.Random(self.start_seed)
        return chance.randrange(1, PRIME), chance.randrange(PRIME)

    def first_server(self, client: int) -> int:
        """Returns the number of the server that stores the first stripe of a client's file."""
        a, b = self.start_factors
        return (a * client + b) % PRIME % self.servers

    def holds(self, client: int, server: int) -> bool:
        """Returns whether a server may store a part of a client's file."""
        return (server - self.first_server(client)) % self.servers < self.width

    @property
    def unit_bytes(self) -> int:
        """Returns the largest number of bytes that the network moves in one unit."""
        sizes = {"packet": MSS_BYTES, "chunk": self.stripe_size, "flow": FLOW_BYTES}
        return sizes[self.grain]

    def part(self, share: float) -> Setup | None:
        """Returns a smaller setup, which moves the fraction `share` of the bytes of this setup.
        Simulated times of such smaller setups are extrapolated to the time of this setup
        (models/steady.py).

        These sizes are multiplied by `share`:
        - the size of files
        - the size of blocks, if a file would otherwise have fewer than FEWEST_BLOCKS blocks
        - the servers' memory and the age at which dirty pages are written, so that the page cache
          fills up at the same fraction of the run.

        Returns None in three cases:
        - The clients replay a trace.
        - A smaller block would not fill a flow buffer of each server, or would not be a multiple of
          a stripe on each server.
        - A server would write its dirty pages in fewer than FEWEST_WRITE_BACKS requests.
        """
        if self.calls:
            return None
        size, block = int(self.file_size * share), self.block_size
        if size < FEWEST_BLOCKS * block:
            block = int(block * share)
            if block < self.flow_buffer * self.width or block % (self.stripe_size * self.width):
                return None
        hardware = replace(
            self.hardware,
            memory_bytes=int(self.hardware.memory_bytes * share),
            dirty_expire_s=self.hardware.dirty_expire_s * share,
        )
        part = replace(self, file_size=size, block_size=block, hardware=hardware)
        background_bytes = hardware.memory_bytes * hardware.dirty_background_ratio
        dirty_bytes = min(part.per_server_bytes, background_bytes)
        if self.operation == "write" and (
            dirty_bytes < FEWEST_WRITE_BACKS * hardware.write_back_bytes
        ):
            return None
        return part

    @property
    def per_server_bytes(self) -> float:
        """Returns the number of bytes of all clients' files that one server stores.

        For a trace, this is the number of bytes that all calls move on one server. The server with
        the largest number counts.
        """
        if self.calls:
            return max(
                sum(one.shares[at] for one in self.calls if one.shares)
                for at in range(self.servers)
            )
        return self.clients * self.file_size / self.servers


def _one_of(key: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(key, value, f"must be one of {', '.join(allowed)}")
