"""A workload that mostly lists a directory, and sometimes reads a file."""

from __future__ import annotations

from dfslab.spec.streams.vocabulary import Share, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed

TITLE = "Mostly lists"
Parameters = FileParameters


def stream(parameters: FileParameters) -> Stream:
    """Returns a stream with nine directory listings for each read."""
    return Stream(
        mix=[Share(operation="list", weight=9.0), Share(operation="read", weight=1.0)],
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.operations(),
        files_per_client=16,
        file_choice="uniform",
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
