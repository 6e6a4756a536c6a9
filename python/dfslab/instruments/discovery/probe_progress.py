"""Reports the progress of probing a place, with the time left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from dfslab.spec.clock import REAL, Clock

Answer = TypeVar("Answer")
# The probes in their order, and the seconds that each takes on an idle machine with an SSD. The
# remaining time is estimated from the seconds of the remaining probes. If the completed probes took
# longer than their seconds here, the estimate is multiplied by the ratio of the two times.
USUAL_S = {
    "free processors": 1.0,
    "round trips": 0.2,
    "reads from memory": 0.3,
    "the disk": 2.0,
    "calls and requests": 18.0,
    "the disk again": 2.0,
}
# The probes of a place that is not a local directory.
REMOTE = ("free processors", "round trips", "reads from memory")


def usual_s(is_local: bool) -> float:
    """Returns the seconds that all probes of a place take on an idle machine with an SSD."""
    return sum(USUAL_S.values()) if is_local else sum(USUAL_S[name] for name in REMOTE)


class ProbeReport(Protocol):
    """A callback that receives the amount done, the total amount, a text on the current activity,
    and the estimated seconds remaining."""

    def __call__(self, done: float, total: float, text: str, /, *remaining_s: float) -> None: ...


def unreported(done: float, total: float, text: str, /, *remaining_s: float) -> None:
    """Ignores the report. Callers that show no progress pass this function as the callback."""


class ProbeProgress:
    """Reports the progress of the probes. Before each probe, it reports the finished share and the
    remaining time.

    `is_local`: whether the disk and the calls of a local directory are probed, too.
    """

    def __init__(self, report: ProbeReport, is_local: bool, clock: Clock = REAL) -> None:
        self._report, self._clock = report, clock
        self._usual_s = {name: USUAL_S[name] for name in (USUAL_S if is_local else REMOTE)}
        self._began_s = clock.monotonic_s()

    def of(self, name: str, work: Callable[[], Answer]) -> Answer:
        """Reports that the probe `name` begins, runs it, and returns its result."""
        names = list(self._usual_s)
        before_s = sum(self._usual_s[one] for one in names[: names.index(name)])
        total_s = sum(self._usual_s.values())
        spent_s = self._clock.monotonic_s() - self._began_s
        slowness = max(1.0, spent_s / before_s) if before_s else 1.0
        self._report(before_s, total_s, f"probing {name}", (total_s - before_s) * slowness)
        return work()
