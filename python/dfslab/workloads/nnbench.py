"""Hadoop's NNBench: the NameNode's operations, one phase each, on tiny files, which are empty by
default.

The order is that of NNBench: create_write, open_read, rename, delete.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed, phase
from dfslab.spec.units import Bytes, quantity

TITLE = "NNBench: create, read, rename, delete on tiny files, phase by phase"


class Parameters(FileParameters):
    """Parameters of NNBench. The field descriptions give NNBench's options in brackets."""

    file_size: Annotated[Bytes, Field(ge=0)] = quantity(
        "0 B", description="Bytes of a file (-bytesToWrite)"
    )
    files_per_client: Annotated[int, Field(ge=1, le=10_000_000)] = Field(
        200, description="Files of each client (-numberOfFiles)"
    )

    def operations(self) -> int:
        """Returns the number of operations of each client over all phases."""
        return 4 * self.files_per_client


def stream(parameters: Parameters) -> Stream:
    """Returns a stream of one phase per operation type; every phase uses every file once."""
    count = parameters.files_per_client
    return Stream(
        phases=[
            phase("create_write", count, "write"),
            phase("open_read", count, "read"),
            phase("rename", count, "rename"),
            phase("delete", count, "delete"),
        ],
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        files_per_client=0,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
