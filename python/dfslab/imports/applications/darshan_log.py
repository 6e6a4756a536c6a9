"""Reads the I/O counters in a binary Darshan log. The Python package of Darshan decodes the log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dfslab.imports.applications.darshan_counters import FileRecord, LogContent, counters_of
from dfslab.imports.applications.io_counters import IoCounters
from dfslab.imports.formats import darshan as darshan_format

if TYPE_CHECKING:
    from darshan import DarshanReport

recognises = darshan_format.recognises


def read(path: Path) -> IoCounters:
    """Returns the counters in a binary Darshan log.

    Raises ValueError if the file is no complete log or has no POSIX record.
    """
    from darshan import DarshanReport  # imported here, because the import takes a second

    try:
        report = DarshanReport(str(path), read_all=False)
        content = _content(report)
    except (RuntimeError, KeyError) as error:
        raise ValueError(f"is no complete Darshan log: {error}") from error
    return counters_of(content)


def _content(report: DarshanReport) -> LogContent:
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
