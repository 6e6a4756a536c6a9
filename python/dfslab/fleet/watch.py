"""Callbacks by which a workload run reports its start, its barriers, and how many operations are
done so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class LiveCounts(NamedTuple):
    """Counts of the timed part of a run so far.

    `latency_ns_max` is the duration of the longest operation since the last report.
    """

    done: int = 0
    errors: int = 0
    latency_ns_sum: int = 0
    latency_ns_max: int = 0

    def then(self, later: LiveCounts) -> LiveCounts:
        """Returns these counts, updated by the `later` report of the same host.

        Counts are replaced by the later ones. Of the two longest durations, the longer one is kept.
        """
        return later._replace(latency_ns_max=max(self.latency_ns_max, later.latency_ns_max))


@dataclass(frozen=True)
class Watch:
    """The callbacks of a workload run.

    `started` receives the clients' first common start in seconds of this process's CLOCK_MONOTONIC.
    `observed` receives the counts of operations of all hosts. `prepared` is called at every barrier
    (`shards.turns`): before every phase, and after it if the plan has `hold` set.
    """

    started: Callable[[float], object] = lambda at_s: None
    observed: Callable[[LiveCounts], object] = lambda observed: None
    prepared: Callable[[], object] = lambda: None

    def report(self, places: Sequence[Any]) -> None:
        """Calls `observed` with the summed counts of all hosts, each of which has its counts in the
        attribute `observed`.

        The longest operation of a host is reported only once.
        """
        self.observed(together([place.observed for place in places]))
        for place in places:
            place.observed = place.observed._replace(latency_ns_max=0)


def together(parts: Sequence[LiveCounts]) -> LiveCounts:
    """Returns the merged counts of several hosts: the sum of each count, and the duration of the
    longest operation.
    """
    if not parts:
        return LiveCounts()
    counts, errors, sums, longest = zip(*parts, strict=True)
    return LiveCounts(sum(counts), sum(errors), sum(sums), max(longest))
