"""Random write inside files: blocks in a random order, one file after the other."""

from __future__ import annotations

from typing import Any

from dfslab.spec.streams.workload import FileParameters, Streams

TITLE = "Random write inside files, whole files block by block"
Parameters = FileParameters


def stream(parameters: FileParameters) -> dict[str, Any]:
    """Every client writes every block of files that are there once, in a random order."""
    return {
        "mix": [{"operation": "overwrite", "weight": 1.0}],
        "access": {"order": "shuffled"},
        "file_size": {"fixed": int(parameters.file_size)},
        "transfer_size_bytes": int(parameters.transfer_size),
        "operations_per_client": parameters.operations(),
        "files_per_client": parameters.operations(),
        "file_choice": "sequential",
    }


WORKLOAD = Streams(TITLE, Parameters, stream)
