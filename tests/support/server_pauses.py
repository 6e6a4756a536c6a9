"""The closed form for a server that pauses repeatedly, for example for garbage collection."""

from __future__ import annotations

import math


def paused(
    capacity_per_s: float, rate_per_s: float, share: float, pause_s: float
) -> tuple[float, float]:
    """Returns two values for a server that pauses repeatedly, for `pause_s` seconds each time: its
    capacity per second, and the extra mean wait in seconds.

    `capacity_per_s` is the capacity without pauses. `share` is the fraction of time in which the
    server pauses, for example for garbage collection. A request that arrives during a pause waits
    until the pause ends, and then for the queue that built up during the pause. The extra wait is
    infinite if `rate_per_s` is at least the capacity with pauses.
    """
    left_per_s = capacity_per_s * (1 - share)
    if rate_per_s >= left_per_s:
        return left_per_s, math.inf
    return left_per_s, share * pause_s / 2 / (1 - rate_per_s / left_per_s)
