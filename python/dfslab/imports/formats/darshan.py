"""Imports Darshan's logs with extended traces (DXT). The Python package of Darshan reads the
logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dfslab.imports import contract
from dfslab.imports.contract import CallImporter, FileCall, Recording
from dfslab.imports.darshan_calls import MPIIO, POSIX, ModuleCall, calls_of_lowest, is_binary_log
from dfslab.spec.streams.vocabulary import OperationName

if TYPE_CHECKING:
    from darshan import DarshanReport

TITLE = "Darshan's log with extended traces (DXT)"
# Operations, each with the key under which a DXT record lists the calls of that operation.
SEGMENTS: tuple[tuple[OperationName, Literal["read_segments", "write_segments"]], ...] = (
    ("pread", "read_segments"),
    ("pwrite", "write_segments"),
)


def read(path: Path, recording: Recording) -> list[FileCall]:
    """Returns the calls in a log. A log has full paths, so `recording` is not used.

    Raises ValueError if the file is no log, or if it was recorded without DXT.
    """
    with path.open("rb") as file:
        if not is_binary_log(file.read(contract.HEAD_BYTES)):
            raise ValueError("is no Darshan log")
    from darshan import DarshanReport  # imported here, because the import takes a second

    try:
        report = DarshanReport(str(path), read_all=False)
    except RuntimeError as error:
        raise ValueError(f"is no Darshan log: {error}") from error
    modules = [one for one in (POSIX, MPIIO) if f"DXT_{one}" in report.modules]
    if not modules:
        raise ValueError("has no DXT records; DXT_ENABLE_IO_TRACE=1 records them")
    for module in modules:
        report.mod_read_all_dxt_records(f"DXT_{module}")
    return calls_of_lowest(one for module in modules for one in _records(report, module))


def _records(report: DarshanReport, module: str) -> Iterator[ModuleCall]:
    for record in report.records[f"DXT_{module}"].to_df():
        path = report.name_records[record["id"]]
        for operation, key in SEGMENTS:
            rows = record[key]
            if not len(rows):
                continue
            names = ("start_time", "end_time", "offset", "length")
            for start_s, end_s, offset, size in zip(
                *(rows[name].tolist() for name in names), strict=True
            ):
                yield (
                    module,
                    FileCall(
                        start_s,
                        int(record["rank"]),
                        operation,
                        path,
                        offset_bytes=int(offset),
                        size_bytes=int(size),
                        call=operation.removeprefix("p"),
                        duration_s=end_s - start_s,
                    ),
                )


IMPORTER = CallImporter(TITLE, is_binary_log, read)
