"""DFS-Perf's Massive: as many reads as writes of whole files, drawn at random, for long.

DFS-Perf ends after a time; here after a number of operations or at `run.time_limit`. It writes
under another name and renames; here files are written under their own.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from dfslab.spec.workload import FileParameters, Streams, phase, together_to_the_end

TITLE = "DFS-Perf Massive: reads and writes in equal parts; shuffled or not"


class Parameters(FileParameters):
    """DFS-Perf's names in brackets."""

    basic_files: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        10, description="Files that each client starts with (basic.files.per.thread)"
    )
    shuffle: bool = Field(False, description="Read any client's first files (shuffle.mode)")

    def operations(self) -> int:
        """Of each client."""
        return self.operations_per_client or 100


def stream(parameters: Parameters) -> dict[str, Any]:
    """One mix; where files of others are read, writes and reads take turns in short phases."""
    sizes = {
        "file_size": {"fixed": int(parameters.file_size)},
        "transfer_size_bytes": int(parameters.transfer_size),
        "files_per_client": parameters.basic_files,
    }
    count = parameters.operations()
    if not parameters.shuffle:
        mix = [{"operation": "read"}, {"operation": "write"}]
        how = {"file_choice": "uniform", "operations_per_client": count}
        return {"mix": mix, **how, **sizes}
    # Only operations that leave names alone may be done to others' files.
    phases = []
    for number in range(1, max(1, count // 10) + 1):
        phases.append(phase(f"write {number}", 5, "write"))
        phases.append(phase(f"read {number}", 5, "read", files="shared", file_choice="uniform"))
    return {"phases": [*phases, together_to_the_end()], **sizes}


WORKLOAD = Streams(TITLE, Parameters, stream)
