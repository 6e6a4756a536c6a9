"""Reads the text of mdtest 1.9 to 4.0. The report has the mean rate of each phase, taken from
mdtest's table of rates. The table of times, which mdtest 4 also prints, is skipped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from dfslab.imports.mpi_evidence import of_mdtest
from dfslab.imports.redundant import comparing
from dfslab.imports.redundant.comparing import Printed, printed
from dfslab.imports.tool_report import ResultReader, ToolMeasurement, ToolReport, in_line, number

TITLE = "mdtest: its text"
MARK = re.compile(rb"^-*\s*mdtest-\d\S* was launched with \d+ total task", re.M)
LAUNCHED = re.compile(
    r"mdtest-(\S+) was launched with (\d+) total task(?:\(s\))?(?: on (\d+) node)?", re.M
)
COMMAND = re.compile(r"^Command line used: (.+?)\s*$", re.M)
SUMMARY = re.compile(r"^SUMMARY(?: (\w+).*?)?:\s*\(of (\d+) iterations?\)", re.M)
# The title of the table of rates. Before release 3, mdtest prints this table without a title.
RATES = "rate"
FIGURE = r"\s+([\d.]+|nan|-nan|inf)"
ROW = re.compile(
    rf"^\s*((?:Directory|File|Tree) (?:creation|stat|read|rename|removal))\s*:?{FIGURE * 4}\s*$"
)
OPERATIONS = {
    "Directory creation": "mkdir",
    "Directory stat": "stat",
    "Directory rename": "rename",
    "Directory removal": "rmdir",
    "File creation": "create",
    "File stat": "stat",
    "File read": "read",
    "File rename": "rename",
    "File removal": "delete",
    "Tree creation": "mkdir",
    "Tree removal": "rmdir",
}


def recognises(head: bytes) -> bool:
    """Returns whether the beginning of a file has mdtest's heading."""
    return MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """Returns a report with the measurements in a text. Raises ValueError if a rate is not a
    number."""
    launched, command = LAUNCHED.search(text), COMMAND.search(text)
    table, iterations = "", 0
    found: list[ToolMeasurement] = []
    for place, line in enumerate(text.splitlines(), start=1):
        if heading := SUMMARY.match(line):
            table, iterations = heading[1] or RATES, int(heading[2])
        elif table == RATES and (row := ROW.match(line)):
            # A rate of zero is skipped, because mdtest prints zeros for a phase that did not run.
            with in_line(place, "PHASE MAX MIN MEAN DEVIATION, numbers from 0 on"):
                rate = number(row[4], row[1])
            if rate:
                note = f"mean of {iterations} iterations, standard deviation {row[5]} per second"
                tasks = int(launched[2]) if launched else None
                nodes = int(launched[3]) if launched and launched[3] else None
                operation, given = OPERATIONS[row[1]], command[1] if command else ""
                found.append(
                    ToolMeasurement(
                        row[1].lower(),
                        operation,
                        rate,
                        clients=tasks,
                        notes=(note,) if iterations > 1 else (),
                        evidence=of_mdtest(operation, given, tasks, nodes),
                    )
                )
    version = launched[1] if launched else ""
    return ToolReport("mdtest", tuple(found), version, command=command[1] if command else "")


def contradictions(text: str) -> Iterator[str]:
    """Yields each contradiction in a row of the table of rates: the smallest, mean and largest rate
    do not ascend; the deviation exceeds the difference between largest and smallest rate, or is 0
    although the rates differ."""
    table = ""
    for place, line in enumerate(text.splitlines(), start=1):
        if heading := SUMMARY.match(line):
            table = heading[1] or RATES
        elif table == RATES and (row := ROW.match(line)):
            if any(not math.isfinite(float(one)) for one in row.groups()[1:]):
                continue
            names = ("Max", "Min", "Mean", "Std Dev")
            most, least, mean, deviation = (
                printed(f"{row[1]}, {name}", text)
                for name, text in zip(names, row.groups()[1:], strict=True)
            )
            wrongs = [*comparing.falling([least, mean, most])]
            if deviation.value:
                distance = Printed("", most.value - least.value, most.error + least.error)
                wrongs += comparing.above(deviation, distance, "Max - Min")
            else:
                wrongs += comparing.unequal(most, least, f"{deviation.key} = 0 and Min")
            for wrong in wrongs:
                yield f"line {place}: {wrong}"


READER = ResultReader(TITLE, recognises, read, contradictions)
