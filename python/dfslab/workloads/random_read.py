"""A workload of random reads: blocks in a random order inside each file, one file after the
other.
"""

from __future__ import annotations

from dfslab.spec.streams.vocabulary import Access, Share, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed

TITLE = "Random read inside files, whole files block by block"
Parameters = FileParameters


def stream(parameters: FileParameters) -> Stream:
    """Returns a stream in which every client reads every block of its files once, in a random
    order."""
    return Stream(
        mix=[Share(operation="read", weight=1.0)],
        access=Access(order="shuffled"),
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.operations(),
        files_per_client=parameters.operations(),
        file_choice="sequential",
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
