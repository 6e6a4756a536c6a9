"""Recomputes two statements of Kumar 2018: more copies slow reads down, and more clients lower the
speed. The recording varies only the number of copies, the number of clients and the operation."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.result import Result
from dfslab.studies.runs.means import geometric_mean

from verification import recordings
from verification.figures import Figure

SCENARIO = "kumar-copies"
COPIES, CLIENTS, OPERATION = "file_system.copies", "workload.clients", "workload.name"
READS = ("sequential_read", "random_read")
WRITES = ("sequential_write", "random_write")


def subjects() -> list[str]:
    """Returns the names of all recordings of the scenario of copies and clients."""
    return list(recordings.of_scenario(SCENARIO))


def figures(subject: str) -> list[Figure]:
    """Returns all figures that are computed from one recording."""
    return of_runs(subject, recordings.runs(SCENARIO, subject))


def of_runs(subject: str, results: Sequence[Result]) -> list[Figure]:
    """Returns two kinds of ratios. For each operation that reads, the ratio is the rate with four
    copies divided by the rate with one copy. For each operation, the ratio is the total rate of
    four clients divided by the rate of one client. `subject` names the recording."""
    made = []
    for operation in (*READS, *WRITES):
        own = [one for one in results if one.labels[OPERATION] == operation]
        for bar, factor in (("copies-read", COPIES), ("clients-together", CLIENTS)):
            if factor == COPIES and operation not in READS:
                continue
            value = ratio(own, factor)
            made.append(Figure("kumar-copies", subject, f"kumar.{bar}", operation, value, len(own)))
    return made


def ratio(results: Sequence[Result], factor: str) -> float:
    """Returns the rate at the largest value of a factor divided by the rate at its smallest value.
    Each of the two rates is the geometric mean over the repetitions and over the values of the
    other factors."""
    values = sorted({int(str(one.labels[factor])) for one in results})
    high, low = (
        geometric_mean([one.value() for one in results if one.labels[factor] == value]).value
        for value in (values[-1], values[0])
    )
    return high / low
