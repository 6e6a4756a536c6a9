"""Counts system calls of the client and calls at the servers per operation.

Two short runs of one client are compared; the second has up to three times the operations. Calls
are counted from the start of a phase to its end, so preparation and removal of files are excluded.
The fixed cost of starting a phase is in both runs, so their difference is that of the operations.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from dfslab.documents.measured_load import CallCounts, CountedCalls, ServerCounts
from dfslab.fleet import run as fleet
from dfslab.fleet.places import Place
from dfslab.fleet.watch import Watch
from dfslab.spec.files import scratch
from dfslab.spec.model import InputError
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.vocabulary import Phase, Stream

SHORT, LONG = 100, 300
# One line for each call of any thread or process, in the order of their starts.
STRACE = ("strace", "-f", "-qq", "-s", "0", "-e", "signal=none")
BEGUN = re.compile(rb"^(\d+) +(\w+)\(", re.MULTILINE)
# Calls below this rate per operation, or with at most this count, are not due to operations.
LEAST_SHARE, LEAST_CALLS = 0.01, 3
# Waits for other threads or for a pause; their number depends on timing.
WAITS = frozenset({"futex", "clock_nanosleep", "nanosleep", "sched_yield", "restart_syscall"})
Counts = dict[str, float]
# Operations, system calls and server calls of one phase.
Marked = tuple[int, Counts, Counts]
Observe = Callable[[], Mapping[str, ServerCounts]]


def refused(plan: LoadPlan) -> str:
    """Why the calls of this workload cannot be counted per operation; "" when they can."""
    if plan.stream.given:
        return "its operations are given ones, so that no part of them is like the whole"
    return ""


def count(plan: LoadPlan, place: Place, observe: Observe) -> CallCounts:
    """Calls per operation for each phase: system calls by name, and server calls by name where the
    servers count them. A phase of one operation has 0 `operations`.

    `observe` returns the server counts since its last call. InputError without strace, LoadFailed
    when a run fails.
    """
    if shutil.which(STRACE[0]) is None:
        raise InputError("run.count_calls", True, "strace must be installed to count system calls")
    short, long = (
        _counted(plan, place, observe, _shortened(plan.stream, most)) for most in (SHORT, LONG)
    )
    found = [_between(*pair) for pair in zip(short, long, strict=True)]
    if not any(one.operations for one in found):
        return CallCounts(not_counted="its phases have one operation each")
    return CallCounts(phases=found)


def _shortened(stream: Stream, most: int) -> Stream:
    """The stream of one client, with at most `most` operations in each phase.

    A phase with fewer operations keeps all of them in the long run, and a third in the short run.
    """
    changes: dict[str, object] = {"clients": 1, "arrival": "closed", "think_time_s": 0.0}

    def shorter(phase: Phase) -> Phase:
        whole = phase.operations_per_client
        fewer = min(most, max(1, whole * most // LONG))
        return phase.model_copy(update={"operations_per_client": fewer})

    if stream.phases:
        changes["phases"] = [shorter(phase) for phase in stream.phases]
    else:
        changes["operations_per_client"] = most
    return stream.model_copy(update=changes)


class _Marks:
    """Counts at the barriers between phases."""

    def __init__(self, log: Path, observe: Observe) -> None:
        self._log, self._observe = log, observe
        self._places: list[tuple[int, int]] = []
        self._servers: list[Counts] = []

    def mark(self) -> None:
        """Record the counts at a phase boundary: no client is inside a phase."""
        ended = self._log.stat().st_size
        self._servers.append(server_calls(self._observe()))
        # Reading the counters took time, during which the waiting load generator made calls.
        self._places.append((ended, self._log.stat().st_size))

    def phases(self) -> list[tuple[Counts, Counts]]:
        """(system calls, server calls) of each phase, from the marks at its start and its end."""
        text = self._log.read_bytes()
        main = text.partition(b" ")[0]
        spans = zip(self._places[::2], self._places[1::2], self._servers[1::2], strict=True)
        return [
            (system_calls(text[begun:ended], main), servers)
            for (_, begun), (ended, _), servers in spans
        ]


def _counted(plan: LoadPlan, place: Place, observe: Observe, stream: Stream) -> list[Marked]:
    """(operations, system calls, server calls) of each phase, or of the single one."""
    each = [phase.operations_per_client for phase in stream.all_phases]
    with scratch.folder("calls") as folder:
        output_path = folder / "calls"
        counting = Place(place.name, (*place.prefix, *STRACE, "-o", str(output_path)))
        changes = {
            "stream": stream,
            "verify": "none",
            "record": False,
            "time_limit_s": None,
            "run_directory": f"{plan.run_directory}-{sum(each)}",
            "layers": [],
            "hold": True,
        }
        counted = plan.model_copy(update=changes)
        marks = _Marks(output_path, observe)
        watch = Watch(prepared=marks.mark)
        report = fleet.run_load(counted, [counting], watch=watch).report
        if not report.complete:
            raise fleet.LoadFailed("the load that was to be counted did not come to its end")
        return [(done, *one) for done, one in zip(each, marks.phases(), strict=True)]


def system_calls(text: bytes, main: bytes) -> Counts:
    """Number of calls by name in a part of strace's log, waits excluded.

    Calls of the agent's main thread are excluded, too: it only reports progress.
    """
    names = Counter(name.decode() for thread, name in BEGUN.findall(text) if thread != main)
    return {name: float(calls) for name, calls in names.items() if name not in WAITS}


def server_calls(observed: Mapping[str, ServerCounts]) -> Counts:
    """Calls by name summed over all servers, from the counts of a testbed's `observe`."""
    found: Counts = {}
    for server in observed.values():
        for name, counted in server.operations.items():
            found[name] = found.get(name, 0.0) + counted.calls
    return found


def _between(short: Marked, long: Marked) -> CountedCalls:
    """Calls per additional operation of the long run."""
    done = long[0] - short[0]
    ours, theirs = _slope(short[1], long[1], done), _slope(short[2], long[2], done)
    return CountedCalls(
        operations=done,
        system_calls=ours,
        system_calls_per_operation=sum(ours.values()),
        server_calls=theirs or None,
        server_calls_per_operation=sum(theirs.values()) if theirs else None,
    )


def _slope(short: Counts, long: Counts, operations: int) -> Counts:
    """Additional calls per additional operation."""
    more = {name: long[name] - short.get(name, 0.0) for name in sorted(long)}
    least = max(LEAST_SHARE * operations, min(LEAST_CALLS, operations))
    return {
        name: calls / operations for name, calls in more.items() if operations and calls >= least
    }
