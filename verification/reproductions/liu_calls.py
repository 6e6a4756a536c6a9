"""Recomputes the experiments of Liu 2018, section 3.2, from tables of function calls. The
experiments vary three things: the Spark job (seven jobs), the file size, and the frequency of
requests.

A recording is a CSV table with a row for each function of HDFS and each configuration. A row has
the number of calls in all processes, the sum, mean and 0.99 quantile of their durations in seconds,
and the duration of the whole program. The table does not include calls that the testbed made before
and after the program. `python -m verification.reproductions.liu_record` writes the table from run
folders.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from dfslab.instruments.tracing import callprofile
from scipy.stats import spearmanr

from verification import recordings
from verification.figures import Figure

JOBS, SIZES, FREQUENCIES = "liu-spark", "liu-file-size", "liu-request-frequency"
CREATE, CLOSE = "FileSystem#createFileSystem", "DFSOutputStream#close"
SEND_BLOCK, SEND_PACKET = "BlockSender#sendBlock", "BlockSender#sendPacket"
LOCATIONS = "FSNamesystem#getBlockLocations"
TO_DISK = ("write to disk", "flush to disk")
REQUEST = "request (open, read)"
# Functions that Liu 2018 names. The times of these functions can be added, because no function in
# NAMED calls another function in NAMED.
NAMED = (CREATE, CLOSE, SEND_BLOCK, LOCATIONS, *TO_DISK)
# Table 1 of Liu 2018: mean delay in seconds of each function at the six request frequencies.
TABLE_1 = {
    CREATE: (0.1567, 0.1842, 0.1827, 0.2060, 0.1887, 0.1992),
    SEND_BLOCK: (0.0054, 0.0026, 0.0020, 0.0012, 0.0009, 0.0015),
    SEND_PACKET: (0.0005, 0.0004, 0.0002, 0.0001, 0.0001, 0.0002),
    LOCATIONS: (0.0088, 0.0006, 0.0005, 0.0003, 0.0007, 0.0014),
}
# READING_JOB: in Liu 2018, one function takes longest in six of the seven jobs; in this job it is
# another function. SIZED_JOB: the job whose input sizes Liu 2018 varied.
READING_JOB, SIZED_JOB = "bayes", "wordcount"
TINY = "tiny"


@dataclass(frozen=True)
class Call:
    """The calls of one function in one configuration: their number, and the sum, mean and 0.99
    quantile of their durations in seconds. `p99_s` is None if one use of the function consists of
    several calls, such as an open and a read. `took_s` is the duration of the whole program."""

    function: str
    calls: int
    sum_s: float
    mean_s: float
    p99_s: float | None
    took_s: float


Configuration = tuple[str, ...]


@cache
def calls(recording: str) -> dict[Configuration, dict[str, Call]]:
    """Returns {configuration: {function: calls}} of a recording. A configuration is the tuple of
    its labels, such as ("tiny", "wordcount")."""
    found: dict[Configuration, dict[str, Call]] = {}
    with recordings.path_of(recording).open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            names = list(row)[: list(row).index("function")]
            one = Call(
                row["function"],
                int(row["calls"]),
                float(row["sum_s"]),
                float(row["mean_s"]),
                float(row["p99_s"]) if row["p99_s"] else None,
                float(row["took_s"]),
            )
            found.setdefault(tuple(row[name] for name in names), {})[one.function] = one
    return found


@cache
def points(recording: str) -> dict[str, dict[str, str]]:
    """Returns {step: {instrumentation point: state}} for the instrumentation points of a recording.
    If any process instrumented the point, its state is `callprofile.INSTRUMENTED`. Otherwise it is
    the state that the agent reported."""
    path = recordings.path_of(recording).with_suffix(".json")
    found: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))["points"]
    return {
        step: {point: callprofile.current_state(state) for point, state in states.items()}
        for step, states in found.items()
    }


def subjects() -> list[str]:
    """Returns the names of all recordings of function calls."""
    return [one for name in (JOBS, SIZES, FREQUENCIES) for one in recordings.of_scenario(name)]


def figures(subject: str) -> list[Figure]:
    """Returns all figures that are computed from one recording."""
    make: dict[str, Callable[[str], list[Figure]]] = {
        JOBS: _of_jobs,
        SIZES: _of_sizes,
        FREQUENCIES: _of_frequencies,
    }
    return make[recordings.scenario_of(subject)](subject)


def _figure(subject: str, bar: str, part: str, value: float, points: int) -> Figure:
    return Figure("liu-calls", subject, f"liu.{bar}", part, value, points)


def _sum_s(found: dict[str, Call], functions: Sequence[str]) -> float:
    return sum(found[one].sum_s for one in functions if one in found)


def lead(found: dict[str, Call], function: str, without: Sequence[str] = ()) -> float:
    """Returns how far a function leads the other functions in NAMED by total duration. The returned
    ratio is the total duration of `function` divided by the largest total duration of another
    function. The functions in `without` are ignored."""
    others = [one for one in NAMED if one != function and one not in without]
    return found[function].sum_s / max(_sum_s(found, [one]) for one in others)


def share(found: dict[str, Call], function: str) -> float:
    """Returns the sum of one function's durations divided by the sum over all functions that Liu
    2018 names."""
    return found[function].sum_s / _sum_s(found, NAMED)


def _of_jobs(subject: str) -> list[Figure]:
    """Returns two kinds of figures. For each job with tiny input, the figures are ratios of total
    times of HDFS functions. For SIZED_JOB with each larger input, the figure is the share of
    createFileSystem (see `share`) divided by its share with tiny input."""
    made = []
    for (size, job), found in calls(subject).items():
        if size != TINY:
            if job == SIZED_JOB:
                tiny = share(calls(subject)[TINY, job], CREATE)
                ratio = share(found, CREATE) / tiny
                made.append(_figure(subject, "size-falls", f"{size} over tiny", ratio, 2))
            continue
        count = sum(one.calls for one in found.values())
        if job == READING_JOB:
            made.append(_figure(subject, "job-send-block", job, lead(found, SEND_BLOCK), count))
            continue
        local = _sum_s(found, TO_DISK) / found[CREATE].sum_s
        made += [
            _figure(subject, "job-create", job, lead(found, CREATE), count),
            _figure(subject, "job-close", job, lead(found, CLOSE, [CREATE]), count),
            _figure(subject, "job-local", job, local, count),
        ]
    return made


def _of_sizes(subject: str) -> list[Figure]:
    """Returns the share (see `share`) of createFileSystem for the largest file, divided by the
    share for the smallest file."""
    smallest, *_, largest = calls(subject).values()
    ratio = share(largest, CREATE) / share(smallest, CREATE)
    return [_figure(subject, "size-read", "", ratio, smallest[CREATE].calls)]


def _of_frequencies(subject: str) -> list[Figure]:
    """Returns two figures. The first is the rank correlation of all mean delays with those in Table
    1 of Liu 2018. The second is the ratio of the longest to the shortest mean delay of
    createFileSystem over the frequencies."""
    every = list(calls(subject).values())
    pairs = [
        (paper_s, found[function].mean_s)
        for function, delays_s in TABLE_1.items()
        for paper_s, found in zip(delays_s, every, strict=True)
    ]
    order = float(spearmanr(*zip(*pairs, strict=True)).statistic)
    created_s = [found[CREATE].mean_s for found in every]
    return [
        _figure(subject, "frequency-order", "", order, len(pairs)),
        _figure(subject, "frequency-create", "", max(created_s) / min(created_s), len(created_s)),
    ]
