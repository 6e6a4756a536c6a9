"""The buckets of recorded histograms of times.

The histograms of core/stats divide each power of two into 2^BUCKETS_AN_OCTAVE_BITS buckets of equal
width, so the lower bound of a bucket determines its width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

BUCKETS_AN_OCTAVE_BITS = 7
# Largest width of a bucket as a fraction of its lower bound. Buckets of 1 ns are exact.
RESOLUTION = 2.0**-BUCKETS_AN_OCTAVE_BITS


def width_ns(low_ns: int) -> int:
    """Returns the width in ns of the bucket that begins at `low_ns`."""
    return 1 << max(0, low_ns.bit_length() - 1 - BUCKETS_AN_OCTAVE_BITS)


def quantile_bounds_ns(buckets: Sequence[tuple[int, int]], share: float) -> tuple[int, int]:
    """Returns the bounds in ns of the bucket that contains a quantile, by the nearest-rank method.
    The upper bound is the lower bound of the next bucket.

    `buckets`: pairs (lower bound in ns, number of values) in ascending order; at least one value.
    `share`: the quantile's probability, such as 0.99.
    """
    rank = max(1, math.ceil(share * sum(count for _, count in buckets)))
    for low_ns, count in buckets:
        rank -= count
        if rank <= 0:
            return low_ns, low_ns + width_ns(low_ns)
    raise AssertionError("the rank exceeds the number of values")


def mean_bounds_ns(buckets: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Returns the smallest and the largest mean in ns that values in these buckets can have. There
    must be at least one value."""
    number = sum(count for _, count in buckets)
    low_ns = sum(low * count for low, count in buckets)
    spread_ns = sum((width_ns(low) - 1) * count for low, count in buckets)
    return low_ns / number, (low_ns + spread_ns) / number
