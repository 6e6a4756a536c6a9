"""Filebench's varmail: mail is removed, delivered and synced, read, appended to and synced, read.

1,000 files of 16 KiB in the mean, 16 threads.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from dfslab.spec.units import quantity
from dfslab.spec.workload import FileParameters, Size

TITLE = "filebench varmail: delete, write and sync, read, append and sync, read"


class Parameters(FileParameters):
    """Filebench's own numbers, per client, are its files over its threads."""

    file_size: Size = quantity("16 KiB", description="Mean bytes of a file")
    files_per_client: Annotated[int, Field(ge=2, le=1_000_000)] = Field(
        60, description="Files that each client starts with"
    )
    loops: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        50, description="Times that each client goes through the flow"
    )

    def operations(self) -> int:
        """Of each client."""
        return self.loops * len(FLOW)


FLOW: tuple[dict[str, Any], ...] = (
    {"operation": "delete"},
    {"operation": "write", "fsync": True},
    {"operation": "read"},
    {"operation": "append", "fsync": True},
    {"operation": "read"},
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
