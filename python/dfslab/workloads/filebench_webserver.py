"""Filebench's webserver: a repeated loop that reads ten files and appends a line to a log.

Filebench uses 1,000 files of 16 KiB and 100 threads. Each client appends to its last file, which
stands for the log, whereas filebench has one log for all threads.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.flow import FlowParameters, cycle
from dfslab.spec.streams.vocabulary import Share, Stream
from dfslab.spec.streams.workload import Streams

TITLE = "filebench webserver: ten reads, one append to a log"


class Parameters(FlowParameters):
    """Parameters of filebench's webserver. Filebench's 1,000 files for 100 threads become 10 files
    of each client."""

    FLOW = (
        *(Share(operation="read") for _ in range(10)),
        Share(operation="append", file_choice="newest"),
    )
    files_per_client: Annotated[int, Field(ge=2, le=1_000_000)] = Field(
        10, description="Files that each client starts with"
    )


def stream(parameters: Parameters) -> Stream:
    """Returns the stream that repeats webserver's sequence of operations."""
    return cycle(parameters)


WORKLOAD = Streams(TITLE, Parameters, stream)
