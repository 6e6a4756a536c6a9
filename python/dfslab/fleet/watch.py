"""What a load's controller hears while the load runs: when it began, what was done so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Seen(NamedTuple):
    """Operations of the timed part so far, and the longest of them since it was last told."""

    done: int = 0
    errors: int = 0
    latency_ns_sum: int = 0
    latency_ns_max: int = 0

    def then(self, later: Seen) -> Seen:
        """What is known once `later` was told, too."""
        return later._replace(latency_ns_max=max(self.latency_ns_max, later.latency_ns_max))


@dataclass(frozen=True)
class Watch:
    """Who wants to know. `started` is told the clients' first common start as CLOCK_MONOTONIC
    shows it here, `seen` what all places have done; `prepared` is called whenever all wait for
    each other (`run.turns`): before every phase, and after it where a plan holds."""

    started: Callable[[float], object] = lambda at_s: None
    seen: Callable[[Seen], object] = lambda seen: None
    prepared: Callable[[], object] = lambda: None

    def tell(self, places: Sequence[Any]) -> None:
        """Tell what all places (each has `seen`) have done, each longest operation once."""
        self.seen(together([place.seen for place in places]))
        for place in places:
            place.seen = place.seen._replace(latency_ns_max=0)


def together(parts: Sequence[Seen]) -> Seen:
    """What several places have done, as one."""
    if not parts:
        return Seen()
    counts, errors, sums, longest = zip(*parts, strict=True)
    return Seen(sum(counts), sum(errors), sum(sums), max(longest))
