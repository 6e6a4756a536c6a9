"""Recomputes two statements of Wu 2013, section 4.1, each from recordings at the scale that the
statement needs. The first statement needs the paper's file sizes for Phase II. The second statement
needs DataNodes that differ only in their memory."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.documents.metrics import LATENCY, MEAN, key
from dfslab.result import Result
from dfslab.spec import units
from dfslab.studies.runs.means import geometric_mean

from verification import recordings
from verification.figures import Figure

PHASE_2, MEMORY = "wu-phase-2", "wu-memory"
OPERATIONS = {"sequential_read": "read", "sequential_write": "write"}
# The steps of each operation that move the bytes of blocks. If a name begins with "-", the time of
# the step is subtracted: the step is a call of the NameNode within another step. Wu 2013 calls the
# resulting times readBlock and writeRequest.
BLOCKS = {"read": ("read",), "write": ("write", "-write/addBlock", "close", "-close/complete")}
MEMORY_KEY = "deployment.node.server.memory"


def subjects() -> list[str]:
    """Returns the names of all recordings of Phase II and of DataNodes' memory."""
    return [one for name in (PHASE_2, MEMORY) for one in recordings.of_scenario(name)]


def figures(subject: str) -> list[Figure]:
    """Returns all figures that are computed from one recording."""
    name = recordings.scenario_of(subject)
    results = recordings.runs(name, subject)
    return _of_phase_2(subject, results) if name == PHASE_2 else _of_memory(subject, results)


def totals_s(results: Sequence[Result], operation: str) -> dict[float, float]:
    """Returns a dictionary from file size in bytes to total seconds. The total is the time of
    moving the blocks of all files of a test. Each total is the geometric mean over the
    repetitions."""
    found: dict[float, list[float]] = {}
    for result in results:
        if OPERATIONS[str(result.labels["workload.name"])] != operation:
            continue
        steps = {one.step: one for one in result.steps}
        total_s = 0.0
        for name in BLOCKS[operation]:
            step = steps[name.removeprefix("-")]
            total_s += (-1 if name.startswith("-") else 1) * step.time_s_mean * step.count
        size = units.parse(str(result.labels["workload.file_size"]), "B")
        found.setdefault(size, []).append(total_s)
    return {size: geometric_mean(times).value for size, times in sorted(found.items())}


def _of_phase_2(subject: str, results: Sequence[Result]) -> list[Figure]:
    """Returns, for reads and for writes, the largest total time of any file size divided by the
    smallest."""
    made = []
    for operation in BLOCKS:
        totals = list(totals_s(results, operation).values())
        level = max(totals) / min(totals)
        figure = Figure("wu-scale", subject, "wu.phase-2-level", operation, level, len(totals))
        made.append(figure)
    return made


def _of_memory(subject: str, results: Sequence[Result]) -> list[Figure]:
    """Returns one figure for each file size and each kind of operation: writes, cold reads and
    second reads. The figure is the mean time with the smallest memory divided by the mean time with
    the largest memory."""
    times: dict[tuple[str, str], dict[float, list[float]]] = {}
    for result in results:
        labels = result.labels
        operation = OPERATIONS[str(labels["workload.name"])]
        bar = "memory-write"
        if operation == "read":
            bar = "memory-read" if labels["workload.cache"] == "cold" else "memory-reread"
        memory = units.parse(str(labels[MEMORY_KEY]), "B")
        time_s = result.value(key(LATENCY, MEAN, operation))
        group = times.setdefault((bar, str(labels["workload.file_size"])), {})
        group.setdefault(memory, []).append(time_s)
    made = []
    for (bar, size), group in sorted(times.items()):
        small_s, large_s = (geometric_mean(group[one]).value for one in (min(group), max(group)))
        count = sum(map(len, group.values()))
        made.append(Figure("wu-scale", subject, f"wu.{bar}", size, small_s / large_s, count))
    return made
