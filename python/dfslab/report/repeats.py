"""Extracts from a trace, for display, the loops, the retries, and the calls that filters left
out."""

from __future__ import annotations

from typing import NamedTuple

from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.documents.traces.trace_tree import walk
from dfslab.spec import units

LOOPS = "Repeated steps, by how often one call of the step above makes them"
RETRIES = "Failed, then made again by the same caller"
LOOP_HEAD = ("step", "least", "median", "most", "callers")
# Headings of two table columns: a step's share of all self time, and its share of the critical
# path. These columns are next to the column of the end-to-end time that a faster step would save.
SELF_SHARE, PATH_SHARE = "share of self time", "share of critical path"
RETRY_HEAD = ("step", "attempts that failed", "of", "time in them")


class Loop(NamedTuple):
    """How often the step `path` is executed within one call of its parent step.

    The numbers are over the calls of the parent step: the minimum (`least`), the median (`p50`) and
    the maximum (`most`). `callers` is the number of these calls of the parent step.
    """

    path: CallPath
    least: int
    p50: int
    most: int
    callers: int


class Retry(NamedTuple):
    """A step with failed attempts.

    `attempts`: number of all attempts; `failed` and `failed_ns`: number and nanoseconds of the
    failed attempts.
    """

    path: CallPath
    failed: int
    attempts: int
    failed_ns: int


def loops(profile: TraceProfile) -> list[Loop]:
    """Returns the steps that are executed more than once within one call of their parent. The most
    often repeated step is first.

    A step that occurs at several paths of the call tree has one entry for each path.
    """
    found = [
        Loop(path, node.times.least, node.times.p50, node.times.most, node.times.callers)
        for path, node in walk(profile.roots)
        if node.times and node.times.most > 1 and not node.again
    ]
    return sorted(found, key=lambda row: (-row.most, str(row.path), row[1:]))


def retries(profile: TraceProfile) -> list[Retry]:
    """Returns the steps with failed attempts. The step whose failed attempts took the most time is
    first."""
    found = [
        Retry(row.path, row.again, row.count, row.again_ns)
        for row in (*profile.ranking, *profile.waits)
        if row.again
    ]
    return sorted(found, key=lambda row: (-row.failed_ns, str(row.path)))


def left_out(profile: TraceProfile) -> list[str]:
    """Returns one line of text for each filter of the trace. The line states which calls the filter
    left out, and to which other calls the time of these calls is attributed."""
    lines = []
    for rule, shown in profile.left_out.items():
        times = [units.text(ns / 1e9, "s") for ns in (shown.total_ns, shown.self_ns)]
        nobody = shown.without_caller
        lines.append(
            f"Left out by “{rule}”: {shown.calls:,} calls with a total time of {times[0]}; "
            f"their self time of {times[1]} is counted as self time of their callers"
            + (f"; {nobody:,} of the calls have no caller in the profile." if nobody else ".")
        )
    return lines


def lost(profile: TraceProfile) -> str:
    """Returns a text with the numbers of repaired and of dropped spans of a trace, by kind; "" if
    there are none."""
    kinds = profile.losses.items()
    return ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in kinds if count)
