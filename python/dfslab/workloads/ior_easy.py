"""IOR as IO500's "easy": each client writes and reads one file in large transfers.

The command is `ior -t 2m -F -C -e`. Each client reads what the next client wrote (-C), to avoid
cache hits.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import Files, Neighbour, Share, Stream
from dfslab.spec.streams.workload import (
    FileParameters,
    Size,
    Streams,
    fixed,
    phase,
    together_to_the_end,
)
from dfslab.spec.units import quantity

TITLE = "IOR easy: a file for each client, large transfers"


class Parameters(FileParameters):
    """Parameters of IOR "easy". The field descriptions give IOR's options in brackets."""

    file_size: Size = quantity("64 MiB", description="Bytes of each client's file (-b)")
    transfer_size: Size = quantity("2 MiB", description="Bytes of one transfer (-t)")
    neighbour: Annotated[int, Field(ge=0, le=65_535)] = Field(
        1, description="Which client's file is read: number of clients further on (-Q)"
    )

    force: bool = Field(True, description="Force written data to disk before close (-e)")

    def operations(self) -> int:
        """Returns the number of operations of each client: a write and a read."""
        return 2


def stream(parameters: Parameters) -> Stream:
    """Returns a stream of a write phase and a read phase. With `force`, written data is forced to
    disk (IOR's -e).

    Client c reads the file of client c + `neighbour`. If `neighbour` is not 0, there is a last
    phase in which clients wait until all of them have finished reading.
    """
    theirs: Files = Neighbour(neighbour=parameters.neighbour) if parameters.neighbour else "own"
    return Stream(
        phases=[
            phase("write", 1, Share(operation="write", fsync=parameters.force)),
            phase("read", 1, "read", files=theirs),
            *([together_to_the_end()] if parameters.neighbour else []),
        ],
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        files_per_client=0,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
