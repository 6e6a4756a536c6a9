"""Reads the I/O counters in a binary Darshan log."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import TypeAdapter

from dfslab.imports import darshan_process
from dfslab.imports.applications.darshan_counters import LogContent, counters_of
from dfslab.imports.applications.io_counters import IoCounters

DECODER = "dfslab.imports.applications.darshan_decoder"


def read(path: Path) -> IoCounters:
    """Returns the counters in a binary Darshan log.

    Raises ValueError if the file is no complete log or has no POSIX record, and ModuleNotFoundError
    if Darshan's package is not installed.
    """
    return counters_of(content(path))


def content(path: Path) -> LogContent:
    """Returns the records in a binary Darshan log. Raises the exceptions of `read`."""
    text = darshan_process.output(DECODER, path)
    try:
        return TypeAdapter(LogContent).validate_python(json.loads(text))
    except ValueError as error:
        raise ValueError("is damaged: Darshan's library reads no records from it") from error
