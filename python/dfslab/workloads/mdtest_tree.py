"""Mdtest on a directory tree: clients create and remove directories, and files that are spread over
all levels.

The command is `mdtest -z DEPTH -b BRANCHES -n N`. Each client has a separate tree, in which it
creates and removes directories. Its files are distributed over all directories of this tree.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import Layout, OperationName, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed, phase
from dfslab.spec.units import Bytes, quantity

TITLE = "mdtest tree: files over a tree of directories"


class Parameters(FileParameters):
    """Parameters of mdtest on a tree. The field descriptions give mdtest's options in brackets."""

    file_size: Annotated[Bytes, Field(ge=0)] = quantity("0 B", description="Bytes of a file (-w)")
    items: Annotated[int, Field(ge=1, le=10_000_000)] = Field(
        1000, description="Files, and directories, of each client (-n)"
    )
    depth: Annotated[int, Field(ge=0, le=32)] = Field(2, description="Levels of the tree (-z)")
    branches: Annotated[int, Field(ge=1, le=1000)] = Field(
        4, description="Directories in each directory (-b)"
    )

    read: bool = Field(False, description="Read the files, too (-E)")

    def operations(self) -> int:
        """Returns the number of operations of each client over all phases."""
        return (5 + self.read) * self.items


def stream(parameters: Parameters) -> Stream:
    """Returns a stream of the phases on directories, then those on files, in mdtest's order. If
    files have content, a phase writes them instead of creating them empty. Files are read if `read`
    is set."""
    make: OperationName = "write" if parameters.file_size else "create"
    return Stream(
        phases=[
            phase("directory create", parameters.items, "mkdir"),
            phase("directory remove", parameters.items, "rmdir"),
            phase("file create", parameters.items, make),
            phase("file stat", parameters.items, "stat"),
            *([phase("file read", parameters.items, "read")] if parameters.read else []),
            phase("file remove", parameters.items, "delete"),
        ],
        layout=Layout(depth=parameters.depth, branches=parameters.branches),
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        files_per_client=0,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
