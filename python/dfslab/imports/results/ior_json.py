"""Reads the JSON of IOR 3 and 4 (`-O summaryFormat=JSON`). An IOR run repeats its accesses (reads
or writes). The report has one measurement for each access and repetition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dfslab.imports.fio_evidence import size_bytes
from dfslab.imports.job_settings import JobSettings
from dfslab.imports.redundant import comparing, ior_repetitions
from dfslab.imports.redundant.comparing import printed
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
    tables,
)

TITLE = "IOR: its JSON"
# The keys of the largest, smallest and mean bandwidth in a summary.
JSON_KEYS = ("bwMaxMIB", "bwMinMIB", "bwMeanMIB")
MARK = re.compile(rb'"(?:bwMiB|bwMaxMIB)"\s*:')


def recognises(head: bytes) -> bool:
    """Returns whether the beginning of a file is a JSON object with IOR's rates."""
    return head.lstrip().startswith(b"{") and MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """Returns a report with the measurements of every test. The `rate_per_s` of a measurement
    counts transfers. Raises ValueError if the text is malformed."""
    document = loaded(text)
    found: list[ToolMeasurement] = []
    tests = tables(document.get("tests"))
    for number_of, test in enumerate(tests):
        options = test.get("Options") or test.get("Parameters")
        tasks = optional(options, "tasks") if is_table(options) else None
        counts: dict[str, int] = {}
        for row in tables(test.get("Results")):
            access = str(row.get("access", ""))
            if access not in ("write", "read"):
                continue
            repetition = counts[access] = counts.get(access, -1) + 1
            bytes_per_s = number(row.get("bwMiB"), "bwMiB") * MEBI
            rate, transfer = optional(row, "iops"), optional(row, "xferKiB")
            if rate is None and transfer:
                rate = bytes_per_s / (transfer * KIBI)
            found.append(
                ToolMeasurement(
                    access if len(tests) == 1 else f"test {number_of}, {access}",
                    access,
                    rate,
                    bytes_per_s,
                    clients=None if tasks is None else int(tasks),
                    repetition=repetition,
                    counts_transfers=True,
                    settings=_settings(row, options if is_table(options) else {}),
                )
            )
    facts = [str(document.get(key, "")) for key in ("Version", "Machine", "Began", "Command line")]
    version, machine, started, command = facts
    host = machine.partition(" ")[2] or machine
    return ToolReport("IOR", tuple(found), version, host, started, command)


def _settings(row: Json, options: Json) -> JobSettings:
    """Returns the sizes of transfers and blocks in a row or, if the row has no sizes, in the
    options."""
    kibibytes = [optional(row, key) for key in ("xferKiB", "blockKiB")]
    given = [size_bytes(str(options.get(key, ""))) for key in ("xfersize", "blocksize")]
    sizes = [one * KIBI if one else own for one, own in zip(kibibytes, given, strict=True)]
    return JobSettings(transfer_bytes=sizes[0], file_bytes=sizes[1])


def contradictions(text: str) -> Iterator[str]:
    """Yields each contradiction: phases of an access that take longer than the whole access, IOPS x
    transfer below the bandwidth, and a summary that is not that of the repetitions."""
    document = loaded(text)
    tests = tables(document.get("tests"))
    for number_of, test in enumerate(tests):
        for place, row in enumerate(tables(test.get("Results"))):
            for wrong in _of_row(row):
                yield f"tests[{number_of}].Results[{place}]: {wrong}"
    summaries = tables(document.get("summary"))
    if len(tests) != 1:
        return
    rows = tables(tests[0].get("Results"))
    for one in summaries:
        access = one.get("operation")
        rates = [printed("bwMiB", row["bwMiB"]) for row in rows if row.get("access") == access]
        if len([row for row in summaries if row.get("operation") == access]) == 1 and rates:
            for wrong in ior_repetitions.contradictions(one, JSON_KEYS, rates):
                yield f"summary, {access}: {wrong}"


def _of_row(row: Json) -> Iterator[str]:
    whole = comparing.optional(row, "totalTime")
    for key in ("openTime", "wrRdTime", "closeTime"):
        yield from comparing.falling([comparing.optional(row, key), whole])
    rate, transfer = comparing.optional(row, "iops"), comparing.optional(row, "xferKiB")
    bandwidth = comparing.optional(row, "bwMiB")
    if rate and transfer and bandwidth:
        least = rate * transfer.scaled(KIBI / MEBI)
        yield from comparing.above(bandwidth, least, "iops x xferKiB")


READER = ResultReader(TITLE, recognises, read, contradictions)
