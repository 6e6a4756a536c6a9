"""Reads the I/O counters in a binary Darshan log."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from pydantic import TypeAdapter

from dfslab.imports.applications.darshan_counters import LogContent, counters_of
from dfslab.imports.applications.io_counters import IoCounters

DECODER = "dfslab.imports.applications.darshan_decoder"
# The decoding of a log is aborted after this number of seconds. Decoding a log of 100 MB takes some
# 10 s.
DECODE_LIMIT_S = 300.0


def read(path: Path) -> IoCounters:
    """Returns the counters in a binary Darshan log.

    Raises ValueError if the file is no complete log or has no POSIX record, and ModuleNotFoundError
    if Darshan's package is not installed.
    """
    return counters_of(content(path))


def content(path: Path) -> LogContent:
    """Returns the records in a binary Darshan log. Raises the exceptions of `read`."""
    if find_spec("darshan") is None:
        raise ModuleNotFoundError("No module named 'darshan'", name="darshan")
    command = [sys.executable, "-P", "-W", "ignore", "-m", DECODER, str(path.absolute())]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=DECODE_LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise ValueError(f"was not decoded within {DECODE_LIMIT_S:g} s") from error
    if ended.returncode:
        last = " ".join(ended.stderr.split("\n")[-2:]).strip()
        reason = f" ({last})" if last else ""
        raise ValueError(f"is damaged, or no complete Darshan log{reason}")
    try:
        return TypeAdapter(LogContent).validate_python(json.loads(ended.stdout))
    except ValueError as error:
        raise ValueError("is damaged: Darshan's library reads no records from it") from error
