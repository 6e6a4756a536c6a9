"""Hadoop's TestDFSIO: each client writes, appends to or reads one large file.

The tests are TestDFSIO's: -write, -append, -read, and -read with -random, -backward or -skip.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dfslab.spec.streams.vocabulary import Access, OperationName, Order, Share, Skip, Stream
from dfslab.spec.streams.workload import FileParameters, Size, Streams, fixed
from dfslab.spec.units import quantity

TITLE = "TestDFSIO: large files written, appended to or read"


class Parameters(FileParameters):
    """Parameters of TestDFSIO. The field descriptions give TestDFSIO's options in brackets."""

    file_size: Size = quantity("128 MiB", description="Bytes of each client's file (-size)")
    transfer_size: Size = quantity("1 MB", description="Bytes of one call (-bufferSize)")
    test: Literal["write", "append", "read", "random", "backward", "skip"] = Field(
        "write", description="What is done"
    )
    skip_bytes: Size = quantity("1 MB", description="Bytes left out (-skipSize)")

    def operations(self) -> int:
        """Returns the number of operations of each client: one operation on one file."""
        return 1


def stream(parameters: Parameters) -> Stream:
    """Returns a stream with one operation of each client on one file. The test determines whether
    the operation writes, appends or reads, and in which order it reads."""
    operation: OperationName = "read"
    order: Order = "sequential"
    match parameters.test:
        case "write" | "append":
            operation = parameters.test
        case "random" | "backward":
            order = parameters.test
        case "skip":
            order = Skip(skip=int(parameters.skip_bytes))
    return Stream(
        mix=[Share(operation=operation, access=Access(order=order))],
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=1,
        files_per_client=0 if operation == "write" else 1,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
