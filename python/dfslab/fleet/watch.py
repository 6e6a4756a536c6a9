"""Callbacks by which a workload run reports its start, its barriers, and how many operations are
done so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from dfslab.fleet.places import ClientHost


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


class ObservedHost(Protocol):
    """The load generator on one client host. `observed`: its latest counts."""

    place: ClientHost
    observed: LiveCounts


def ignore_start(at_s: float) -> None:
    """Ignores the start of a workload run."""


def ignore_barrier() -> None:
    """Ignores a barrier of a workload run."""


@dataclass(frozen=True)
class Watch:
    """The callbacks of a workload run.

    `started` receives the clients' first common start in seconds of this process's CLOCK_MONOTONIC.
    `observed` receives the counts of operations of all hosts, and `by_host` those of each host, by
    its name. `prepared` is called at every barrier (`shards.turns`): before every phase, and after
    it if the plan has `hold` set.
    """

    started: Callable[[float], object] = ignore_start
    observed: Callable[[LiveCounts], object] = lambda observed: None
    prepared: Callable[[], object] = ignore_barrier
    by_host: Callable[[Mapping[str, LiveCounts]], object] = lambda counts: None

    @property
    def needs_barriers(self) -> bool:
        """Returns whether a callback has to be called at barriers. If not, a workload run in this
        process need not wait for its callbacks there."""
        return self.started is not ignore_start or self.prepared is not ignore_barrier

    def report(self, hosts: Sequence[ObservedHost]) -> None:
        """Calls `observed` with the summed counts of all hosts, and `by_host` with those of each.

        The longest operation of a host is reported only once.
        """
        self.observed(together([host.observed for host in hosts]))
        self.by_host({host.place.name: host.observed for host in hosts})
        for host in hosts:
            host.observed = host.observed._replace(latency_ns_max=0)


def together(parts: Sequence[LiveCounts]) -> LiveCounts:
    """Returns the merged counts of several hosts: the sum of each count, and the duration of the
    longest operation.
    """
    if not parts:
        return LiveCounts()
    counts, errors, sums, longest = zip(*parts, strict=True)
    return LiveCounts(sum(counts), sum(errors), sum(sums), max(longest))
