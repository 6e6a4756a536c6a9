"""Shows a running workload live in a terminal, one row per second."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from rich.table import Table

from dfslab.fleet.watch import LiveCounts, LiveSecond, SecondCounter, Watch
from dfslab.spec import units
from dfslab.spec.clock import REAL

ROWS = 8


class LoadView:
    """Receives the live counts of a workload run and shows one row for each second.

    When another workload run begins, a new table begins.
    """

    def __init__(self, clock: Callable[[], float] = REAL.monotonic_s) -> None:
        self.rows: deque[LiveSecond] = deque(maxlen=ROWS)
        self.watch = Watch(self._started, self._observed)
        self._clock = clock
        self._counter = SecondCounter()

    def _started(self, at_s: float) -> None:
        self.rows.clear()
        self._counter.begin(at_s)

    def _observed(self, observed: LiveCounts) -> None:
        if second := self._counter.observed(observed, self._clock()):
            self.rows.append(second)

    def __rich__(self) -> Table | str:
        if not self.rows:
            return ""
        table = Table(box=None, pad_edge=False)
        for name in ("second", "operations/s", "mean latency", "p50", "p99", "longest", "errors"):
            table.add_column(name, justify="right")
        for row in self.rows:
            table.add_row(
                f"{row.at_s:.0f}",
                f"{row.rate_per_s:,.0f}",
                _time(row.latency_s_mean),
                _time(row.latency_s_p50),
                _time(row.latency_s_p99),
                _time(row.latency_s_max),
                f"[red]{row.errors}[/red]" if row.errors else "0",
            )
        return table


def _time(value_s: float | None) -> str:
    return "-" if value_s is None else units.text(value_s, "s", 3)
