"""Converts the counts that a workload run reports while it runs to the figures of each second."""

from __future__ import annotations

from dataclasses import dataclass

from dfslab.fleet.watch import LiveCounts

EVERY_S = 1.0


@dataclass(frozen=True)
class LiveSecond:
    """One completed second of a workload run. `at_s`: end of the second, in seconds after the start
    of the run.

    Its latencies are None if no operation succeeded in that second.
    """

    at_s: float
    rate_per_s: float
    latency_s_mean: float | None
    latency_s_max: float | None
    errors: int


class SecondCounter:
    """Computes the figures of each second from counts that grow during a workload run.

    The object knows no clock: the caller gives the time of each report, in seconds of any one
    clock.
    """

    def __init__(self) -> None:
        self._start_s: float | None = None
        self._reported_s = 0.0
        self._before = LiveCounts()
        self._longest_ns = 0

    def begin(self, at_s: float) -> None:
        """Begins the seconds of a workload run that starts at `at_s`."""
        self._start_s = self._reported_s = at_s
        self._before, self._longest_ns = LiveCounts(), 0

    def end(self) -> None:
        """Ends the seconds of a workload run. Counts are ignored until the next run begins."""
        self._start_s = None

    def observed(self, counts: LiveCounts, now_s: float) -> LiveSecond | None:
        """Takes the counts of the workload run at `now_s`. Returns the figures since the last
        returned second if at least one second has passed, otherwise None."""
        if counts.done < self._before.done:
            # The counts were reset, because the next workload run is being prepared.
            self.end()
        self._longest_ns = max(self._longest_ns, counts.latency_ns_max)
        past_s = now_s - self._reported_s
        if self._start_s is None or past_s < EVERY_S:
            return None
        done = counts.done - self._before.done
        spent_ns = counts.latency_ns_sum - self._before.latency_ns_sum
        found = LiveSecond(
            now_s - self._start_s,
            done / past_s,
            spent_ns * 1e-9 / done if done else None,
            self._longest_ns * 1e-9 if done else None,
            counts.errors - self._before.errors,
        )
        self._reported_s, self._before, self._longest_ns = now_s, counts, 0
        return found
