"""DFS-Perf's Mixture: whole-file reads and writes in random order.

DFS-Perf chooses between a read and a write at random until both given counts are reached. This
workload uses the counts only as weights of the choice. Every client executes the same number of
operations, but the numbers of reads and writes equal the counts only on average.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import OperationName, Share, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed

TITLE = "DFS-Perf Mixture: whole-file reads and writes at random"
FileCount = Annotated[int, Field(ge=0, le=1_000_000)]


class Parameters(FileParameters):
    """Parameters of DFS-Perf's Mixture. The field descriptions give DFS-Perf's names in brackets.
    DFS-Perf's report uses read/write shares of 80/20, 50/50 and 20/80.
    """

    basic_files: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        10, description="Files that each client starts with (basic.files.per.thread)"
    )
    read_files: FileCount = Field(16, description="Reads of each client (read.files.per.thread)")
    write_files: FileCount = Field(4, description="Writes of each client (write.files.per.thread)")

    def operations(self) -> int:
        """Returns the number of operations (reads and writes) of each client; at least 1."""
        return max(1, self.read_files + self.write_files)


def stream(parameters: Parameters) -> Stream:
    """Returns a stream whose reads choose among all existing files and whose writes create new
    files."""
    counts: tuple[tuple[OperationName, int], ...] = (
        ("read", parameters.read_files),
        ("write", parameters.write_files),
    )
    mix = [Share(operation=name, weight=float(count)) for name, count in counts if count]
    return Stream(
        mix=mix or [Share(operation="read")],
        file_choice="uniform",
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.operations(),
        files_per_client=parameters.basic_files,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
