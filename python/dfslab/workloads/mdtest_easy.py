"""Mdtest as IO500's "easy": operations on empty files in one directory per client, phase by phase.

The command is `mdtest -n N -u -L -F -P -N 1`. The phases are create, stat (of the next client's
files, to avoid cache hits) and remove.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import Files, Neighbour, OperationName, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed, phase
from dfslab.spec.units import Bytes, quantity

TITLE = "mdtest easy: empty files, a directory for each client"


class Parameters(FileParameters):
    """Parameters of mdtest "easy". The field descriptions give mdtest's options in brackets."""

    file_size: Annotated[Bytes, Field(ge=0)] = quantity("0 B", description="Bytes of a file (-w)")
    items: Annotated[int, Field(ge=1, le=10_000_000)] = Field(
        1000, description="Files of each client (-n)"
    )
    neighbour: Annotated[int, Field(ge=0, le=65_535)] = Field(
        1, description="Which client's files are looked at: clients further on (-N)"
    )

    read: bool = Field(False, description="Read them, too (-E)")

    def operations(self) -> int:
        """Returns the number of operations of each client over all phases."""
        return (3 + self.read) * self.items


def stream(parameters: Parameters) -> Stream:
    """Returns a stream of the phases create, stat, read (if `read` is set) and remove. If files
    have content, the first phase writes them instead of creating them empty. With `neighbour`,
    clients stat and read the files of another client."""
    make: OperationName = "write" if parameters.file_size else "create"
    theirs: Files = Neighbour(neighbour=parameters.neighbour) if parameters.neighbour else "own"
    return Stream(
        phases=[
            phase("create", parameters.items, make),
            phase("stat", parameters.items, "stat", files=theirs),
            *([phase("read", parameters.items, "read", files=theirs)] if parameters.read else []),
            phase("remove", parameters.items, "delete"),
        ],
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        files_per_client=0,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
