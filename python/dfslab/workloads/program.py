"""A program of tasks: each task reads a file, computes, and writes a file of the same size.

A task reads the file that the previous task of the client has written. The first task reads a file
that exists before the timed part. With `cache = "cold"`, caches are emptied before the first task
only, so later tasks may find in memory what earlier tasks have read or written.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import Share, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed
from dfslab.spec.units import Seconds, quantity

TITLE = "A program of tasks that read a file, compute and write a file"


class Parameters(FileParameters):
    """Parameters of the workload `program`. `file_size` is the size of every file.
    `data_per_client` and `operations_per_client` are not used, because the tasks determine them.
    """

    tasks: Annotated[int, Field(ge=1, le=32)] = Field(
        3, description="Tasks of each client, one after the other"
    )
    compute_time: Seconds = quantity("0 s", description="Computing of a task, before it writes")

    def operations(self) -> int:
        """Returns the number of operations of each client: a read and a write for each task."""
        return 2 * self.tasks


def stream(parameters: Parameters) -> Stream:
    """Returns the stream of one phase in which each client alternates reads and writes. The compute
    time of a task is a think time before its write.

    Each read uses the client's newest file, which is the one that the previous task has written.
    """
    return Stream(
        mix=[
            Share(operation="read", file_choice="newest"),
            Share(operation="write", think_time_s=parameters.compute_time),
        ],
        mix_order="cycle",
        operations_per_client=parameters.operations(),
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        files_per_client=1,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
