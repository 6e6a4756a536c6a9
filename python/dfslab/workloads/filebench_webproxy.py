"""Filebench's webproxy: a file is replaced and read five times, then a line appended to a log.

10,000 files of 16 KiB, 100 threads. The log is each client's newest file.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from dfslab.spec.units import quantity
from dfslab.spec.workload import FileParameters, Size

TITLE = "filebench webproxy: delete, write, five reads, one append to a log"


class Parameters(FileParameters):
    """Filebench's own numbers, per client, are its files over its threads."""

    file_size: Size = quantity("16 KiB", description="Mean bytes of a file")
    files_per_client: Annotated[int, Field(ge=2, le=1_000_000)] = Field(
        100, description="Files that each client starts with"
    )
    loops: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        50, description="Times that each client goes through the flow"
    )

    def operations(self) -> int:
        """Of each client."""
        return self.loops * len(FLOW)


FLOW: tuple[dict[str, Any], ...] = (
    {"operation": "delete"},
    {"operation": "write"},
    {"operation": "read"},
    {"operation": "read"},
    {"operation": "read"},
    {"operation": "read"},
    {"operation": "read"},
    {"operation": "append", "file_choice": "newest"},
)


def stream(parameters: Parameters) -> dict[str, Any]:
    """The flow in a cycle; sizes are gamma with filebench's shape."""
    size = int(parameters.file_size)
    return {
        "mix": list(FLOW),
        "mix_order": "cycle",
        "file_choice": "uniform",
        "file_size": {"gamma": {"mean": float(size), "shape": 1.5, "max": 64 * size}},
        "transfer_size_bytes": int(parameters.transfer_size),
        "operations_per_client": parameters.operations(),
        "files_per_client": parameters.files_per_client,
    }
