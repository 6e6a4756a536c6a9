"""Shows a running workload live in a terminal, one row per second."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from rich.table import Table

from dfslab.fleet.watch import LiveCounts, Watch
from dfslab.spec import units
from dfslab.spec.clock import REAL

ROWS = 8
EVERY_S = 1.0


@dataclass(frozen=True)
class LiveSecond:
    """One completed second of a workload run.

    Its latencies are None if no operation succeeded in that second.
    """

    at_s: float
    rate_per_s: float
    latency_s_mean: float | None
    latency_s_max: float | None
    errors: int


class LoadView:
    """Receives the live counts of a workload run and shows one row for each second.

    When another workload run begins, a new table begins.
    """

    def __init__(self, clock: Callable[[], float] = REAL.monotonic_s) -> None:
        self.rows: deque[LiveSecond] = deque(maxlen=ROWS)
        self.watch = Watch(self._started, self._observed)
        self._clock = clock
        self._start_s = self._reported_s = 0.0
        self._before = LiveCounts()
        self._longest_ns = 0

    def _started(self, at_s: float) -> None:
        self.rows.clear()
        self._start_s = self._reported_s = at_s
        self._before, self._longest_ns = LiveCounts(), 0

    def _observed(self, observed: LiveCounts) -> None:
        if observed.done < self._before.done:
            # The counts were reset, because the next workload run is being prepared. A new table
            # begins.
            self._start_s = 0.0
        self._longest_ns = max(self._longest_ns, observed.latency_ns_max)
        now_s = self._clock()
        past_s = now_s - self._reported_s
        if past_s < EVERY_S or not self._start_s:
            return
        done = observed.done - self._before.done
        spent_ns = observed.latency_ns_sum - self._before.latency_ns_sum
        self.rows.append(
            LiveSecond(
                now_s - self._start_s,
                done / past_s,
                spent_ns * 1e-9 / done if done else None,
                self._longest_ns * 1e-9 if done else None,
                observed.errors - self._before.errors,
            )
        )
        self._reported_s, self._before, self._longest_ns = now_s, observed, 0

    def __rich__(self) -> Table | str:
        if not self.rows:
            return ""
        table = Table(box=None, pad_edge=False)
        for name in ("second", "operations/s", "mean latency", "longest", "errors"):
            table.add_column(name, justify="right")
        for row in self.rows:
            table.add_row(
                f"{row.at_s:.0f}",
                f"{row.rate_per_s:,.0f}",
                _time(row.latency_s_mean),
                _time(row.latency_s_max),
                f"[red]{row.errors}[/red]" if row.errors else "0",
            )
        return table


def _time(value_s: float | None) -> str:
    return "-" if value_s is None else units.text(value_s, "s", 3)
