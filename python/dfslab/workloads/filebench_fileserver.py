"""Filebench's fileserver: a repeated sequence of write, append, read, delete and stat on whole
files.

Filebench uses 10,000 files with a mean size of 128 KiB and 50 threads. In filebench, an append adds
16 KiB on average. In this workload, the size of an append is drawn from the distribution of file
sizes.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.flow import FlowParameters, cycle
from dfslab.spec.streams.vocabulary import Share, Stream
from dfslab.spec.streams.workload import Size, Streams
from dfslab.spec.units import quantity

TITLE = "filebench fileserver: write, append, read, delete, stat"


class Parameters(FlowParameters):
    """Parameters of filebench's fileserver. Filebench's 10,000 files for 50 threads become 200
    files of each client."""

    FLOW = (
        Share(operation="write"),
        Share(operation="append"),
        Share(operation="read"),
        Share(operation="delete"),
        Share(operation="stat"),
    )
    file_size: Size = quantity("128 KiB", description="Mean bytes of a file")
    files_per_client: Annotated[int, Field(ge=2, le=1_000_000)] = Field(
        200, description="Files that each client starts with"
    )


def stream(parameters: Parameters) -> Stream:
    """Returns the stream that repeats fileserver's sequence of operations."""
    return cycle(parameters)


WORKLOAD = Streams(TITLE, Parameters, stream)
