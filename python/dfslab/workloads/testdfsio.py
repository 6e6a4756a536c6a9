"""Hadoop's TestDFSIO: one large file per client, one kind of access.

The tests are TestDFSIO's: -write, -append, -read, and -read with -random, -backward or -skip.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from dfslab.spec.streams.workload import FileParameters, Size, Streams
from dfslab.spec.units import quantity

TITLE = "TestDFSIO: large files written, appended to or read"


class Parameters(FileParameters):
    """TestDFSIO's options in brackets."""

    file_size: Size = quantity("128 MiB", description="Bytes of each client's file (-size)")
    transfer_size: Size = quantity("1 MB", description="Bytes of one call (-bufferSize)")
    test: Literal["write", "append", "read", "random", "backward", "skip"] = Field(
        "write", description="What is done"
    )
    skip_bytes: Size = quantity("1 MB", description="Bytes left out (-skipSize)")

    def operations(self) -> int:
        """One file, one operation."""
        return 1


def stream(parameters: Parameters) -> dict[str, Any]:
    """One operation of each client on one file."""
    operation = parameters.test if parameters.test in ("write", "append") else "read"
    orders: dict[str, Any] = {
        "random": "random",
        "backward": "backward",
        "skip": {"skip": int(parameters.skip_bytes)},
    }
    order = orders.get(parameters.test, "sequential")
    return {
        "mix": [{"operation": operation, "access": {"order": order}}],
        "file_size": {"fixed": int(parameters.file_size)},
        "transfer_size_bytes": int(parameters.transfer_size),
        "operations_per_client": 1,
        "files_per_client": 0 if operation == "write" else 1,
    }


WORKLOAD = Streams(TITLE, Parameters, stream)
