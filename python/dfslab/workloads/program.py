"""A program of tasks: each task reads a file, computes, and writes a file of the same size.

A task reads what the task before it has written. The first task reads a file that exists before
the timed part. With `cache = "cold"`, caches are emptied before the first task only,
so what later tasks find in memory depends on the tasks before them.
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
    """Returns the stream of one phase in which each client reads and writes in turn. The time of
    computing is a think time before each write.

    The file that the task before has written is the newest one of its client.
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
