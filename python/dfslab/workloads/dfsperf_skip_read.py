"""DFS-Perf's SkipRead: reads parts of files and skips others, in sequential or random order.

DFS-Perf skips bytes before its first read; this workload reads the first part of a file first. In
random mode, the file is opened again for every part, and opening and closing are timed, as in
DFS-Perf.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dfslab.spec.streams.vocabulary import Access, Share, Skip, Stream
from dfslab.spec.streams.workload import FileParameters, Size, Streams, fixed
from dfslab.spec.units import quantity

TITLE = "DFS-Perf SkipRead: parts of files, forwards or at random"


class Parameters(FileParameters):
    """Parameters of DFS-Perf's SkipRead. The field descriptions give DFS-Perf's names in brackets.
    `transfer_size` is not used, because a part is one transfer.
    """

    files_per_client: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        10, description="Files that each client has and reads (files.per.thread)"
    )
    read_mode: Literal["sequence", "random"] = Field(
        "sequence", description="Files in turn, or each drawn at random (read.mode)"
    )
    read_bytes: Size = quantity("64 KiB", description="Bytes of one part (read.bytes)")
    skip_bytes: Size = quantity("64 KiB", description="Bytes left out (skip.bytes)")
    skip_mode: Literal["forward", "random"] = Field(
        "forward", description="Forwards, or anywhere with the file opened again (skip.mode)"
    )
    skip_times: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        8, description="Parts read of each file, at most (skip.times.per.file)"
    )

    def operations(self) -> int:
        """Returns the number of operations of each client, which is the number of its files."""
        return self.files_per_client


def stream(parameters: Parameters) -> Stream:
    """Returns a stream in which each read operation reads `skip_times` parts of one file. In the
    mode "forward", the parts are read in order with gaps of `skip_bytes`. Otherwise they are at
    random positions, and the file is opened again for every part."""
    forward = parameters.skip_mode == "forward"
    return Stream(
        mix=[Share(operation="read")],
        access=Access(
            order=Skip(skip=int(parameters.skip_bytes)) if forward else "random",
            transfers_per_operation=parameters.skip_times,
            reopen=not forward,
        ),
        file_choice="sequential" if parameters.read_mode == "sequence" else "uniform",
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.read_bytes),
        operations_per_client=parameters.files_per_client,
        files_per_client=parameters.files_per_client,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
