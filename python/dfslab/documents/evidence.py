"""The evidence about one measured figure, such as a throughput. The evidence has all facts from
which the plausibility rules decide whether the figure is believable.

A field that is None or empty is unknown. A rule that needs an unknown field is not applied. A TOML
file with published figures is read into the same classes, so that a published figure is checked
like a measured figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from dfslab.spec.model import CheckedModel
from dfslab.spec.units import Bytes, BytesPerSecond, CountedBytes, PerSecond, Seconds

WholeNumber = Annotated[int, Field(ge=0)]
FromZero = Annotated[float, Field(ge=0)]
Operation = Literal["read", "write", "metadata", "mixed", ""]
Cache = Literal["warm", "cold", "direct"]


class Speed(CheckedModel):
    """The measured figures: rates, throughput and latencies. Latencies are per operation, over all
    clients."""

    rate: PerSecond | None = Field(None, description="Operations a second of all clients")
    throughput: BytesPerSecond | None = Field(None, description="Bytes a second of all clients")
    latency_mean: Seconds | None = Field(None, description="Mean time of an operation")
    latency_p50: Seconds | None = Field(None, description="Median time of an operation")
    latency_p99: Seconds | None = Field(None, description="99th percentile of the times")
    latency_max: Seconds | None = Field(None, description="Longest time of an operation")


class Work(CheckedModel):
    """The workload that produced the figures."""

    operation: Operation = Field("", description="What the operations do")
    operation_size: CountedBytes | None = Field(None, description="Bytes of each operation")
    operations: WholeNumber | None = Field(None, description="Operations that were counted")
    bytes_moved: CountedBytes | None = Field(None, description="Bytes that were counted")
    data_size: CountedBytes | None = Field(None, description="Distinct bytes that were accessed")
    errors: WholeNumber | None = Field(None, description="Operations that failed and are counted")
    duration: Seconds | None = Field(None, description="Timed part, as the figures use it")
    elapsed: Seconds | None = Field(None, description="Time by the dates of start and end")
    warm_up: Seconds | None = Field(None, description="Time until a steady state, or its credit")
    clients: WholeNumber | None = Field(None, description="Concurrent processes or threads")
    queue_depth: WholeNumber | None = Field(
        None, description="Outstanding operations of each client"
    )
    scheduled_rate: PerSecond | None = Field(None, description="Rate of the arrival schedule")
    from_schedule: bool | None = Field(
        None, description="Whether times count from the scheduled start"
    )
    cache: Cache | None = Field(None, description="State of the clients' caches that is claimed")
    forced: bool | None = Field(
        None, description="Whether written data was on stable storage at the end of the timed part"
    )
    reads_own_writes: bool | None = Field(
        None, description="Whether each client reads what it has just written"
    )
    copies: Annotated[float, Field(ge=1)] | None = Field(
        None, description="Bytes on disks for each byte written"
    )


class Hardware(CheckedModel):
    """The hardware on which the figures were measured."""

    client_nodes: WholeNumber | None = Field(None, description="Nodes that ran clients")
    server_nodes: WholeNumber | None = Field(None, description="Nodes that stored data")
    is_remote: bool | None = Field(None, description="Whether all data crosses a network")
    client_line: BytesPerSecond | None = Field(None, description="Line rate of a client node")
    server_line: BytesPerSecond | None = Field(None, description="Line rate of a server node")
    round_trip: Seconds | None = Field(None, description="Round trip between client and server")
    disks_read: BytesPerSecond | None = Field(None, description="Sum of all disks' read rates")
    disks_write: BytesPerSecond | None = Field(None, description="Sum of all disks' write rates")
    memory_rate: BytesPerSecond | None = Field(None, description="Memory bandwidth of a client")
    client_memory: Bytes | None = Field(None, description="Memory of a client node")
    server_memory: Bytes | None = Field(None, description="Memory of a server node")


class Caches(CheckedModel):
    """The observed state of page caches and the observed traffic of disks."""

    resident: FromZero | None = Field(
        None, description="Share of the files in clients' page caches at the start"
    )
    disk_reads: CountedBytes | None = Field(None, description="Bytes that came off disks meanwhile")
    first_reads: CountedBytes | None = Field(
        None, description="Bytes that were read for the first time"
    )
    passes: FromZero | None = Field(
        None, description="Bytes that were read, divided by the bytes of the files"
    )


class Data(CheckedModel):
    """The content of the data, such as its compressibility."""

    compressible: FromZero | None = Field(None, description="Share that compression removes")
    duplicate: FromZero | None = Field(None, description="Share that deduplication removes")
    is_reduced: bool | None = Field(
        None, description="Whether the storage compresses or deduplicates"
    )
    was_written: bool | None = Field(None, description="Whether files were written before reads")
    is_compared: bool | None = Field(
        None, description="Whether content of files was compared with what was written"
    )


class Generator(CheckedModel):
    """The load generator and the machine that it ran on."""

    own_share: FromZero | None = Field(
        None, description="The generator's processor time as a share of the mean latency"
    )
    user_share: FromZero | None = Field(
        None, description="Share of the time for which its threads computed in user mode"
    )
    is_late: bool | None = Field(
        None, description="Whether operations began later than scheduled because of the generator"
    )
    others: FromZero | None = Field(
        None, description="Processor time of programs that do not belong to the run"
    )
    stolen: FromZero | None = Field(None, description="Processor time that a hypervisor took")
    throttled: FromZero | None = Field(
        None, description="Share of the time without processor, by quota or by heat"
    )
    clock_step: Seconds | None = Field(None, description="By how much the clock was set meanwhile")


class Coverage(CheckedModel):
    """How much of the planned work was done, and how much of the completed work the figures
    include."""

    phases_planned: WholeNumber | None = Field(
        None, description="Phases that belong to the benchmark"
    )
    phases_finished: WholeNumber | None = Field(None, description="Phases that the figures cover")
    clients_planned: WholeNumber | None = Field(None, description="Clients that were started")
    clients_finished: WholeNumber | None = Field(None, description="Clients that the figures cover")
    nodes_stated: WholeNumber | None = Field(
        None, description="Client nodes that the figure is stated for, or compared with"
    )
    settled: bool | None = Field(None, description="Whether a steady state was reached")
    ends_with_first: bool | None = Field(
        None, description="Whether operations count only until the first client has finished"
    )


class WorkPart(CheckedModel):
    """The size in bytes and the time in seconds of one part of the work, such as a task or a
    repetition.
    """

    size: CountedBytes
    time: Seconds


class Repetitions(CheckedModel):
    """The results of repeated runs of one measurement, in chronological order. A result may be a
    mean over parts of the work, such as tasks. In this case, `parts` has these parts."""

    throughputs: list[BytesPerSecond] = Field(default_factory=list, description="Of each run")
    rates: list[PerSecond] = Field(default_factory=list, description="Of each run")
    parts: list[WorkPart] = Field(
        default_factory=list, description="What the figure is the mean of"
    )


class Evidence(CheckedModel):
    """All evidence about one measured figure. `subject` is the figure's name in the findings of the
    plausibility rules.
    """

    subject: str = Field("the figure", description="What the figure is called")
    speed: Speed = Field(default_factory=Speed, description="The figures")
    work: Work = Field(default_factory=Work, description="What was done")
    hardware: Hardware = Field(default_factory=Hardware, description="On what")
    caches: Caches = Field(default_factory=Caches, description="Caches and disks, as observed")
    data: Data = Field(default_factory=Data, description="What the data was made of")
    generator: Generator = Field(default_factory=Generator, description="The load generator")
    coverage: Coverage = Field(default_factory=Coverage, description="What the figures cover")
    repetitions: Repetitions = Field(default_factory=Repetitions, description="Other runs")


def least(values: Sequence[float | None]) -> float | None:
    """Returns the smallest of the known values; None if all are unknown."""
    known = [one for one in values if one is not None]
    return min(known) if known else None


def product(*factors: float | None) -> float | None:
    """Returns the product of the factors; None if any factor is unknown."""
    found = 1.0
    for one in factors:
        if one is None:
            return None
        found *= one
    return found


def line_bytes_per_s(hardware: Hardware) -> float | None:
    """Returns the line rate that limits transfers between clients and servers, in bytes per second.
    The result is the smaller of two sums: the sum of the line rates of all clients, and that of all
    servers. If only one sum is known, returns it; None if neither is known."""
    return least(
        [
            product(hardware.client_nodes, hardware.client_line),
            product(hardware.server_nodes, hardware.server_line),
        ]
    )
