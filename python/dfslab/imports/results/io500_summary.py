"""Reads the text of an IO500 run. The text is the file `result_summary.txt`, or the output of the
program `io500` or of the script that preceded this program.

Pitfall: the script prints "GB/s", but the number is IOR's MiB/s divided by 1024. The program and
the script therefore both report GiB/s.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from dfslab.documents.evidence import Coverage, Evidence, Work
from dfslab.imports.redundant import comparing
from dfslab.imports.redundant.comparing import Printed, printed
from dfslab.imports.tool_report import (
    GIBI,
    ResultReader,
    ToolMeasurement,
    ToolReport,
    in_line,
    line_at,
    number,
)

TITLE = "IO500: its summary as text"
ROW = re.compile(
    r"^\[(RESULT|RESULT-invalid|INVALID)\s*\]\s+(?:(?:BW|IOPS)\s+phase\s+\d+\s+)?"
    r"([a-z][\w-]*)\s+([\d.]+)\s+(GiB/s|GB/s|kIOPS|kiops)\s*:\s*time\s+([\d.]+)\s+seconds(.*)$",
    re.M,
)
SCORE = re.compile(
    r"^\[SCORE ?\] Bandwidth ([\d.]+) G\w+/s : IOPS ([\d.]+) kiops : TOTAL ([\d.]+)", re.M
)
# The phases of the two scores.
BANDWIDTHS = tuple(f"ior-{kind}-{one}" for kind in ("easy", "hard") for one in ("write", "read"))
RATES = (
    *(f"mdtest-easy-{one}" for one in ("write", "stat", "delete")),
    *(f"mdtest-hard-{one}" for one in ("write", "stat", "read", "delete")),
    "find",
)
MARK = re.compile(rb"^\[(?:RESULT|RESULT-invalid|INVALID)\s*\]\s.*:\s*time\s", re.M)
VERSION = re.compile(r"^IO500 version (\S+)", re.M)
# Rules of the IO500 list: a run has twelve phases, and phases that create data last at least 300 s.
PHASES, LEAST_S = 12, 300.0
LAST_WORDS = {"write": "write", "read": "read", "stat": "stat", "delete": "delete"}

EXPECTED = "[RESULT] PHASE RATE UNIT : time SECONDS seconds"


def recognises(head: bytes) -> bool:
    """Returns whether the beginning of a file has a line of an IO500 phase."""
    return MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """Returns a report with one measurement for every phase, without the scores. Raises ValueError
    if a line is malformed."""
    version = VERSION.search(text)
    found = tuple(_phases(text))
    finished = len({one.part for one in found if one.complete})
    covered = Coverage(phases_planned=PHASES, phases_finished=min(finished, PHASES))
    whole = Evidence(subject="the score", coverage=covered)
    return ToolReport("IO500", found, version[1] if version else "", evidence=(whole,))


def _phases(text: str) -> Iterator[ToolMeasurement]:
    for row in ROW.finditer(text):
        with in_line(line_at(text, row.start(2)), EXPECTED):
            yield _phase(row)


def _phase(row: re.Match[str]) -> ToolMeasurement:
    name, value = row[2].replace("_", "-"), number(row[3], row[2])
    last = name.rpartition("-")[2]
    operation = "find" if name.startswith("find") else LAST_WORDS.get(last, last)
    # In IO500, mdtest's "write" phases create files.
    if name.startswith("mdtest") and operation == "write":
        operation = "create"
    if not re.fullmatch(r"[a-z_]+", operation):
        raise ValueError(f"phase {row[2]!r} is none of IO500")
    valid = row[1] == "RESULT" and "INVALID" not in row[6].upper()
    return ToolMeasurement(
        name,
        operation,
        rate_per_s=value * 1000 if row[4].lower() == "kiops" else None,
        throughput_bytes_per_s=value * GIBI if row[4].startswith("G") else None,
        complete=valid,
        notes=() if valid else ("IO500 calls this phase invalid",),
        evidence=_evidence(name, number(row[5], "time")),
    )


def _evidence(name: str, duration_s: float) -> Evidence:
    creates = name.endswith("-write")
    work = Work.model_construct(duration=duration_s, warm_up=LEAST_S if creates else None)
    return Evidence(work=work)


def contradictions(text: str) -> Iterator[str]:
    """Yields each contradiction in the scores: a total that is not the geometric mean of the two
    scores, and a score that is not the geometric mean of its phases. A score is judged only if all
    of its phases are in the text."""
    score = SCORE.search(text)
    if score is None:
        return
    place = f"line {line_at(text, score.start(1))}"
    bandwidth, rate = printed("Bandwidth", score[1]), printed("IOPS", score[2])
    phases = {row[2].replace("_", "-"): printed(row[2], row[3]) for row in ROW.finditer(text)}
    stated = (
        (bandwidth, [phases[one] for one in BANDWIDTHS if one in phases], len(BANDWIDTHS)),
        (rate, [phases[one] for one in RATES if one in phases], len(RATES)),
        (printed("TOTAL", score[3]), [bandwidth, rate], 2),
    )
    for one, parts, count in stated:
        if one.value and len(parts) == count and all(part.low for part in parts):
            keys = "its phases" if one.key != "TOTAL" else "Bandwidth and IOPS"
            for wrong in comparing.unequal(one, _mean(parts), f"the geometric mean of {keys}"):
                yield f"{place}: {wrong}"


def _mean(parts: list[Printed]) -> Printed:
    """Returns the geometric mean of figures."""
    low, high = (
        math.prod(each) ** (1 / len(parts)) for each in zip(*map(_bounds, parts), strict=True)
    )
    return Printed("", (low + high) / 2, (high - low) / 2)


def _bounds(one: Printed) -> tuple[float, float]:
    return one.low, one.high


READER = ResultReader(TITLE, recognises, read, contradictions)
