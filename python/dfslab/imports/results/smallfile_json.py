"""Reads the file that smallfile writes with `--output-json`. The report has the totals of all
threads for one type of operation.

The rates are taken as smallfile reports them: files per second, I/O requests per second and MiB/s.
"""

from __future__ import annotations

import re

from dfslab.imports.tool_report import (
    MEBI,
    ResultReader,
    ToolMeasurement,
    ToolReport,
    loaded,
    number,
    optional,
    table,
)

TITLE = "smallfile: its JSON"
MARK = re.compile(rb'"files-per-sec"\s*:')
RATES = ("files-per-sec", "filesPerSec")
BYTES = ("MiBps", "MiB-per-sec", "MiB/sec")
OPERATIONS = {
    "create": "create",
    "read": "read",
    "append": "append",
    "overwrite": "write",
    "stat": "stat",
    "chmod": "chmod",
    "delete": "delete",
    "delete-renamed": "delete",
    "rename": "rename",
    "mkdir": "mkdir",
    "rmdir": "rmdir",
    "ls-l": "list",
    "readdir": "list",
    "setxattr": "set_xattr",
    "getxattr": "get_xattr",
}


def recognises(head: bytes) -> bool:
    """Returns whether the beginning of a file is a JSON object with smallfile's rate."""
    return head.lstrip().startswith(b"{") and MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """Returns a report with the one measurement in a text. Raises ValueError if the text is
    malformed."""
    document = loaded(text)
    results = table(document.get("results"), "results")
    given = document.get("params")
    params = table(given, "params") if given is not None else {}
    name = str(params.get("operation", results.get("operation", "")))
    rate = next((found for key in RATES if (found := optional(results, key)) is not None), None)
    moved = next((found for key in BYTES if (found := optional(results, key)) is not None), None)
    done = optional(results, "pct-files-done")
    threads = optional(results, "total-threads") or optional(params, "threads")
    complete = done is None or number(done, "pct-files-done") >= 100
    one = ToolMeasurement(
        name or "all",
        OPERATIONS.get(name, "mixed"),
        rate,
        None if moved is None else moved * MEBI,
        clients=int(threads) if threads else None,
        complete=complete,
        notes=() if complete else (f"{done:g} % of the files were processed",),
    )
    version, started = str(params.get("version", "")), str(results.get("date", ""))
    return ToolReport("smallfile", (one,), version, started=started)


READER = ResultReader(TITLE, recognises, read)
