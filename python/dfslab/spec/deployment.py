"""The deployment of a scenario: nodes, the roles they play, their disks and network adapters, and
the network between nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from dfslab.spec.hardware.uncertainty import HardwareUncertainty
from dfslab.spec.model import CheckedModel
from dfslab.spec.systems.local_files import LocalFiles
from dfslab.spec.units import Bytes, BytesPerSecond, Hertz, Seconds, Watts, quantity

# Bytes of an Ethernet frame (IEEE 802.3) that has an IP packet of 1500 bytes. SEGMENT_BYTES = 1500
# - 52 (IP and TCP headers with time stamps): the frame's part of a TCP stream. WIRE_BYTES = 1500 +
# 14 (header) + 4 (check sum) + 8 (preamble) + 12 (gap): the frame's bytes on a wire. SHAPED_BYTES =
# 1500 + 14 (header): the frame's bytes as the shaper of an emulated network counts them.
SEGMENT_BYTES, WIRE_BYTES, SHAPED_BYTES = 1448, 1538, 1514
HardwareCount = Annotated[int, Field(ge=1, le=100_000)]
POSITIVE = Field(gt=0)


class Disk(CheckedModel):
    """The disks of one node, described as a single disk. Rates are in bytes/s, latencies in
    seconds."""

    read_rate: Annotated[BytesPerSecond, POSITIVE] = quantity("500 MB/s", description="Read rate")
    write_rate: Annotated[BytesPerSecond, POSITIVE] = quantity("500 MB/s", description="Write rate")
    latency: Seconds = quantity("100 us", description="Seek or access time of a request")
    count: HardwareCount = Field(1, description="Disks that serve side by side")
    burst: Seconds = quantity(
        "0 s", description="How far ahead of its rate it may be after a pause (models only)"
    )
    iops: Annotated[float, Field(ge=0)] = Field(
        0.0, description="Requests a second, reads and writes each; 0: no limit (testbeds only)"
    )
    file_system: Literal["xfs", "ext4"] = Field("xfs", description="What it holds (testbeds only)")
    capacity: Annotated[Bytes, Field(ge=2**29)] = quantity(
        "4 GiB", description="Its size (testbeds only)"
    )
    medium: Literal["memory", "disk"] = Field(
        "memory",
        description="Where a testbed keeps what is on it; memory is repeatable, disk large",
    )


class Adapter(CheckedModel):
    """The network adapter of one node: bandwidth in bytes/s each way, added latency in seconds."""

    bandwidth: Annotated[BytesPerSecond, POSITIVE] = quantity("10 Gbit/s", description="Each way")
    latency: Seconds = quantity("0 s", description="Added to each message")
    burst: Seconds = quantity(
        "0 s", description="How far ahead of its rate it may be after a pause (models only)"
    )


# The key `profile` of a scenario file, which names the file of a hardware profile. When dfslab
# reads the scenario file, it takes the values that the scenario leaves out from the profile, and
# then removes the key. So this field is always empty in a Scenario object.
PROFILE = Field(
    "", exclude=True, description="A file of `dfslab calibrate`, for keys that are not given"
)


def _named_in_a_file(name: str) -> str:
    if name:
        raise ValueError("can only be named in a scenario's file")
    return name


ProfileName = Annotated[str, AfterValidator(_named_in_a_file)]


class NodeGroup(CheckedModel):
    """A group of equal nodes. `roles` maps each role, such as "datanode", to the number of its
    processes on each node.
    """

    name: Annotated[str, Field(min_length=1)] = Field(
        "node", description="What the group is called"
    )
    count: HardwareCount = Field(1, description="Nodes in the group")
    processors: HardwareCount = Field(1, description="Processors of a node")
    cores: HardwareCount = Field(2, description="Cores of a processor")
    frequency: Annotated[Hertz, POSITIVE] = quantity("2.5 GHz", description="Clock of a core")
    share: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, description="Share of its processors' time that a node gets"
    )
    power: Watts = quantity(
        "0 W", description="Electric power of one processor under load; 0: not known"
    )
    memory: Annotated[Bytes, POSITIVE] = quantity("8 GiB", description="Memory of a node")
    copy_rate: Annotated[BytesPerSecond, POSITIVE] = quantity(
        "4 GB/s", description="What one core copies in memory (models only)"
    )
    call_time: Seconds = quantity(
        "1 us", description="A read answered by the page cache, bytes aside (models only)"
    )
    dirty_background: Annotated[float, Field(ge=0, le=1)] = Field(
        0.1,
        description="Share of memory from which on written pages go to disk in the background: "
        "Linux' vm.dirty_background_ratio (models only)",
    )
    dirty_limit: Annotated[float, Field(gt=0, le=1)] = Field(
        0.2,
        description="Share of memory at which writers wait for the disk: Linux' vm.dirty_ratio "
        "(models only)",
    )
    roles: dict[str, Annotated[int, Field(ge=0, le=10_000)]] = Field(
        default_factory=dict, description="Instances of each role on each node of the group"
    )
    disk: Disk = Field(default_factory=Disk, description="Its disks")
    adapter: Adapter = Field(default_factory=Adapter, description="Its network adapter")
    local_files: LocalFiles = Field(
        default_factory=LocalFiles,
        description="Measured calls on its own file system, from `dfslab calibrate` (models only)",
    )
    profile: ProfileName = PROFILE

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        # The JSON text of a node group is part of a stored run's identity, so it must stay the same
        # in later versions. A key that a later version adds is omitted while it has its default.
        table: dict[str, object] = handler(self)
        usual = {
            "power": self.power == 0.0,
            "dirty_background": self.dirty_background == 0.1,
            "dirty_limit": self.dirty_limit == 0.2,
            "local_files": self.local_files == LocalFiles(),
        }
        return {key: one for key, one in table.items() if not usual.get(key, False)}

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> NodeGroup:
        if self.dirty_background > self.dirty_limit:
            raise ValueError(
                f"dirty_background = {self.dirty_background:g}: must be at most dirty_limit, "
                f"{self.dirty_limit:g}"
            )
        return self


# The key `window` and its default. A stored network has no key `window` if the value is this
# default.
_USUAL_WINDOW = ("window", 4.0 * 2**20)


class Network(CheckedModel):
    """The network between the nodes. Latencies and jitter are in seconds."""

    latency: Seconds = quantity("50 us", description="One way, between two nodes")
    loopback_latency: Seconds = quantity("15 us", description="One way, inside a node")
    window: Annotated[Bytes, Field(ge=SEGMENT_BYTES)] = quantity(
        "4 MiB",
        description="Bytes of one TCP stream in flight, at most: Linux' tcp_wmem (models only)",
    )
    jitter: Seconds = quantity(
        "0 s", description="Standard deviation of the latency between two nodes"
    )
    loss: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0, description="Share of packets lost between two nodes"
    )
    congestion: Literal["cubic", "reno", "bbr"] = Field(
        "cubic", description="TCP congestion control; models use it where packets are lost"
    )

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        # The JSON text of a network is part of a stored run's identity, so it must stay the same in
        # later versions. A key that a later version adds is omitted while it has its default.
        table: dict[str, object] = handler(self)
        return {key: one for key, one in table.items() if (key, self.window) != _USUAL_WINDOW}


class Emulation(CheckedModel):
    """Side effects of emulating a network on one machine. Models do not use this class but
    `NetworkEffects`, to which it is converted.

    The defaults are the values of dfslab's own testbeds.
    """

    burst: Bytes = quantity(
        "256 KiB", description="What a rate-limited adapter lets pass at once (token bucket)"
    )
    delay: Seconds = quantity(
        "150 us", description="From this latency on, a process of the machine holds packets back"
    )


@dataclass(frozen=True)
class NetworkEffects:
    """Effects of a network on messages, for models. The network's latency and the rates of its
    adapters are not among these effects. The defaults are the values of a network of real links.

    `frame_bytes`: bytes of a full TCP segment, as the rate of an adapter counts them.
    `burst_bytes`: number of bytes that an adapter passes without delay before its rate limits
    further bytes. `is_crossing_work`: whether each message through the network takes time of the
    processors, which all nodes share.
    """

    frame_bytes: int = WIRE_BYTES
    burst_bytes: float = 0.0
    is_crossing_work: bool = False


class Deployment(CheckedModel):
    """A deployment: all nodes and the network between them."""

    node: list[NodeGroup] = Field(min_length=1, description="Groups of equal nodes")
    network: Network = Field(default_factory=Network, description="What lies between them")
    shared_cores: Annotated[int, Field(ge=0, le=100_000)] = Field(
        0, description="Cores that all nodes share, as on one machine; 0: none (models only)"
    )
    tolerance: Annotated[float, Field(gt=0, le=1)] = Field(
        0.05, description="How far a testbed's measured rates may be from the declared ones"
    )
    emulated: Emulation | None = Field(
        None,
        description="What its network is made of, where it is emulated on one machine (models "
        "only; a testbed's is known)",
    )
    uncertainty: HardwareUncertainty = Field(
        default_factory=HardwareUncertainty,
        description="How far the true hardware may be from these values (models only)",
    )

    profile: ProfileName = PROFILE

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        # The JSON text of a deployment is part of a stored run's identity, so it must stay the same
        # in later versions. Keys of later versions, such as `emulated`, are omitted while they have
        # their defaults.
        table: dict[str, object] = handler(self)
        usual = {
            "emulated": self.emulated is None,
            "uncertainty": self.uncertainty == HardwareUncertainty(),
        }
        return {key: value for key, value in table.items() if not usual.get(key, False)}

    @field_validator("node")
    @classmethod
    def _names_differ(cls, groups: list[NodeGroup]) -> list[NodeGroup]:
        names = [group.name for group in groups]
        if len(set(names)) != len(names):
            raise ValueError("every node group needs its own name")
        return groups

    def instances(self, role: str) -> int:
        """Returns the number of processes of `role` over all nodes."""
        return sum(group.count * group.roles.get(role, 0) for group in self.node)

    def groups_of(self, role: str) -> list[NodeGroup]:
        """Returns the node groups whose nodes host `role`."""
        return [group for group in self.node if group.roles.get(role, 0)]

    def nodes(self) -> list[tuple[str, NodeGroup]]:
        """Returns every node as (name, group). In a group of several nodes, the name is the group's
        name and a number.
        """
        return [
            (group.name if group.count == 1 else f"{group.name}-{number}", group)
            for group in self.node
            for number in range(1, group.count + 1)
        ]
