"""The callbacks by which a workload run reports its start, its barriers, and the number of
operations done so far. From these counts, the module also computes the figures of each second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from dfslab.fleet.client_hosts import ClientHost
from dfslab.latency_histogram import Latencies, added, longest_ns, merged, quantile_s

# Shortest interval in seconds over which the figures of a "second" are computed.
EVERY_S = 1.0


class LiveCounts(NamedTuple):
    """Counts of the timed part of a run so far.

    `latency_ns_max` is the duration of the longest operation since the last report. `latencies` is
    the histogram of the durations of all operations so far.
    """

    done: int = 0
    errors: int = 0
    latency_ns_sum: int = 0
    latency_ns_max: int = 0
    latencies: Latencies = ()

    @classmethod
    def reported(
        cls,
        done: int,
        errors: int,
        spent_ns: int,
        longest_ns: int,
        latencies: Iterable[Sequence[int]],
    ) -> LiveCounts:
        """Returns the counts that the load generator or an agent has reported. The arguments are
        the fields of this class, in the order of the fields. The histogram may be any sequence of
        pairs; here it is converted to a tuple."""
        pairs = tuple((middle_ns, count) for middle_ns, count in latencies)
        return cls(done, errors, spent_ns, longest_ns, pairs)

    def then(self, later: LiveCounts) -> LiveCounts:
        """Returns the counts of `later`, a later report of this host, with one exception:
        `latency_ns_max` is the larger value of the two reports."""
        return later._replace(latency_ns_max=max(self.latency_ns_max, later.latency_ns_max))


class ObservedHost(Protocol):
    """The load generator on one client host. `observed`: the latest counts of the load
    generator."""

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
    its name. `prepared` is called at every barrier (see `shards.turns`).
    """

    started: Callable[[float], object] = ignore_start
    observed: Callable[[LiveCounts], object] = lambda observed: None
    prepared: Callable[[], object] = ignore_barrier
    by_host: Callable[[Mapping[str, LiveCounts]], object] = lambda counts: None

    @property
    def needs_barriers(self) -> bool:
        """Returns whether a callback has to be called at barriers. If not, a workload run in this
        process does not wait at barriers."""
        return self.started is not ignore_start or self.prepared is not ignore_barrier

    def report(self, hosts: Sequence[ObservedHost]) -> None:
        """Calls `observed` with the summed counts of all hosts, and `by_host` with the counts of
        each host.

        Then sets `latency_ns_max` of each host to 0, so that the longest operation is reported only
        once.
        """
        self.observed(merge_counts([host.observed for host in hosts]))
        self.by_host({host.place.name: host.observed for host in hosts})
        for host in hosts:
            host.observed = host.observed._replace(latency_ns_max=0)


def merge_counts(parts: Sequence[LiveCounts]) -> LiveCounts:
    """Returns the merged counts of several hosts: the sum of each count, the duration of the
    longest operation, and the sum of the histograms.
    """
    return LiveCounts(
        done=sum(one.done for one in parts),
        errors=sum(one.errors for one in parts),
        latency_ns_sum=sum(one.latency_ns_sum for one in parts),
        latency_ns_max=max((one.latency_ns_max for one in parts), default=0),
        latencies=merged(one.latencies for one in parts),
    )


@dataclass(frozen=True)
class LiveSecond:
    """One completed second of a workload run. `at_s`: end of the second, in seconds after the start
    of the run.

    `latencies` is the histogram of the durations of the operations that succeeded in that second.
    The statistics of latency are in seconds; they are None if no operation succeeded.
    """

    at_s: float
    rate_per_s: float
    latency_s_mean: float | None
    latency_s_p50: float | None
    latency_s_p99: float | None
    latency_s_max: float | None
    errors: int
    latencies: Latencies = ()


class SecondCounter:
    """Computes the figures of each second from counts that grow during a workload run.

    The object reads no clock: the caller gives the time of each report, in seconds of a clock that
    the caller chooses.
    """

    def __init__(self) -> None:
        self._start_s: float | None = None
        self._reported_s = 0.0
        self._before = LiveCounts()
        self._longest_ns = 0

    def begin(self, at_s: float) -> None:
        """Begins the computation of figures for a workload run that starts at `at_s`."""
        self._start_s = self._reported_s = at_s
        self._before, self._longest_ns = LiveCounts(), 0

    def end(self) -> None:
        """Ends the computation of figures for a workload run. Counts are ignored until the next run
        begins."""
        self._start_s = None

    def observed(self, counts: LiveCounts, now_s: float) -> LiveSecond | None:
        """Takes the counts of the workload run at `now_s`. Returns the figures of the time since
        this method last returned figures, or since the run began. Returns None if this time is
        shorter than EVERY_S seconds, or if no workload run has begun."""
        if counts.done < self._before.done:
            # The counts were reset, because the next workload run is being prepared.
            self.end()
        self._longest_ns = max(self._longest_ns, counts.latency_ns_max)
        past_s = now_s - self._reported_s
        if self._start_s is None or past_s < EVERY_S:
            return None
        done = counts.done - self._before.done
        spent_ns = counts.latency_ns_sum - self._before.latency_ns_sum
        latencies = added(self._before.latencies, counts.latencies)
        longest_s = longest_ns(latencies, self._longest_ns) * 1e-9 if done else None
        found = LiveSecond(
            at_s=now_s - self._start_s,
            rate_per_s=done / past_s,
            latency_s_mean=spent_ns * 1e-9 / done if done else None,
            latency_s_p50=quantile_s(latencies, 0.50, longest_s),
            latency_s_p99=quantile_s(latencies, 0.99, longest_s),
            latency_s_max=longest_s,
            errors=counts.errors - self._before.errors,
            latencies=latencies,
        )
        self._reported_s, self._before, self._longest_ns = now_s, counts, 0
        return found
