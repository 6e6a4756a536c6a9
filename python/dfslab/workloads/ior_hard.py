"""IOR as IO500's "hard": all clients write and read one shared file in small, unaligned,
interleaved parts.

The command is `ior -t 47008 -b 47008 -s N`. Client c of n clients accesses parts c, c + n, c + 2 n,
and so on.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dfslab.spec.streams.vocabulary import Access, Share, Stream
from dfslab.spec.streams.workload import (
    FileParameters,
    PhaseSettings,
    Size,
    Streams,
    fixed,
    phase,
    together_to_the_end,
)
from dfslab.spec.units import quantity

TITLE = "IOR hard: one shared file in interleaved pieces of 47008 bytes"


class Parameters(FileParameters):
    """Parameters of IOR "hard". `file_size` is the size in bytes of the shared file: (parts per
    client) × (number of clients) × `transfer_size`."""

    file_size: Size = quantity("47008 kB", description="Bytes of the one file")
    transfer_size: Size = quantity("47008 B", description="Bytes of one piece (-t, -b)")

    order: Literal["interleaved", "segmented"] = Field(
        "interleaved", description="Pieces in turn, or one block for each client (-b above -t)"
    )
    force: bool = Field(True, description="Force written data to disk before close (-e)")

    def operations(self) -> int:
        """Returns the number of operations of each client: one pass of writes and one pass of
        reads."""
        return 2


def stream(parameters: Parameters) -> Stream:
    """Returns a stream of a write phase, a read phase and a last phase. Every client writes and
    then reads its parts of the shared file, which is empty at the start. In the last phase, clients
    wait until all of them have finished reading. One operation is a client's whole pass through the
    file."""
    shared: PhaseSettings = {"files": "shared", "access": Access(order=parameters.order)}
    return Stream(
        phases=[
            phase("write", 1, Share(operation="overwrite", fsync=parameters.force), **shared),
            phase("read", 1, "read", **shared),
            together_to_the_end(),
        ],
        files_together=1,
        prepare="empty",
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
