"""Mdtest as IO500's "hard": operations on files of 3901 bytes, all in one directory, phase by
phase.

The command is `mdtest -n N -t -w 3901 -e 3901 -P -N 1 -F`. The phases are create and write, stat,
read (the next client's files) and remove.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import Files, Layout, Neighbour, OperationName, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed, phase
from dfslab.spec.units import Bytes, quantity

TITLE = "mdtest hard: small files in one directory shared by all"


class Parameters(FileParameters):
    """Parameters of mdtest "hard". The field descriptions give mdtest's options in brackets."""

    file_size: Annotated[Bytes, Field(ge=0)] = quantity(
        "3901 B", description="Bytes of a file (-w, -e)"
    )
    items: Annotated[int, Field(ge=1, le=10_000_000)] = Field(
        1000, description="Files of each client (-n)"
    )
    neighbour: Annotated[int, Field(ge=0, le=65_535)] = Field(
        1, description="Which client's files are looked at: clients further on (-N)"
    )

    read: bool = Field(True, description="Read them, too (-E)")

    def operations(self) -> int:
        """Returns the number of operations of each client over all phases."""
        return (3 + self.read) * self.items


def stream(parameters: Parameters) -> Stream:
    """Returns a stream of the phases create, stat, read (if `read` is set) and remove, in one
    directory. If files have content, the first phase writes them instead of creating them empty.
    With `neighbour`, clients stat and read the files of another client."""
    make: OperationName = "write" if parameters.file_size else "create"
    theirs: Files = Neighbour(neighbour=parameters.neighbour) if parameters.neighbour else "own"
    return Stream(
        phases=[
            phase("create", parameters.items, make),
            phase("stat", parameters.items, "stat", files=theirs),
            *([phase("read", parameters.items, "read", files=theirs)] if parameters.read else []),
            phase("remove", parameters.items, "delete"),
        ],
        layout=Layout(shared_directory=True),
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        files_per_client=0,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
