"""Whole-file reads and writes in random order, with a given share of reads (as DFS-Perf's
Mixture).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import OperationName, Share, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed

TITLE = "Random mixture of whole-file reads and writes"


class Parameters(FileParameters):
    """Parameters of the workload `mixture`. `read_share` is the fraction of the operations that
    read; the remaining operations write new files."""

    read_share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.8, description="Share of operations that read"
    )


def stream(parameters: Parameters) -> Stream:
    """Returns a stream whose reads choose uniformly among the files that exist at the start and the
    files that were written since the start.
    """
    shares: tuple[tuple[OperationName, float], ...] = (
        ("read", parameters.read_share),
        ("write", 1 - parameters.read_share),
    )
    return Stream(
        mix=[Share(operation=name, weight=share) for name, share in shares if share],
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.operations(),
        files_per_client=parameters.operations(),
        file_choice="uniform",
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
