"""Recognises a log with I/O counters of an application and reads it: a binary Darshan log, or a
text of darshan-parser."""

from __future__ import annotations

from pathlib import Path

from dfslab.imports import plain_file
from dfslab.imports.applications import darshan_log, parser_text
from dfslab.imports.applications.io_counters import IoCounters
from dfslab.imports.darshan_calls import is_binary_log
from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError

KEY = "FILE"
HEAD_BYTES = 1 << 12
# Maximum size of a log in bytes. A text of darshan-parser has about 10 kB for each file.
MOST_BYTES = 1 << 30


def is_log(path: Path) -> bool:
    """Returns whether a file is a Darshan log or a text of darshan-parser. Returns False if the
    file cannot be read."""
    try:
        head = plain_file.beginning(path, HEAD_BYTES)
    except OSError:
        return False
    return is_binary_log(head) or parser_text.recognises(head)


def read(path: Path) -> IoCounters:
    """Returns the counters in a log that `is_log` recognises.

    Raises InputError if the log is damaged or has no POSIX calls, and ModuleNotFoundError if a
    package that is needed to read the log is not installed.
    """
    try:
        if is_binary_log(plain_file.beginning(path, HEAD_BYTES)):
            return darshan_log.read(path)
        text = plain_file.content(path, MOST_BYTES, KEY).decode(errors="replace")
        return parser_text.read(text)
    except OSError as error:
        raise inputs.unreadable(KEY, path, error) from error
    except InputError:
        raise
    except ValueError as error:
        raise InputError(KEY, str(path), str(error)) from error
