"""DFS-Perf's Metadata: a loop of metadata operations that each client repeats.

The loop creates a directory and a file in it, stats and renames the file, and removes the file and
the directory. DFS-Perf renames the directory with the file in it, and removes both by one
operation. This workload renames only the file, and removes the file and the directory by two
operations. Its loop therefore has six operations, and DFS-Perf's loop has five.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import OperationName, Share, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed
from dfslab.spec.units import Bytes, quantity

TITLE = "DFS-Perf Metadata: mkdir, create, exists, rename, delete, rmdir in a loop"
LOOP: tuple[OperationName, ...] = ("mkdir", "create", "exists", "rename", "delete", "rmdir")


class Parameters(FileParameters):
    """Parameters of DFS-Perf's Metadata. Files are empty by default, because only the number of
    operations matters.
    """

    file_size: Annotated[Bytes, Field(ge=0)] = quantity("0 B", description="Bytes of a file")
    loops: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        100, description="Loops of each client, of six operations each"
    )

    def operations(self) -> int:
        """Returns the number of operations of each client."""
        return len(LOOP) * self.loops


def stream(parameters: Parameters) -> Stream:
    """Returns the stream that repeats the six operations. Each operation uses the file or directory
    that the loop has just created.
    """
    return Stream(
        mix=[Share(operation=name) for name in LOOP],
        mix_order="cycle",
        file_choice="newest",
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.operations(),
        files_per_client=0,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
