"""Counts what one operation costs in system calls of the client and in calls that servers count.

Two short loads of one client, the second with three times the operations: what both do to start,
to prepare and to end is in both, so that the difference is that of the operations alone.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dfslab.fleet import run as fleet
from dfslab.fleet.places import Place
from dfslab.spec.model import InputError

SHORT, LONG = 100, 300
# Counted by name and without times, of all threads and processes.
STRACE = ("strace", "-f", "-qq", "-c", "-U", "name,calls")
Counts = dict[str, float]


def refused(plan: Mapping[str, Any]) -> str:
    """Why this load's operations cannot be counted one by one; "" when they can."""
    stream = plan["stream"]
    if stream.get("phases") or stream.get("given"):
        return "its operations are phases or given ones, so that no part of them is like the whole"
    return ""


def count(plan: Mapping[str, Any], place: Place, observe: Callable[[], Any]) -> dict[str, Any]:
    """System calls by name, and servers' calls by name where they count any, of one operation.

    `observe` tells what the servers counted since it was last asked. InputError without strace,
    LoadFailed when a load fails.
    """
    if shutil.which(STRACE[0]) is None:
        raise InputError("run.count_calls", True, "strace must be installed to count system calls")
    short, long = (_counted(plan, place, observe, operations) for operations in (SHORT, LONG))
    done = LONG - SHORT
    ours, theirs = (_slope(*pair, done) for pair in zip(short, long, strict=True))
    return {
        "operations": done,
        "system_calls": ours,
        "system_calls_per_operation": sum(ours.values()),
        "server_calls": theirs or None,
        "server_calls_per_operation": sum(theirs.values()) if theirs else None,
    }


def _counted(
    plan: Mapping[str, Any], place: Place, observe: Callable[[], Any], operations: int
) -> tuple[Counts, Counts]:
    stream = {**plan["stream"], "clients": 1, "operations_per_client": operations,
              "arrival": "closed", "think_time_s": 0.0}  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="dfslab-") as folder:
        told = Path(folder) / "calls"
        counting = Place(place.name, (*place.prefix, *STRACE, "-o", str(told)))
        changes = {
            "stream": stream,
            "verify": "none",
            "record": False,
            "time_limit_s": None,
            "run_directory": f"{plan['run_directory']}-{operations}",
            "layers": [],
        }
        observe()
        fleet.run_load({**plan, **changes}, [counting])
        return system_calls(told.read_text("utf-8")), server_calls(observe())


def system_calls(text: str) -> Counts:
    """strace's table of names and calls."""
    rows = (line.split() for line in text.splitlines())
    return {row[0]: float(row[1]) for row in rows
            if len(row) == 2 and row[1].isdigit() and row[0] != "total"}  # fmt: skip


def server_calls(observed: Mapping[str, Any]) -> Counts:
    """Calls by name over all servers, as a bed's `observe` tells them."""
    found: Counts = {}
    for server in observed.values():
        for name, seen in server.get("operations", {}).items():
            found[name] = found.get(name, 0.0) + seen["calls"]
    return found


def _slope(short: Counts, long: Counts, operations: int) -> Counts:
    """Per operation; what comes once in a hundred of them is the loads' own."""
    each = {name: (long[name] - short.get(name, 0.0)) / operations for name in sorted(long)}
    return {name: calls for name, calls in each.items() if calls >= 0.01}
