"""Measures one disk with direct I/O (O_DIRECT).

The quantities are the write rate of the disk, the burst, and the time of a small read. The burst is
the number of bytes that the disk accepts beyond its write rate after a pause. The read is measured
at ascending offsets, at random offsets, and with several reads in flight.
"""

from __future__ import annotations

import mmap
import os
import random
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dfslab.spec.clock import REAL, Clock
from dfslab.testbeds.hosts import hardware
from dfslab.testbeds.hosts.threads import threads

READ_BYTES = 4096
READS = 200
# The time of a read is measured with one read in flight, and with each of these numbers of reads in
# flight.
DEPTHS = (4, 16)
# Seconds without requests, after which the token bucket of a rate-limited disk is full again.
PAUSE_S = 1.0


@dataclass(frozen=True)
class Throttle:
    """A disk's write rate, and the number of bytes that the disk accepts beyond this rate after a
    pause.

    `rate` is in bytes per second. `burst_bytes` is not 0 if the rate of the disk is limited by a
    token bucket, or if the disk has a write cache.
    """

    rate: float
    burst_bytes: float

    @property
    def burst_s(self) -> float:
        """Returns the burst in seconds: the time that `burst_bytes` take at the disk's rate."""
        return self.burst_bytes / self.rate


def throttle(path: Path, clock: Clock = REAL) -> Throttle:
    """Measures the write rate and the burst of the disk on which the file `path` is. The burst is
    the number of bytes that the disk accepts beyond its rate after a pause. The measurement begins
    with a pause of PAUSE_S seconds. The file is created if it is missing.
    """
    clock.sleep(PAUSE_S)
    line = hardware.write_line(path)
    return Throttle(line.rate, max(0.0, line.ahead_bytes))


def in_order(path: Path, clock: Clock = REAL) -> float:
    """Returns the median time in seconds of a direct read of READ_BYTES at ascending offsets."""
    return _median_s(path, (at * READ_BYTES for at in range(READS)), clock)


def in_random_order(path: Path, chance: random.Random, clock: Clock = REAL) -> float:
    """Returns the median time in seconds of a direct read of READ_BYTES at random offsets, which
    `chance` draws."""
    return _median_s(path, _offsets(path, READS, chance), clock)


@dataclass(frozen=True)
class InFlight:
    """Direct reads while several of them are in flight.

    `read_s` is the mean time of a read in seconds. `processor_share` is the share of the elapsed
    time in which this process occupied a core. If this share is near 1, the rate was limited by
    this process, not by the disk.
    """

    read_s: float
    processor_share: float


def in_flight(path: Path, depth: int, chance: random.Random, clock: Clock = REAL) -> InFlight:
    """Measures direct reads of READ_BYTES at random offsets while `depth` of them are in flight.

    The mean time follows from Little's law: `depth` times the duration of the measurement, divided
    by the number of reads. On a disk with `depth` independent channels, this mean equals the time
    of a read that is alone in flight.
    """
    each = max(1, READS // depth)
    lists = [list(_offsets(path, each, chance)) for _ in range(depth)]
    with _opened(path) as read, threads(depth) as pool:
        began, used = clock.monotonic_s(), clock.processor_s()
        for done in [pool.submit(_all, read, offsets) for offsets in lists]:
            done.result()
        took_s, used_s = clock.monotonic_s() - began, clock.processor_s() - used
    return InFlight(took_s / each, used_s / took_s)


def _all(read: Callable[[int, mmap.mmap], int], offsets: list[int]) -> None:
    with mmap.mmap(-1, READ_BYTES) as buffer:
        for at in offsets:
            read(at, buffer)


def _median_s(path: Path, offsets: Iterator[int], clock: Clock) -> float:
    seconds = []
    with _opened(path) as read, mmap.mmap(-1, READ_BYTES) as buffer:
        for at in offsets:
            began = clock.monotonic_s()
            read(at, buffer)
            seconds.append(clock.monotonic_s() - began)
    return statistics.median(seconds)


def _offsets(path: Path, count: int, chance: random.Random) -> Iterator[int]:
    blocks = path.stat().st_size // READ_BYTES
    return (chance.randrange(blocks) * READ_BYTES for _ in range(count))


@contextmanager
def _opened(path: Path) -> Iterator[Callable[[int, mmap.mmap], int]]:
    """Opens a file for direct reads. Yields a function with the arguments (offset, buffer). The
    function reads one block at the offset into the buffer and returns the number of read bytes.
    """
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        yield lambda at, buffer: os.preadv(file, [buffer], at)
    finally:
        os.close(file)
