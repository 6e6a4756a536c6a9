"""Counts the calls that one operation causes: system calls of the client, and calls at the servers.

Two short runs of one client are compared. The second run makes up to three times as many operations
as the first. Calls are counted from the start of a phase to its end, so preparation and removal of
files are excluded. The fixed cost of starting a phase is equal in both runs. The additional calls
of the second run are therefore due to its additional operations.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from dfslab.documents.measured_load import CallCounts, CountedCalls, ServerCounts
from dfslab.fleet import run as fleet
from dfslab.fleet.client_hosts import ClientHost
from dfslab.fleet.watch import Watch
from dfslab.spec.files import scratch
from dfslab.spec.input_error import InputError
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.vocabulary import Phase, Stream

SHORT, LONG = 100, 300
# strace prints one line for each call of any thread or process. The lines are in the order in which
# the calls start.
STRACE = ("strace", "-f", "-qq", "-s", "0", "-e", "signal=none")
BEGUN = re.compile(rb"^(\d+) +(\w+)\(", re.MULTILINE)
# The calls of one name, such as "read", are attributed to operations only if their number is at
# least max(LEAST_SHARE * operations, min(LEAST_CALLS, operations)).
LEAST_SHARE, LEAST_CALLS = 0.01, 3
# Calls that pause or wait for other threads. Such calls are not counted, because their number
# depends on timing.
WAITS = frozenset({"futex", "clock_nanosleep", "nanosleep", "sched_yield", "restart_syscall"})
Counts = dict[str, float]
# The counts of one phase: the number of operations, the counts of system calls by name, and the
# counts of server calls by name.
Marked = tuple[int, Counts, Counts]
Observe = Callable[[], Mapping[str, ServerCounts]]


def refused(plan: LoadPlan) -> str:
    """Returns the reason why the calls of a workload cannot be counted per operation. Returns an
    empty text if they can be counted."""
    if plan.stream.given:
        return "the operations are listed one by one, so a part of them does not represent all"
    return ""


def count(plan: LoadPlan, place: ClientHost, observe: Observe) -> CallCounts:
    """Counts the calls per operation of each phase: system calls, and server calls if the servers
    count their calls.

    `observe` returns the calls that the servers have counted since `observe` was last called. The
    calls per operation of a phase with only one operation cannot be computed. The result has
    `operations` 0 for such a phase. Raises InputError if strace is not installed, and LoadFailed if
    a run fails.
    """
    if shutil.which(STRACE[0]) is None:
        raise InputError("run.count_calls", True, "strace must be installed to count system calls")
    short, long = (
        _counted(plan, place, observe, _shortened(plan.stream, most)) for most in (SHORT, LONG)
    )
    found = [_between(*pair) for pair in zip(short, long, strict=True)]
    if not any(one.operations for one in found):
        return CallCounts(not_counted="each phase has only one operation")
    return CallCounts(phases=found)


def _shortened(stream: Stream, most: int) -> Stream:
    """Returns a copy of an operation stream for a shorter run. The copy has one client that never
    pauses.

    Each phase of the copy has at most `most` operations, which is LONG for the long run and SHORT
    for the short run. A phase that has fewer than LONG operations keeps all of them in the long
    run. In the short run, it keeps about a third of them. A stream without phases gets exactly
    `most` operations.
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
    """Records the counts of system calls and server calls at the start and the end of each
    phase."""

    def __init__(self, log: Path, observe: Observe) -> None:
        self._log, self._observe = log, observe
        self._places: list[tuple[int, int]] = []
        self._servers: list[Counts] = []

    def mark(self) -> None:
        """Records the counts at the start or the end of a phase. At this time no client executes
        operations."""
        ended = self._log.stat().st_size
        self._servers.append(server_calls(self._observe()))
        # The load generator waits while the counters are read, and makes calls meanwhile. These
        # calls belong to no phase. The log of strace has grown by these calls, so its size is
        # recorded before and after the counters are read. This part of the log is not evaluated.
        self._places.append((ended, self._log.stat().st_size))

    def phases(self) -> list[tuple[Counts, Counts]]:
        """Returns (system calls, server calls) of each phase. Each count is the count at the end of
        the phase minus the count at the start of the phase."""
        text = self._log.read_bytes()
        main = text.partition(b" ")[0]
        spans = zip(self._places[::2], self._places[1::2], self._servers[1::2], strict=True)
        return [
            (system_calls(text[begun:ended], main), servers)
            for (_, begun), (ended, _), servers in spans
        ]


def _counted(plan: LoadPlan, place: ClientHost, observe: Observe, stream: Stream) -> list[Marked]:
    """Runs the stream under strace.

    Returns (operations, system calls, server calls) for each phase, or for the whole stream if it
    has no phases.
    """
    each = [phase.operations_per_client for phase in stream.all_phases]
    with scratch.folder("calls") as folder:
        output_path = folder / "calls"
        counting = ClientHost(place.name, (*place.prefix, *STRACE, "-o", str(output_path)))
        changes = {
            "stream": stream,
            "verify": "none",
            "record": False,
            "time_limit_s": None,
            "run_directory": f"{plan.run_directory}-{sum(each)}",
            "layers": [],
            "barrier_after_phases": True,
        }
        counted = plan.model_copy(update=changes)
        marks = _Marks(output_path, observe)
        watch = Watch(prepared=marks.mark)
        report = fleet.run_load(counted, [counting], watch=watch).report
        if not report.complete:
            raise fleet.LoadFailed("the workload run whose calls were counted did not finish")
        return [(done, *one) for done, one in zip(each, marks.phases(), strict=True)]


def system_calls(text: bytes, main: bytes) -> Counts:
    """Counts the calls in `text`, a part of strace's log. Returns the number of calls by name.

    Two kinds of calls are not counted: calls that only wait (WAITS), and calls of the agent's main
    thread, because this thread only reports progress. `main` is the id of this thread.
    """
    names = Counter(name.decode() for thread, name in BEGUN.findall(text) if thread != main)
    return {name: float(calls) for name, calls in names.items() if name not in WAITS}


def server_calls(observed: Mapping[str, ServerCounts]) -> Counts:
    """Returns the number of server calls by name. Each number is the sum over all servers.

    `observed` has the counts of each server, as a testbed reports them.
    """
    found: Counts = {}
    for server in observed.values():
        for name, counted in server.operations.items():
            found[name] = found.get(name, 0.0) + counted.calls
    return found


def _between(short: Marked, long: Marked) -> CountedCalls:
    """Returns the calls per operation of one phase: (calls of the long run - calls of the short
    run) / (operations of the long run - operations of the short run)."""
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
    """Returns the calls per operation by the name of the call: (calls of the long run - calls of
    the short run) / `operations`.

    `operations` is the number of operations of the long run minus that of the short run. The result
    is empty if `operations` is 0. A call is left out if the difference of its counts is too small
    (see LEAST_SHARE).
    """
    more = {name: long[name] - short.get(name, 0.0) for name in sorted(long)}
    least = max(LEAST_SHARE * operations, min(LEAST_CALLS, operations))
    return {
        name: calls / operations for name, calls in more.items() if operations and calls >= least
    }
