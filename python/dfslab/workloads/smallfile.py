"""The smallfile benchmark's operations, phase by phase, on files with exponentially distributed
sizes.

The order is that of smallfile's full test: create, append, overwrite, read, stat, chmod, set and
get an attribute, list, rename, delete.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dfslab.spec.streams.vocabulary import GammaSize, OperationName, SizeDistribution, Stream
from dfslab.spec.streams.workload import FileParameters, Size, Streams, fixed, phase
from dfslab.spec.units import quantity

TITLE = "smallfile: create, append, read, stat, attributes, rename, delete on small files"
SmallfileOperation = Literal[
    "create",
    "append",
    "overwrite",
    "read",
    "stat",
    "chmod",
    "setxattr",
    "getxattr",
    "readdir",
    "rename",
    "delete",
]
BASIC: list[SmallfileOperation] = [
    "create",
    "append",
    "read",
    "stat",
    "readdir",
    "rename",
    "delete",
]
OPERATIONS: dict[SmallfileOperation, OperationName] = {
    "create": "write",
    "append": "append",
    "overwrite": "overwrite",
    "read": "read",
    "stat": "stat",
    "chmod": "chmod",
    "setxattr": "set_xattr",
    "getxattr": "get_xattr",
    "readdir": "list",
    "rename": "rename",
    "delete": "delete",
}


class Parameters(FileParameters):
    """Parameters of smallfile. The field descriptions give smallfile's options in brackets."""

    file_size: Size = quantity("64 KiB", description="Bytes of a file, in the mean (file-size)")
    files_per_client: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        200, description="Files of each client (files)"
    )
    exponential: bool = Field(True, description="Sizes vary (file-size-distribution)")
    tests: list[SmallfileOperation] = Field(
        BASIC, min_length=1, description="Tests, in order (operation)"
    )

    def operations(self) -> int:
        """Returns the number of operations of each client over all phases."""
        return self.files_per_client * len(self.tests)


def stream(parameters: Parameters) -> Stream:
    """Returns a stream of one phase per test; every test processes every file once."""
    size, count = int(parameters.file_size), parameters.files_per_client
    varying = SizeDistribution(gamma=GammaSize(mean=float(size), shape=1.0, max=20 * size))
    return Stream(
        phases=[phase(name, count, OPERATIONS[name]) for name in parameters.tests],
        file_size=varying if parameters.exponential else fixed(size),
        transfer_size_bytes=int(parameters.transfer_size),
        files_per_client=0 if parameters.tests[0] == "create" else count,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
