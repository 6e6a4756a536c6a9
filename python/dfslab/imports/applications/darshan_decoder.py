"""The program that decodes a binary Darshan log with Darshan's Python package. It prints the
records of the log as one JSON document.

The program runs as a separate process, because Darshan's library ends its process when a log is
damaged.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from dfslab.imports.applications.darshan_counters import FileRecord, LogContent

if TYPE_CHECKING:
    from darshan import DarshanReport


def content_of(report: DarshanReport) -> LogContent:
    """Converts Darshan's report of a log. Returns the records of the modules POSIX and MPI-IO, the
    layouts of files on Lustre, and the number of bytes that the module STDIO recorded.
    """
    job = report.metadata["job"]
    content = LogContent(
        program=str(report.metadata["exe"]),
        processes=int(job["nprocs"]),
        run_time_s=float(job["run_time"]),
        posix=_records(report, "POSIX"),
        mpi=_records(report, "MPI-IO"),
    )
    content.other_bytes = round(sum(one.size_bytes for one in _records(report, "STDIO")))
    if "LUSTRE" in report.modules:
        report.mod_read_all_lustre_records(dtype="numpy")
        for record in report.records["LUSTRE"].to_numpy():
            size, count = (int(one) for one in record["components"][0]["counters"][:2])
            content.stripes[_name(report, record["id"])] = (max(0, count), max(0, size))
    return content


def _records(report: DarshanReport, module: str) -> list[FileRecord]:
    """Returns the records of a module; none if the log does not have the module."""
    if module not in report.modules:
        return []
    report.mod_read_all_records(module, dtype="numpy")
    names = report.counters[module]
    found = []
    for record in report.records[module].to_numpy():
        values: dict[str, float] = {}
        whole = zip(names["counters"], record["counters"].tolist(), strict=True)
        real = zip(names["fcounters"], record["fcounters"].tolist(), strict=True)
        for name, value in (*whole, *real):
            values[name.partition("_")[2]] = float(value)
        found.append(FileRecord(int(record["rank"]), _name(report, record["id"]), values))
    return found


def _name(report: DarshanReport, record_id: int) -> str:
    return str(report.name_records.get(record_id, record_id))


def main(path: str) -> None:
    """Prints the content of the log at `path` as JSON."""
    from darshan import DarshanReport  # imported here, because the import takes a second

    report = DarshanReport(path, read_all=False)
    json.dump(asdict(content_of(report)), sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
