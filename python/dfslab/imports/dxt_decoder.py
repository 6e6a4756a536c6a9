"""The program that decodes the extended traces (DXT) of a binary Darshan log with Darshan's Python
package. The program prints each call as one line of JSON, a list with the fields of `DxtCall`.

The program runs as a separate process, because Darshan's library ends its process when a log is
damaged.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from dfslab.imports.darshan_calls import MPIIO, POSIX

if TYPE_CHECKING:
    from darshan import DarshanReport

NO_RECORDS = "has no DXT records; DXT_ENABLE_IO_TRACE=1 records them"
# The kinds of calls, each with the key under which a DXT record lists its calls.
SEGMENTS: tuple[tuple[str, Literal["read_segments", "write_segments"]], ...] = (
    ("read", "read_segments"),
    ("write", "write_segments"),
)


class DxtCall(NamedTuple):
    """A read or write that a Darshan module recorded. `kind`: "read" or "write"."""

    module: str
    rank: int
    kind: str
    path: str
    offset_bytes: int
    size_bytes: int
    start_s: float
    end_s: float


def calls(report: DarshanReport) -> Iterator[DxtCall]:
    """Yields the calls in a log. Darshan's DXT records POSIX and MPI-IO calls."""
    for module in (POSIX, MPIIO):
        name = f"DXT_{module}"
        if name in report.modules:
            report.mod_read_all_dxt_records(name)
            yield from _of_module(report, module)


def _of_module(report: DarshanReport, module: str) -> Iterator[DxtCall]:
    for record in report.records[f"DXT_{module}"].to_df():
        path, rank = report.name_records[record["id"]], int(record["rank"])
        for kind, key in SEGMENTS:
            rows = record[key]
            if not len(rows):
                continue
            names = ("offset", "length", "start_time", "end_time")
            for offset, size, start_s, end_s in zip(
                *(rows[name].tolist() for name in names), strict=True
            ):
                yield DxtCall(module, rank, kind, path, int(offset), int(size), start_s, end_s)


def main(path: str) -> None:
    """Prints the calls in the log at `path`. Prints NO_RECORDS if the log was recorded without
    DXT."""
    from darshan import DarshanReport  # imported here, because the import takes a second

    report = DarshanReport(path, read_all=False)
    if not any(f"DXT_{one}" in report.modules for one in (POSIX, MPIIO)):
        print(NO_RECORDS)
    for one in calls(report):
        print(json.dumps(one))


if __name__ == "__main__":
    main(sys.argv[1])
