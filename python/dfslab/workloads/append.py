"""A workload that appends to existing files."""

from __future__ import annotations

from dfslab.spec.streams.vocabulary import Share, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed

TITLE = "Append to files"
Parameters = FileParameters


def stream(parameters: FileParameters) -> Stream:
    """Returns the stream in which every client appends to its files, one after the other."""
    return Stream(
        mix=[Share(operation="append", weight=1.0)],
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.operations(),
        files_per_client=parameters.operations(),
        file_choice="sequential",
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
