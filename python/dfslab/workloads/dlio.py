"""DLIO's training workload: clients read samples in batches between compute steps, and write
checkpoints.

The model is unet3d. Each file has one sample. The size of a sample is normally distributed with
mean 146,600,628 and standard deviation 68,341,808 bytes. A training step computes for 1.3604 s on a
batch of 4 samples, and there are 5 epochs. `scale` multiplies the sizes. By default, sizes and
compute time are 1 % of those of unet3d, and there are 2 epochs. In each epoch, each reader reads
each of its files once, in the stored order.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import NormalSize, Share, SizeDistribution, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, phase
from dfslab.spec.units import Seconds, quantity

TITLE = "DLIO: samples read in batches between steps of computing, with checkpoints"
UNET3D_MEAN_BYTES, UNET3D_DEVIATION_BYTES = 146_600_628.0, 68_341_808.0
LARGEST_DEVIATIONS = 4


class Parameters(FileParameters):
    """Parameters of DLIO's training. `file_size` is not used, because sizes of samples follow a
    distribution.
    """

    files_per_client: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        12, description="Samples of each reader"
    )
    scale: Annotated[float, Field(gt=0, le=1000)] = Field(
        0.01, description="Factor on the sizes of samples and checkpoints"
    )
    batch: Annotated[int, Field(ge=1, le=10_000)] = Field(4, description="Samples of a step")
    compute_time: Seconds = quantity("13.604 ms", description="Computing of a step")
    epochs: Annotated[int, Field(ge=1, le=1000)] = Field(2, description="Passes over the samples")
    checkpoint: bool = Field(True, description="Write a checkpoint after each epoch")

    def operations(self) -> int:
        """Returns the number of operations of each client over all epochs."""
        return self.epochs * (self.files_per_client + self.checkpoint)


def stream(parameters: Parameters) -> Stream:
    """Returns the stream of all epochs. Each batch of samples is one training step, whose compute
    time is a think time before the batch's first sample. With `checkpoint`, each epoch ends with a
    write that is synced."""
    samples = [Share(operation="read", think_time_s=0.0) for _ in range(parameters.batch)]
    samples[0] = Share(operation="read", think_time_s=parameters.compute_time)
    phases = []
    for epoch in range(1, parameters.epochs + 1):
        name = f"epoch {epoch}"
        phases.append(phase(name, parameters.files_per_client, *samples, mix_order="cycle"))
        if parameters.checkpoint:
            durable = Share(operation="write", fsync=True)
            phases.append(phase(f"checkpoint {epoch}", 1, durable))
    mean, deviation = UNET3D_MEAN_BYTES, UNET3D_DEVIATION_BYTES
    largest = mean + LARGEST_DEVIATIONS * deviation
    scale = parameters.scale
    sizes = NormalSize(mean=scale * mean, sd=scale * deviation, max=int(scale * largest))
    return Stream(
        phases=phases,
        file_size=SizeDistribution(normal=sizes),
        transfer_size_bytes=int(parameters.transfer_size),
        files_per_client=parameters.files_per_client,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
