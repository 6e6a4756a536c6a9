"""A workload of single transfers in one open file of each client, in modes that have the names of
fio's.

An operation is one transfer (one `pread` or `pwrite` call), so a rate counts transfers (IOPS). The
files are filled before the timed part, and a write overwrites bytes of its file.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dfslab.spec.streams.vocabulary import Access, Order, Share, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed

TITLE = "Transfers in one open file of each client: read, write, randread, randwrite, rw, randrw"
Mode = Literal["read", "write", "randread", "randwrite", "rw", "randrw"]
RANDOM = frozenset({"randread", "randwrite", "randrw"})
# The value of `read_share` at which reads and writes have the same weight.
EVEN = 0.5
READS = Share(operation="pread")
WRITES = Share(operation="pwrite")
MIXES: dict[Mode, list[Share]] = {
    "read": [READS],
    "write": [WRITES],
    "randread": [READS],
    "randwrite": [WRITES],
    "rw": [READS, WRITES],
    "randrw": [READS, WRITES],
}


class Parameters(FileParameters):
    """Parameters of the workload `transfers`."""

    mode: Mode = Field(
        "read", description="Reads, writes or both; one after the other, or at random offsets"
    )

    read_share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.5, description="Share of reads, in the modes rw and randrw"
    )
    once: bool = Field(
        False, description="Random offsets come once each, before one comes again (fio's map)"
    )

    operations_per_client: Annotated[int, Field(ge=0, le=1_000_000_000)] = Field(
        0, description="Transfers of each client; 0: one pass over its file"
    )

    def operations(self) -> int:
        """Returns the number of transfers of each client. This is the given number, or else the
        number of transfers that covers the client's file once."""
        return self.operations_per_client or max(1, int(self.file_size // self.transfer_size))


def stream(parameters: Parameters) -> Stream:
    """Returns the operation stream in which every client transfers parts of one open file."""
    order: Order = "sequential"
    if parameters.mode in RANDOM:
        order = "shuffled" if parameters.once else "random"
    return Stream(
        mix=_mix(parameters),
        access=Access(order=order),
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.operations(),
        files_per_client=1,
    )


def _mix(parameters: Parameters) -> list[Share]:
    """Returns the kinds of transfer of the mode (reads, writes or both), with their weights. If the
    mode mixes reads and writes, reads have the weight `read_share`, and writes have the weight 1 -
    `read_share`. A kind with weight 0 is left out."""
    mix, reads = MIXES[parameters.mode], parameters.read_share
    if len(mix) == 1 or reads == EVEN:
        return mix
    weighted = ((READS, reads), (WRITES, 1 - reads))
    return [one.model_copy(update={"weight": weight}) for one, weight in weighted if weight]


WORKLOAD = Streams(TITLE, Parameters, stream)
