"""Callbacks of a workload run: its start, its barriers, and the operations done so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class LiveCounts(NamedTuple):
    """Operations of the timed part so far, and the duration of the longest since the last
    report."""

    done: int = 0
    errors: int = 0
    latency_ns_sum: int = 0
    latency_ns_max: int = 0

    def then(self, later: LiveCounts) -> LiveCounts:
        """The counts after adding the `later` report."""
        return later._replace(latency_ns_max=max(self.latency_ns_max, later.latency_ns_max))


@dataclass(frozen=True)
class Watch:
    """Callbacks of a workload run.

    `started` receives the clients' first common start in seconds of this process's CLOCK_MONOTONIC.
    `observed` receives the counts of operations of all places. `prepared` is called at every
    barrier (`shards.turns`): before every phase, and after it if the plan has `hold` set.
    """

    started: Callable[[float], object] = lambda at_s: None
    observed: Callable[[LiveCounts], object] = lambda observed: None
    prepared: Callable[[], object] = lambda: None

    def report(self, places: Sequence[Any]) -> None:
        """Report the summed counts of all places, each with `observed`.

        The longest operation of a place is reported once.
        """
        self.observed(together([place.observed for place in places]))
        for place in places:
            place.observed = place.observed._replace(latency_ns_max=0)


def together(parts: Sequence[LiveCounts]) -> LiveCounts:
    """The merged counts of several places."""
    if not parts:
        return LiveCounts()
    counts, errors, sums, longest = zip(*parts, strict=True)
    return LiveCounts(sum(counts), sum(errors), sum(sums), max(longest))
