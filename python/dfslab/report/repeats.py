"""Repetitions in a trace as rows and lines: loops, retries, and calls that rules left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dfslab.spec import units

LOOPS = "Repeated steps, by how often one call of the step above makes them"
RETRIES = "Failed, then made again by the same caller"
LOOP_HEAD = ("step", "least", "median", "most", "callers")
RETRY_HEAD = ("step", "attempts that failed", "of", "time in them")


def loops(profile: Mapping[str, Any]) -> list[tuple[str, int, int, int, int]]:
    """(path, minimum, median, maximum, callers) of steps that one call makes more than once.

    The most often repeated come first. Steps in trees of different shape have separate rows.
    """
    found = []
    for path, node in _walk(profile):
        times = node.get("times")
        if times and times["most"] > 1 and not node.get("again"):
            counts = (times["least"], times["p50"], times["most"], times["callers"])
            found.append((path, *counts))
    return sorted(found, key=lambda row: (-row[3], row[0], row))


def retries(profile: Mapping[str, Any]) -> list[tuple[str, int, int, int]]:
    """(path, failed attempts, all attempts, nanoseconds in failed ones), most time first."""
    rows = [*profile["ranking"], *profile.get("waits", ())]
    found = [
        (row["path"], row["again"], row["count"], row["again_ns"])
        for row in rows
        if row.get("again")
    ]
    return sorted(found, key=lambda row: (-row[3], row[0]))


def left_out(profile: Mapping[str, Any]) -> list[str]:
    """One line for each rule: the calls that it left out, and to what their time is attributed."""
    lines = []
    for rule, shown in (profile.get("left_out") or {}).items():
        times = [units.text(shown[key] / 1e9, "s") for key in ("total_ns", "self_ns")]
        nobody = shown["without_caller"]
        lines.append(
            f"Left out by “{rule}”: {shown['calls']:,} calls of {times[0]} in all, {times[1]} of "
            "their own, now their callers'"
            + (f"; {nobody:,} had no caller that is kept." if nobody else ".")
        )
    return lines


def _walk(profile: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    waiting = [(root["name"], root) for root in profile["roots"]]
    while waiting:
        path, node = waiting.pop()
        yield path, node
        waiting += [(f"{path}/{child['name']}", child) for child in node["children"]]
