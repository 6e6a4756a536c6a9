"""Common parts of filebench's workloads: one flow of operations, repeated in a loop."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from dfslab.spec.streams.vocabulary import GammaSize, Share, SizeDistribution, Stream
from dfslab.spec.streams.workload import FileParameters, Size
from dfslab.spec.units import quantity

Flow = tuple[Share, ...]


class FlowParameters(FileParameters):
    """Parameters of filebench's workloads, per client: filebench's numbers of files divided by its
    numbers of threads. `FLOW` is one cycle of operations."""

    FLOW: ClassVar[Flow]

    file_size: Size = quantity("16 KiB", description="Mean bytes of a file")
    files_per_client: Annotated[int, Field(ge=2, le=1_000_000)] = Field(
        100, description="Files that each client starts with"
    )
    loops: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        50, description="Times that each client goes through the flow"
    )

    def operations(self) -> int:
        """Operations of each client."""
        return self.loops * len(self.FLOW)


def cycle(parameters: FlowParameters) -> Stream:
    """The repeated flow as a stream; file sizes are gamma-distributed with filebench's shape."""
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
