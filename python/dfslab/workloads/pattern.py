"""A workload with any access pattern that the stream specification can express: operations, files,
offsets.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import (
    Access,
    FileChoice,
    Files,
    Layout,
    MixOrder,
    Prepare,
    Share,
    SizeDistribution,
    Stream,
)
from dfslab.spec.streams.workload import FileParameters, Streams, fixed

TITLE = "Any pattern: operations, orders, sizes and choices in the generator's own words"

# Keys of the workload that are passed unchanged to the stream specification, under the same names.
UNCHANGED = {"mix_order", "access", "file_choice", "files", "layout", "prepare", "compressible"}


class Parameters(FileParameters):
    """Parameters of the workload `pattern`. Their values use the terms that
    `spec/streams/vocabulary.py` defines. Byte counts in tables are plain numbers."""

    mix: list[Share] = Field(
        [Share(operation="read")],
        min_length=1,
        description="Operations, each with its weight, and with its access, file_choice, fsync or "
        "think_time_s where that differs from the workload's",
    )
    mix_order: MixOrder = Field(
        "random", description="Operations drawn by weight, or one after the other"
    )
    access: Access = Field(
        Access(),
        description="How a file is gone through: order (sequential, backward, random, shuffled, "
        "same, interleaved, segmented, strided, skip), transfer_size, transfers_per_operation, "
        "reopen",
    )
    file_choice: FileChoice = Field(
        "sequential", description="Which file is taken: sequential, uniform, newest, zipf"
    )
    files: Files = Field("own", description="Whose files are taken: own, shared, a neighbour's")
    sizes: SizeDistribution | None = Field(
        None, description="Bytes of files, drawn (uniform, lognormal, normal, gamma, choice)"
    )
    files_per_client: Annotated[int, Field(ge=0, le=10_000_000)] = Field(
        8, description="Files that each client starts with"
    )
    files_together: Annotated[int, Field(ge=0, le=10_000_000)] = Field(
        0, description="Files that all clients start with, instead; 1: a shared file"
    )
    layout: Layout = Field(Layout(), description="One directory, or a tree for each client")
    prepare: Prepare = Field(
        "written", description="Whether these files hold their bytes before the timed part"
    )
    compressible: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="Share of every written page that is zeros"
    )


def stream(parameters: Parameters) -> Stream:
    """Returns the stream specification that has exactly the values of the parameters."""
    same = UNCHANGED & parameters.model_fields_set
    given = {key: value for key, value in parameters if key in same}
    if parameters.files_together:
        given["files_together"] = parameters.files_together
    else:
        given["files_per_client"] = parameters.files_per_client
    own = Stream(
        mix=parameters.mix,
        file_size=parameters.sizes or fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.operations(),
    )
    return own.model_copy(update=given)


WORKLOAD = Streams(TITLE, Parameters, stream)
