"""Filebench's webproxy: a file is replaced and read five times, then a line appended to a log.

10,000 files of 16 KiB, 100 threads. The log is each client's newest file.
"""

from __future__ import annotations

from typing import Any

from dfslab.spec.streams.flow import FlowParameters, cycle
from dfslab.spec.streams.workload import Streams

TITLE = "filebench webproxy: delete, write, five reads, one append to a log"


class Parameters(FlowParameters):
    """10,000 files over 100 threads."""

    FLOW = (
        {"operation": "delete"},
        {"operation": "write"},
        *({"operation": "read"} for _ in range(5)),
        {"operation": "append", "file_choice": "newest"},
    )


def stream(parameters: Parameters) -> dict[str, Any]:
    """The flow in a cycle."""
    return cycle(parameters)


WORKLOAD = Streams(TITLE, Parameters, stream)
