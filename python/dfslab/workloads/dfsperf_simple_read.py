"""DFS-Perf's SimpleRead: each client reads its files whole, in sequential or random order."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dfslab.spec.streams.vocabulary import Share, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed

TITLE = "DFS-Perf SimpleRead: whole files read in turn or at random"


class Parameters(FileParameters):
    """Parameters of DFS-Perf's SimpleRead. The field descriptions give DFS-Perf's names in
    brackets.
    """

    files_per_client: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        10, description="Files that each client has and reads (files.per.thread)"
    )
    read_mode: Literal["sequence", "random"] = Field(
        "sequence", description="Files in turn, or each drawn at random (read.mode)"
    )

    def operations(self) -> int:
        """Returns the number of operations of each client, which is the number of its files."""
        return self.files_per_client


def stream(parameters: Parameters) -> Stream:
    """Returns a stream in which each client executes as many reads as it has files: of each file in
    turn, or of files that are chosen at random."""
    return Stream(
        mix=[Share(operation="read")],
        file_choice="sequential" if parameters.read_mode == "sequence" else "uniform",
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.files_per_client,
        files_per_client=parameters.files_per_client,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
