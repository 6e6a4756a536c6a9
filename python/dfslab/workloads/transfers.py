"""A workload of single transfers in one open file of each client, in the modes that fio names.

An operation is one transfer (one `pread` or `pwrite` call), so a rate counts transfers (IOPS). The
files are filled before the timed part, and a write overwrites bytes of its file.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dfslab.spec.streams.vocabulary import Access, Share, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed

TITLE = "Transfers in one open file of each client: read, write, randread, randwrite, rw, randrw"
Mode = Literal["read", "write", "randread", "randwrite", "rw", "randrw"]
RANDOM = frozenset({"randread", "randwrite", "randrw"})
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

    operations_per_client: Annotated[int, Field(ge=0, le=1_000_000_000)] = Field(
        0, description="Transfers of each client; 0: one pass over its file"
    )

    def operations(self) -> int:
        """Number of transfers of each client: the given number, or the number that covers the
        client's file once."""
        return self.operations_per_client or max(1, int(self.file_size // self.transfer_size))


def stream(parameters: Parameters) -> Stream:
    """Returns the operation stream in which every client transfers parts of one open file."""
    return Stream(
        mix=MIXES[parameters.mode],
        access=Access(order="random" if parameters.mode in RANDOM else "sequential"),
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.operations(),
        files_per_client=1,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
