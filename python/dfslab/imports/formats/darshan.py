"""Imports Darshan's logs with extended traces (DXT). The Python package of Darshan reads the
logs."""

from __future__ import annotations

import json
from pathlib import Path

from dfslab.imports import contract, darshan_process, dxt_decoder
from dfslab.imports.contract import CallImporter, FileCall, Recording
from dfslab.imports.darshan_calls import ModuleCall, calls_of_lowest, is_binary_log
from dfslab.imports.dxt_decoder import DxtCall

TITLE = "Darshan's log with extended traces (DXT)"


def read(path: Path, recording: Recording) -> list[FileCall]:
    """Returns the calls in a log. A log has full paths, so `recording` is not used.

    Raises ValueError if the file is no whole log, if it was recorded without DXT, or if a call ends
    before it starts.
    """
    with path.open("rb") as file:
        if not is_binary_log(file.read(contract.HEAD_BYTES)):
            raise ValueError("is no Darshan log")
    lines = darshan_process.output(dxt_decoder.__name__, path).splitlines()
    if dxt_decoder.NO_RECORDS in lines:
        raise ValueError(dxt_decoder.NO_RECORDS)
    return calls_of_lowest(_call(DxtCall(*json.loads(line))) for line in lines)


def _call(one: DxtCall) -> ModuleCall:
    if one.end_s < one.start_s:
        where = f"rank {one.rank}, {one.path}: a {one.kind} at offset {one.offset_bytes}"
        raise ValueError(f"{where} ends at {one.end_s} s, before its start at {one.start_s} s")
    return one.module, FileCall(
        one.start_s,
        one.rank,
        "pread" if one.kind == "read" else "pwrite",
        one.path,
        offset_bytes=one.offset_bytes,
        size_bytes=one.size_bytes,
        call=one.kind,
        duration_s=one.end_s - one.start_s,
    )


IMPORTER = CallImporter(TITLE, is_binary_log, read)
