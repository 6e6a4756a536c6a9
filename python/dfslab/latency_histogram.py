"""Histograms of latencies that are small enough to be reported several times a second. The load
generator makes these histograms (core/load/src/record/live.rs).

Each range of latencies from 2^n ns to 2^(n + 1) ns is divided into 16 buckets. All latencies of a
bucket are reported as the value in its middle, with an error of at most 3.2 %.

Histograms of several hosts or seconds are merged without error, by adding the counts of equal
buckets. Quantiles over several hosts must be computed from the merged histogram, because the
average of the hosts' quantiles is not a quantile.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

# The middle of a bucket, multiplied by this factor, is at least the largest value of the bucket.
TO_UPPER_END = 1.032
# A histogram as pairs (value in the middle of a bucket in ns, number of latencies in the bucket).
# The pairs are in ascending order. Empty buckets are left out.
Latencies = tuple[tuple[int, int], ...]


def merged(histograms: Iterable[Latencies]) -> Latencies:
    """Returns the histogram of all latencies of several histograms."""
    counts: Counter[int] = Counter()
    for one in histograms:
        for middle_ns, count in one:
            counts[middle_ns] += count
    return tuple(sorted(counts.items()))


def added(before: Latencies, after: Latencies) -> Latencies:
    """Returns the latencies that were added to a growing histogram between its readings `before`
    and `after`."""
    earlier = dict(before)
    counts = ((middle_ns, count - earlier.get(middle_ns, 0)) for middle_ns, count in after)
    return tuple((middle_ns, count) for middle_ns, count in counts if count > 0)


def longest_ns(histogram: Latencies, reported_ns: int) -> int:
    """Returns the longest latency of a histogram in ns.

    `reported_ns` is the exact longest latency since the previous report. This latency may be older
    than the histogram: it is not in the histogram if it exceeds the upper end of the highest
    bucket. The function then returns the middle of this bucket, and otherwise returns
    `reported_ns`.
    """
    if not histogram or reported_ns <= histogram[-1][0] * TO_UPPER_END:
        return reported_ns
    return histogram[-1][0]


def quantile_s(histogram: Latencies, share: float, longest_s: float | None = None) -> float | None:
    """Returns a quantile of latencies in seconds, by the nearest-rank method. Returns None for an
    empty histogram.

    `share` is the quantile's probability, such as 0.99. `longest_s` is the exact longest latency in
    seconds, or None if it is not known. The result is at most `longest_s`.
    """
    rank = math.ceil(share * sum(count for _, count in histogram))
    for middle_ns, count in histogram:
        rank -= count
        if rank <= 0:
            found_s = middle_ns * 1e-9
            return found_s if longest_s is None else min(found_s, longest_s)
    return None
