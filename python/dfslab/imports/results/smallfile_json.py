"""Reads the file that smallfile writes with `--output-json`. The report has the totals of all
threads for one type of operation.

The rates are taken as smallfile reports them: files per second, I/O requests per second and MiB/s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dfslab.imports.job_settings import JobSettings
from dfslab.imports.redundant import comparing
from dfslab.imports.tool_report import (
    KIBI,
    MEBI,
    Json,
    ResultReader,
    ToolMeasurement,
    ToolReport,
    is_table,
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
        settings=_settings(params),
        notes=() if complete else (f"{done:g} % of the files were processed",),
    )
    version, started = str(params.get("version", "")), str(results.get("date", ""))
    return ToolReport("smallfile", (one,), version, started=started)


def _settings(params: Json) -> JobSettings:
    """Returns the sizes of requests and files, which smallfile reports in KiB."""
    record, size = optional(params, "record-size"), optional(params, "file-size")
    return JobSettings(record * KIBI if record else None, size * KIBI if size else None)


def contradictions(text: str) -> Iterator[str]:
    """Yields each contradiction between the files, records and rates of all threads and of single
    threads. smallfile adds up the rates of the threads; the rate of a thread is taken over the time
    of this thread."""
    results = table(loaded(text).get("results"), "results")
    yield from _of_rates("results", results)
    own = results.get("in-thread")
    threads = [one for one in own.values() if is_table(one)] if is_table(own) else []
    for name, one in own.items() if is_table(own) else ():
        if is_table(one):
            yield from _of_rates(f"results.in-thread.{name}", one)
    if not threads or len(threads) != optional(results, "total-threads"):
        return
    for key in ("files", "records", "files-per-sec", "IOPS", "MiBps"):
        parts = [comparing.optional(one, key) for one in threads]
        known = [one for one in parts if one is not None]
        stated = comparing.optional(results, key)
        if stated is not None and len(known) == len(threads):
            how = "the sum over its threads"
            for wrong in comparing.unequal(stated, comparing.total(known), how):
                yield f"results: {wrong}"


def _of_rates(place: str, part: Json) -> Iterator[str]:
    """Yields the contradiction if a rate is below (files or records) / (time of the slowest
    thread)."""
    elapsed = comparing.optional(part, "elapsed")
    for count, rate in (("files", "files-per-sec"), ("records", "IOPS")):
        done, stated = comparing.optional(part, count), comparing.optional(part, rate)
        if elapsed and elapsed.value and done and stated:
            for wrong in comparing.below(stated, done / elapsed, f"{count} / elapsed"):
                yield f"{place}: {wrong}"


READER = ResultReader(TITLE, recognises, read, contradictions)
