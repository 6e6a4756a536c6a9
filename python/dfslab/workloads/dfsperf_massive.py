"""DFS-Perf's Massive: a long random mix of whole-file reads and writes in equal numbers.

DFS-Perf ends after a given time. This workload ends after a number of operations or at
`run.time_limit`. DFS-Perf writes to a temporary name and then renames the file. This workload
writes to the final name.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import Share, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed, phase, together_to_the_end

TITLE = "DFS-Perf Massive: reads and writes in equal parts; shuffled or not"


class Parameters(FileParameters):
    """Parameters of DFS-Perf's Massive. The field descriptions give DFS-Perf's names in
    brackets.
    """

    basic_files: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        10, description="Files that each client starts with (basic.files.per.thread)"
    )
    shuffle: bool = Field(False, description="Read any client's first files (shuffle.mode)")

    def operations(self) -> int:
        """Returns the number of operations of each client: the given number, or else 100."""
        return self.operations_per_client or 100


def stream(parameters: Parameters) -> Stream:
    """Returns a stream with one random mix of reads and writes.

    In shuffle mode, clients also read files of other clients. The stream then has short phases
    instead of the mix: five writes, then five reads, repeatedly. In the last phase, clients wait
    until all of them have finished reading.
    """
    count = parameters.operations()
    if not parameters.shuffle:
        return Stream(
            mix=[Share(operation="read"), Share(operation="write")],
            file_choice="uniform",
            operations_per_client=count,
            file_size=fixed(parameters.file_size),
            transfer_size_bytes=int(parameters.transfer_size),
            files_per_client=parameters.basic_files,
        )
    # While clients read each other's files, no operation may create, rename or remove a file.
    # Writes and reads are therefore in separate phases.
    phases = []
    for number in range(1, max(1, count // 10) + 1):
        phases.append(phase(f"write {number}", 5, "write"))
        phases.append(phase(f"read {number}", 5, "read", files="shared", file_choice="uniform"))
    return Stream(
        phases=[*phases, together_to_the_end()],
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        files_per_client=parameters.basic_files,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
