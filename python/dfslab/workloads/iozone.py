"""Iozone's tests, one phase each, on one file of each client.

The tests and their order are those of iozone's automatic mode: -i 0 write and rewrite, 1 read and
reread, 2 random read and write, 3 backward read, 4 record rewrite, 5 strided read. In these tests,
a phase is one operation, whose transfers are iozone's records.

Three further tests run on request: -i 8 mixes reads and writes at random, 9 is pwrite, and 10 is
pread. In these three tests, each record is one operation on a file that stays open. Iozone's tests
6 and 7 are missing, because they use stdio.

Keys of the workload that correspond to iozone's options: `cache` = "direct" to -I, `sync_io` to -o,
`fsync` to -e, and `mmap` to -B.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from dfslab.spec.streams.vocabulary import Access, OperationName, Order, Stream, Strided
from dfslab.spec.streams.workload import FileParameters, PhaseSettings, Size, Streams, fixed, phase
from dfslab.spec.units import quantity

TITLE = "Iozone: write, rewrite, read, reread, random, backward, record rewrite, strided"
IozoneTest = Literal[
    "write",
    "rewrite",
    "read",
    "reread",
    "random_read",
    "random_write",
    "backward_read",
    "record_rewrite",
    "stride_read",
    "mixed",
    "pwrite",
    "pread",
]
SINGLE: dict[IozoneTest, tuple[OperationName, ...]] = {
    "mixed": ("pread", "pwrite"),
    "pwrite": ("pwrite",),
    "pread": ("pread",),
}
ALL: list[IozoneTest] = [
    "write",
    "rewrite",
    "read",
    "reread",
    "random_read",
    "random_write",
    "backward_read",
    "record_rewrite",
    "stride_read",
]


class Parameters(FileParameters):
    """Parameters of iozone. `file_size` is iozone's option -s and `transfer_size` its record size
    -r, both in bytes.
    """

    transfer_size: Size = quantity("64 KiB", description="Bytes of one record (-r)")
    tests: list[IozoneTest] = Field(
        ALL, min_length=1, description="Tests, in this order; write first"
    )
    stride: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        10, description="Records from one strided read to the next (-j)"
    )

    def operations(self) -> int:
        """Returns the number of operations of each client. A test is one operation, except
        `mixed`, `pwrite` and `pread` (iozone's tests 8, 9 and 10), in which each record is one
        operation."""
        return sum(self.records if test in SINGLE else 1 for test in self.tests)

    @property
    def records(self) -> int:
        """Returns the number of records in the file."""
        return math.ceil(self.file_size / self.transfer_size)


def stream(parameters: Parameters) -> Stream:
    """Returns a stream with one phase per test. Each phase accesses the whole file in the order
    that the test prescribes."""
    orders: dict[IozoneTest, tuple[OperationName, Order]] = {
        "write": ("write", "sequential"),
        "rewrite": ("overwrite", "sequential"),
        "read": ("read", "sequential"),
        "reread": ("read", "sequential"),
        "random_read": ("read", "random"),
        "random_write": ("overwrite", "random"),
        "backward_read": ("read", "backward"),
        "record_rewrite": ("overwrite", "same"),
        "stride_read": ("read", Strided(strided=parameters.stride)),
    }
    phases = []
    for test in parameters.tests:
        if test in SINGLE:
            order: Order = "random" if test == "mixed" else "sequential"
            phases.append(
                phase(
                    test,
                    parameters.records,
                    *SINGLE[test],
                    file_choice="newest",
                    access=Access(order=order),
                )
            )
            continue
        operation, way = orders[test]
        # A test uses the file that was written last. If the first test is not "write", one file per
        # client is created before the timed part.
        how: PhaseSettings = {"file_choice": "newest"}
        if operation != "write":
            how["access"] = Access(order=way)
        phases.append(phase(test, 1, operation, **how))
    return Stream(
        phases=phases,
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        files_per_client=0 if parameters.tests[0] == "write" else 1,
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
