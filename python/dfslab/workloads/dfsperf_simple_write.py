"""DFS-Perf's SimpleWrite: each client writes its files whole and sequentially."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import Share, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed

TITLE = "DFS-Perf SimpleWrite: new files written whole"


class Parameters(FileParameters):
    """Parameters of DFS-Perf's SimpleWrite. The field descriptions give DFS-Perf's names in
    brackets. DFS-Perf's block size and write type are not parameters of this workload, but of the
    file system.
    """

    files_per_client: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        10, description="Files of each client (files.per.thread)"
    )

    def operations(self) -> int:
        """Returns the number of operations of each client: one write for each file."""
        return self.files_per_client


def stream(parameters: Parameters) -> Stream:
    """Returns a stream in which every operation writes a new file."""
    return Stream(
        mix=[Share(operation="write")],
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.files_per_client,
        files_per_client=0,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
