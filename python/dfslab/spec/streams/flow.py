"""The common part of filebench's workloads: a short sequence of operations (the flow), repeated in
a loop.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from dfslab.spec.streams.vocabulary import GammaSize, Share, SizeDistribution, Stream
from dfslab.spec.streams.workload import FileParameters, Size
from dfslab.spec.units import quantity

Flow = tuple[Share, ...]


class FlowParameters(FileParameters):
    """Parameters of filebench's workloads, for one client. `FLOW` is the sequence of operations
    that the client repeats. Filebench states the number of files of all its threads together. The
    default here is this number divided by the number of filebench's threads."""

    FLOW: ClassVar[Flow]

    file_size: Size = quantity("16 KiB", description="Mean bytes of a file")
    files_per_client: Annotated[int, Field(ge=2, le=1_000_000)] = Field(
        100, description="Files that each client starts with"
    )
    loops: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        50, description="Times that each client goes through the flow"
    )

    def operations(self) -> int:
        """Returns the number of operations of each client."""
        return self.loops * len(self.FLOW)


def cycle(parameters: FlowParameters) -> Stream:
    """Returns the stream that repeats the sequence `FLOW`. File sizes have a gamma distribution
    with the shape that filebench uses."""
    size = int(parameters.file_size)
    return Stream(
        mix=list(parameters.FLOW),
        mix_order="cycle",
        file_choice="uniform",
        file_size=SizeDistribution(gamma=GammaSize(mean=float(size), shape=1.5, max=64 * size)),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.operations(),
        files_per_client=parameters.files_per_client,
    )
