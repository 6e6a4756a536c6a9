"""Appends to existing files."""

from __future__ import annotations

from typing import Any

from dfslab.spec.streams.workload import FileParameters, Streams

TITLE = "Append to files"
Parameters = FileParameters


def stream(parameters: FileParameters) -> dict[str, Any]:
    """Every client appends to its files in turn."""
    return {
        "mix": [{"operation": "append", "weight": 1.0}],
        "file_size": {"fixed": int(parameters.file_size)},
        "transfer_size_bytes": int(parameters.transfer_size),
        "operations_per_client": parameters.operations(),
        "files_per_client": parameters.operations(),
        "file_choice": "sequential",
    }


WORKLOAD = Streams(TITLE, Parameters, stream)
