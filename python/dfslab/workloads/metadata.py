"""A workload that repeats one metadata operation on empty files."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dfslab.spec.streams.vocabulary import Share, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed
from dfslab.spec.units import Bytes, quantity

TITLE = "Metadata operations on empty files"
# Operations that leave a file unchanged, so that several operations can use the same file.
LOOKUPS = ("stat", "list", "open")


class Parameters(FileParameters):
    """Parameters of the workload `metadata`. Files are empty by default, since only the number of
    operations matters.
    """

    operation: Literal["create", "stat", "list", "open", "rename", "delete"] = Field(
        "create", description="The operation; open asks where a file's blocks are"
    )
    file_size: Annotated[Bytes, Field(ge=0)] = quantity("0 B", description="Bytes of a file")
    operations_per_client: Annotated[int, Field(ge=1, le=10_000_000)] = Field(
        500, description="Operations of each client"
    )
    files_per_client: Annotated[int, Field(ge=0, le=10_000_000)] = Field(
        0, description="Files of each client that stat, list and open use in turn; 0: one each time"
    )


def stream(parameters: Parameters) -> Stream:
    """Returns the stream that repeats the operation.

    Stat, list and open may use a file several times. For these operations, each client has
    `files_per_client` files if that number is given. In all other cases, each client has one file
    for each of its operations.
    """
    files = parameters.operations_per_client
    if parameters.operation in LOOKUPS and parameters.files_per_client:
        files = parameters.files_per_client
    return Stream(
        mix=[Share(operation=parameters.operation, weight=1.0)],
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.operations_per_client,
        files_per_client=files,
        file_choice="sequential",
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
