"""Filebench's webproxy: a repeated loop that deletes a file, writes a new file, reads five files,
and appends to a log.

Filebench uses 10,000 files of 16 KiB and 100 threads. Each client appends to its newest file, which
stands for the log.
"""

from __future__ import annotations

from dfslab.spec.streams.flow import FlowParameters, cycle
from dfslab.spec.streams.vocabulary import Share, Stream
from dfslab.spec.streams.workload import Streams

TITLE = "filebench webproxy: delete, write, five reads, one append to a log"


class Parameters(FlowParameters):
    """Parameters of filebench's webproxy. Filebench's 10,000 files for 100 threads become 100 files
    of each client."""

    FLOW = (
        Share(operation="delete"),
        Share(operation="write"),
        *(Share(operation="read") for _ in range(5)),
        Share(operation="append", file_choice="newest"),
    )


def stream(parameters: Parameters) -> Stream:
    """Returns the stream that repeats webproxy's sequence of operations."""
    return cycle(parameters)


WORKLOAD = Streams(TITLE, Parameters, stream)
