"""The cost model of the advice from I/O counters. In this model, the I/O time of the slowest
process is the sum of a time for each call and a time for each byte.

The counters alone do not say how the I/O time divides into these two parts. The rate of the storage
targets is therefore drawn at random, and the time for each byte is computed from it. The remainder
of the I/O time, divided by the number of calls, is the time for each call. Every saving is a set of
values, one for each draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from dfslab.arrays import Floats
from dfslab.imports.applications.io_counters import DirectionCounters, IoCounters

# Number of random values that are drawn for each unknown quantity.
DRAWS = 128
# The rate of one storage target (disk group, OST), or of one process that reads or writes alone, in
# bytes per second. The constants are the median of the rate and the standard deviation of its
# natural logarithm.
TARGET_BYTES_PER_S = 1.5e9
TARGET_SD = 1.0
# The time in seconds that one large request takes in addition to the time for its bytes. The
# constants are the median of this time and the standard deviation of its natural logarithm.
REQUEST_S = 1e-3
REQUEST_SD = 1.0
# Time in seconds of a call that only changes the state of the process, such as a seek.
LOCAL_CALL_S = 1e-6
# Run-to-run variation of the I/O time: the standard deviation of ln(a / b), where a and b are the
# I/O times of two runs with the same program and input.
REPEAT_SD = 0.25
# Smallest size in bytes of a large request.
LARGE_BYTES = 1 << 20


def _radical_inverse(index: int, base: int) -> float:
    """Returns element `index` of the van der Corput sequence, an evenly spread sequence in 0 to
    1."""
    found, scale = 0.0, 1.0
    while index:
        index, digit = divmod(index, base)
        scale /= base
        found += digit * scale
    return found


def uniform(base: int) -> Floats:
    """Returns DRAWS evenly spread numbers between 0 and 1. Sequences for different primes `base`
    are nearly independent (Halton 1960)."""
    return np.array([_radical_inverse(index, base) for index in range(1, DRAWS + 1)])


def lognormal(median: float, sd: float, base: int, least: float = 0.0) -> Floats:
    """Returns DRAWS values of a log-normal distribution with the given `median`, truncated below
    `least`. `sd` is the standard deviation of the natural logarithm. `base` is a prime that selects
    the sequence of numbers; quantities that are drawn independently have different primes."""
    normal = NormalDist()
    below = normal.cdf(math.log(least / median) / sd) if least > 0 else 0.0
    below = min(below, 1 - 1e-6)
    quantiles = below + (1 - below) * uniform(base)
    return np.array(
        [max(least, median * math.exp(sd * normal.inv_cdf(one))) for one in quantiles.tolist()]
    )


@dataclass(frozen=True)
class DirectionCost:
    """The time that the slowest process spends in reads, or in writes.

    counters: sums of the counters over all processes. time_s: time of the slowest process in these
    calls. calls: number of these calls in the busiest process. size_bytes: bytes that these calls
    move. bytes_s, calls_s: the two parts of `time_s` for each draw. bytes_s is due to the bytes,
    and calls_s is due to the number and kind of calls.
    """

    name: str
    counters: DirectionCounters
    time_s: float
    calls: float
    size_bytes: float
    bytes_s: Floats
    calls_s: Floats


class IoCost:
    """The cost model of one log. All times are those of the slowest process, in seconds."""

    def __init__(self, counters: IoCounters) -> None:
        self.counters = counters
        self.time_s = counters.slowest_rank_s
        self.rank_share = self._rank_share()

    @property
    def is_shared(self) -> bool:
        """Whether several processes use the same files."""
        return self.counters.processes > 1 and self.counters.shared_files > 0

    @property
    def unit_bytes(self) -> int:
        """Size in bytes of a large request: a stripe, or 1 MiB if a stripe is smaller or
        unknown."""
        return max(LARGE_BYTES, self.counters.stripe_bytes)

    @property
    def targets(self) -> int:
        """Number of storage targets that work at the same time.

        If all processes share the files, they use one file after another, so only the targets of
        one file work at the same time. If each process has separate files, one file of each process
        is in use, so the targets of all these files work at the same time.
        """
        stripes = max(1, self.counters.stripe_count)
        if self.is_shared:
            return stripes
        return stripes * max(1, min(self.counters.files, self.counters.working_ranks))

    def _rank_share(self) -> float:
        """Returns the fraction of all bytes that the busiest process moves. If this fraction is not
        known, each working process is assumed to move the same number of bytes."""
        heaviest, total = self.counters.heaviest_rank_bytes, self.counters.size_bytes
        if heaviest and total:
            return heaviest / total
        return 1 / self.counters.working_ranks

    def _part_s(self, sum_s: float) -> float:
        """Returns the time in seconds that the slowest process spends in calls of one kind. All
        processes together spent `sum_s` seconds in these calls. The slowest process is assumed to
        divide its time among the kinds of calls in the same proportions as all processes
        together."""
        return self.time_s * sum_s / self.counters.sum_s if self.counters.sum_s else 0.0

    @cached_property
    def metadata_s(self) -> float:
        """Time of the slowest process in opens, closes, stats and seeks, in seconds."""
        return self._part_s(self.counters.metadata_s)

    @cached_property
    def target_rate(self) -> Floats:
        """Draws of the rate of one storage target in bytes per second. The bytes and times of the
        log imply a least rate, and no draw is below it."""
        data_s = self.time_s - self.metadata_s
        shown = self.counters.size_bytes / data_s / self.targets if data_s > 0 else 0.0
        return lognormal(TARGET_BYTES_PER_S, TARGET_SD, 2, shown)

    @cached_property
    def request_s(self) -> Floats:
        """Draws of the time in seconds that one large request takes in addition to the time for its
        bytes."""
        return lognormal(REQUEST_S, REQUEST_SD, 3)

    @cached_property
    def repeat(self) -> Floats:
        """Draws of the factor by which the I/O time differs when a run is repeated."""
        return lognormal(1.0, REPEAT_SD, 5)

    @cached_property
    def reads(self) -> DirectionCost:
        """The time of the slowest process in reads."""
        return self._direction("read", self.counters.reads)

    @cached_property
    def writes(self) -> DirectionCost:
        """The time of the slowest process in writes."""
        return self._direction("write", self.counters.writes)

    @property
    def directions(self) -> tuple[DirectionCost, ...]:
        """The costs of the reads and of the writes. A direction in which the application made no
        calls is left out."""
        return tuple(one for one in (self.reads, self.writes) if one.counters.calls)

    def _direction(self, name: str, counters: DirectionCounters) -> DirectionCost:
        time_s = self._part_s(counters.time_s)
        bytes_s = np.minimum(time_s, self.bytes_s(counters.size_bytes, self.targets))
        own = self.rank_share
        return DirectionCost(
            name,
            counters,
            time_s,
            calls=max(1.0, counters.calls * own),
            size_bytes=counters.size_bytes * own,
            bytes_s=bytes_s,
            calls_s=time_s - bytes_s,
        )

    def bytes_s(self, size_bytes: float, targets: float) -> Floats:
        """Returns draws of a time in seconds: all processes together move `size_bytes` bytes over
        `targets` storage targets in this time. A single process is at most as fast as one storage
        target."""
        alone = size_bytes * self.rank_share
        found: Floats = np.maximum(size_bytes / targets, alone) / self.target_rate
        return found

    def large_requests_s(self, one: DirectionCost) -> Floats:
        """Returns draws of the time in seconds that large requests cost the slowest process. The
        process is assumed to move all its bytes in large requests. The time for the bytes is not
        included. A large request costs at most as much as a call costs in the log.

        The requests of all processes to one storage target wait for each other. So the time of a
        request is multiplied by n^p, where n is the number of processes that use the target. The
        power p is drawn between 0 (requests are served simultaneously) and 1 (requests are served
        one after the other).
        """
        count = min(one.calls, max(1.0, one.size_bytes / self.unit_bytes))
        users = max(1.0, self.counters.working_ranks / self.targets)
        each: Floats = np.minimum(self.request_s * users ** uniform(11), one.calls_s / one.calls)
        return count * each
