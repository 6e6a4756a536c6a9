"""DFS-Perf's Iterate: clients write, wait at a barrier, and read the written files, repeatedly.

In shuffle mode clients choose the files that they read among the files of all clients. Otherwise
each client reads the files that it wrote.

DFS-Perf keeps the files of earlier iterations. This workload removes them before the next
iteration, in a separate phase.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import Stream
from dfslab.spec.streams.workload import (
    FileParameters,
    PhaseSettings,
    Streams,
    fixed,
    phase,
    together_to_the_end,
)

TITLE = "DFS-Perf Iterate: write, wait for all, read; shuffled or not"


class Parameters(FileParameters):
    """Parameters of DFS-Perf's Iterate. The field descriptions give DFS-Perf's names in
    brackets.
    """

    iterations: Annotated[int, Field(ge=1, le=1000)] = Field(
        4, description="Writes and reads in turn (iterations)"
    )
    shuffle: bool = Field(False, description="Read any client's files (shuffle.mode)")
    write_files: Annotated[int, Field(ge=1, le=100_000)] = Field(
        8, description="Files that each client writes in an iteration (write.files.per.thread)"
    )
    read_files: Annotated[int, Field(ge=1, le=100_000)] = Field(
        8, description="Files that each client reads in an iteration (read.files.per.thread)"
    )

    def operations(self) -> int:
        """Returns the number of operations of each client over all phases."""
        removed = (self.iterations - 1) * self.write_files
        each = self.write_files + self.read_files
        return self.iterations * each + removed + self.shuffle


def stream(parameters: Parameters) -> Stream:
    """Returns a stream with a write phase and a read phase for each iteration. Between two
    iterations, another phase removes the written files. In shuffle mode, there is a last phase, in
    which each client waits until all clients have finished reading."""
    how: PhaseSettings = {
        "files": "shared" if parameters.shuffle else "own",
        "file_choice": "uniform" if parameters.shuffle else "sequential",
    }
    phases = []
    for number in range(1, parameters.iterations + 1):
        if number > 1:
            phases.append(phase(f"clear {number}", parameters.write_files, "delete"))
        phases.append(phase(f"write {number}", parameters.write_files, "write"))
        phases.append(phase(f"read {number}", parameters.read_files, "read", **how))
    phases += [together_to_the_end()] if parameters.shuffle else []
    return Stream(
        phases=phases,
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        files_per_client=0,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
