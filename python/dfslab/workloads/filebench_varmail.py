"""Filebench's varmail, a loop with the file operations of a mail server.

Each loop deletes a file, writes a new file and syncs it, reads a file, appends to a file and syncs
it, and reads a file again. Filebench uses 1,000 files with a mean size of 16 KiB and 16 threads.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.flow import FlowParameters, cycle
from dfslab.spec.streams.vocabulary import Share, Stream
from dfslab.spec.streams.workload import Streams

TITLE = "filebench varmail: delete, write and sync, read, append and sync, read"


class Parameters(FlowParameters):
    """Parameters of filebench's varmail. Filebench's 1,000 files for 16 threads become about 60
    files of each client."""

    FLOW = (
        Share(operation="delete"),
        Share(operation="write", fsync=True),
        Share(operation="read"),
        Share(operation="append", fsync=True),
        Share(operation="read"),
    )
    files_per_client: Annotated[int, Field(ge=2, le=1_000_000)] = Field(
        60, description="Files that each client starts with"
    )


def stream(parameters: Parameters) -> Stream:
    """Returns the stream that repeats varmail's sequence of operations."""
    return cycle(parameters)


WORKLOAD = Streams(TITLE, Parameters, stream)
