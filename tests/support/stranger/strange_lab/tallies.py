"""A reader of result files of an imaginary tool. The first line of such a file is a header. Each
further line "OPERATION RATE" is one measured rate in operations per second."""

from __future__ import annotations

from dfslab.imports.tool_report import ResultReader, ToolMeasurement, ToolReport

TITLE = "Tallies, one rate in a line"
HEAD = b"#tallies\n"


def recognises(head: bytes) -> bool:
    """Returns whether the first bytes of a file are the format's name."""
    return head.startswith(HEAD)


def read(text: str) -> ToolReport:
    """Returns a report with one measurement for each line after the header.

    Raises ValueError if a line has another form.
    """
    found = []
    for line in text.splitlines()[1:]:
        operation, rate_per_s = line.split()
        found.append(ToolMeasurement("tally", operation, rate_per_s=float(rate_per_s)))
    return ToolReport("tally", tuple(found))


READER = ResultReader(TITLE, recognises, read)
