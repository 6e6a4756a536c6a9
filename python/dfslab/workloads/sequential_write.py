"""A workload that writes new files from beginning to end, one after the other."""

from __future__ import annotations

from dfslab.spec.streams.vocabulary import Share, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed

TITLE = "Sequential write of whole files"
Parameters = FileParameters


def stream(parameters: FileParameters) -> Stream:
    """Returns a stream in which every operation writes a new file."""
    return Stream(
        mix=[Share(operation="write", weight=1.0)],
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.operations(),
        files_per_client=parameters.operations(),
        file_choice="sequential",
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
