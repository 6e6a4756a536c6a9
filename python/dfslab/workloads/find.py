"""IO500's find: lists every directory of a tree and reads the attributes of every file.

IO500 runs `find -newer STAMP -size 3901c -name *01*`. The rate of IO500's find is (number of files)
/ (time of listing all directories + time of reading all attributes).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import Layout, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed, phase
from dfslab.spec.units import Bytes, quantity

TITLE = "find: directories listed, files looked at"


class Parameters(FileParameters):
    """Parameters of IO500's find. Each client has a separate part of the tree, and all clients
    search concurrently.
    """

    file_size: Annotated[Bytes, Field(ge=0)] = quantity("3901 B", description="Bytes of a file")
    items: Annotated[int, Field(ge=1, le=10_000_000)] = Field(
        1000, description="Files of each client"
    )
    depth: Annotated[int, Field(ge=0, le=32)] = Field(1, description="Levels of the tree")
    branches: Annotated[int, Field(ge=1, le=1000)] = Field(
        8, description="Directories in each directory"
    )

    @property
    def directories(self) -> int:
        """Returns the number of directories of each client, its top directory included."""
        return sum(self.branches**level for level in range(self.depth + 1))

    def operations(self) -> int:
        """Returns the number of operations of each client over both phases."""
        return self.directories + self.items


def stream(parameters: Parameters) -> Stream:
    """Returns a stream of two phases: directories are listed, then attributes are read. The tree is
    created before the timed part.
    """
    return Stream(
        phases=[
            phase("list", parameters.directories, "list"),
            phase("stat", parameters.items, "stat"),
        ],
        layout=Layout(depth=parameters.depth, branches=parameters.branches),
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        files_per_client=parameters.items,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
