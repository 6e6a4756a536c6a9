"""Names what the rate of an operation counts, such as "files written" for writes of whole files."""

from __future__ import annotations

ANY = "operations"
# The unit in which the rate of each operation is counted. Operations that are not listed are
# counted as "operations".
NAMES = {
    "pread": "reads",
    "pwrite": "writes",
    "read": "files read",
    "write": "files written",
    "overwrite": "files overwritten",
    "append": "appends",
    "create": "files created",
    "delete": "files deleted",
    "stat": "stats",
    "list": "listings",
    "rename": "renames",
    "mkdir": "directories made",
    "command": "program runs",
}


def counted(operation: str) -> str:
    """Returns what the rate of an operation counts."""
    return NAMES.get(operation, ANY)
