"""Measures direct requests (O_DIRECT) to one disk over a period long enough for a limit of bytes or
requests per second to take effect.

The quantities are the mean time of a request of a single stream, and the requests per second that
the disk serves when many requests are in flight.

A disk takes `fixed_s + bytes * byte_s` for a request. A disk with a limit of requests per second
takes the same time for all requests that are small enough. Therefore the line of a single stream is
measured between requests of MIDDLE_BYTES and LARGE_BYTES, and the time of a request of SMALL_BYTES
is a separate quantity. No request of the single stream takes less than this time.
"""

from __future__ import annotations

import math
import mmap
import os
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dfslab.instruments.calibration.size_line import SizeLine, line_through
from dfslab.spec.clock import REAL, Clock
from dfslab.testbeds.hosts.threads import threads

SMALL_BYTES, MIDDLE_BYTES, LARGE_BYTES = 4 << 10, 64 << 10, 256 << 10
IN_FLIGHT_BYTES = 64 << 10
IN_FLIGHT, LARGE_IN_FLIGHT = 16, 4
# Requests are measured for MEASURED_S seconds, after SKIPPED_S seconds in which they are not
# counted. A disk with a rate limit may serve the first requests after a pause without delay.
SKIPPED_S, MEASURED_S = 0.15, 0.35
FILE_BYTES = 256 << 20
UNITS = {
    "direct_read_small": "s",
    "direct_read": "s",
    "direct_read_rate": "B/s",
    "direct_write_small": "s",
    "direct_write": "s",
    "direct_write_rate": "B/s",
    "direct_requests": "1/s",
    "direct_request_rate": "B/s",
    "direct_read_capacity": "B/s",
    "direct_write_capacity": "B/s",
}


def everything(path: Path, chance: random.Random, clock: Clock = REAL) -> Mapping[str, float]:
    """Measures all quantities of UNITS once on the file `path`. If the file is smaller than
    FILE_BYTES, it is written first. `chance` draws the offsets of requests.
    """
    _filled(path)
    read = _line(path, os.O_RDONLY, 1, (MIDDLE_BYTES, LARGE_BYTES), chance, clock)
    written = _line(path, os.O_WRONLY, 1, (MIDDLE_BYTES, LARGE_BYTES), chance, clock)
    many = _line(path, os.O_RDONLY, IN_FLIGHT, (SMALL_BYTES, IN_FLIGHT_BYTES), chance, clock)
    return {
        "direct_read_small": request_s(path, os.O_RDONLY, 1, SMALL_BYTES, chance, clock),
        "direct_write_small": request_s(path, os.O_WRONLY, 1, SMALL_BYTES, chance, clock),
        "direct_read": read.fixed_s,
        "direct_read_rate": read.rate,
        "direct_write": written.fixed_s,
        "direct_write_rate": written.rate,
        "direct_requests": 1 / (many.fixed_s + SMALL_BYTES / many.rate),
        "direct_request_rate": many.rate,
        "direct_read_capacity": _capacity(path, os.O_RDONLY, chance, clock),
        "direct_write_capacity": _capacity(path, os.O_WRONLY, chance, clock),
    }


def _line(
    path: Path,
    flags: int,
    depth: int,
    sizes_bytes: tuple[int, int],
    chance: random.Random,
    clock: Clock,
) -> SizeLine:
    """Returns the line through the mean times of requests of the two sizes, the smaller one first,
    with `depth` of them in flight."""
    small, large = sizes_bytes
    small_s = request_s(path, flags, depth, small, chance, clock)
    large_s = request_s(path, flags, depth, large, chance, clock)
    return line_through(small, small_s, large, large_s)


def _capacity(path: Path, flags: int, chance: random.Random, clock: Clock) -> float:
    """Returns the bytes per second at which the disk serves large requests while several are in
    flight."""
    return LARGE_BYTES / request_s(path, flags, LARGE_IN_FLIGHT, LARGE_BYTES, chance, clock)


def request_s(
    path: Path, flags: int, depth: int, size_bytes: int, chance: random.Random, clock: Clock = REAL
) -> float:
    """Measures requests of `size_bytes` at random offsets while `depth` of them are in flight.
    Returns the seconds per request. Requests that end in the first SKIPPED_S seconds do not count
    (see `seconds_between`).

    A rate limiter of Linux admits all requests of one time slice in one batch and holds the next
    requests until the next slice. Therefore the measured time begins at the end of one request and
    ends at the end of a later request.
    """
    blocks = path.stat().st_size // size_bytes
    seeds = [chance.random() for _ in range(depth)]
    file = os.open(path, flags | os.O_DIRECT)
    move: Callable[[mmap.mmap, int], int] = (
        (lambda buffer, at: os.pwrite(file, buffer, at))
        if flags & os.O_WRONLY
        else (lambda buffer, at: os.preadv(file, [buffer], at))
    )
    begun_s = clock.monotonic_s() + SKIPPED_S
    end_s = begun_s + MEASURED_S

    def requests(seed: float) -> list[float]:
        own, ended_s = random.Random(seed), [-math.inf]
        with mmap.mmap(-1, size_bytes) as buffer:
            while ended_s[-1] < end_s:
                move(buffer, own.randrange(blocks) * size_bytes)
                ended_s.append(clock.monotonic_s())
        return ended_s

    try:
        with threads(depth) as pool:
            ended_s = sorted(one for each in pool.map(requests, seeds) for one in each)
    finally:
        os.close(file)
    return seconds_between([one for one in ended_s if one >= begun_s], depth)


def seconds_between(ended_s: Sequence[float], depth: int = 1) -> float:
    """Returns the mean seconds for which a request occupies the disk. `ended_s` has the sorted
    times at which requests ended while `depth` of them were in flight.

    With n requests, the mean is (ended_s[n - 1] - ended_s[depth - 1]) / (n - depth). The measured
    time begins when the first `depth` requests have ended, because a disk may end them at the same
    moment. Only the n - depth later requests count. If n is at most `depth`, the n requests are
    assumed to have taken MEASURED_S in total.
    """
    if len(ended_s) <= depth:
        return MEASURED_S / max(1, len(ended_s))
    return (ended_s[-1] - ended_s[depth - 1]) / (len(ended_s) - depth)


def _filled(path: Path) -> None:
    """Extends the file to FILE_BYTES if it is smaller, and forces it to disk."""
    have = path.stat().st_size if path.exists() else 0
    if have >= FILE_BYTES:
        return
    block = os.urandom(1 << 20)
    with path.open("ab") as file:
        for _ in range((FILE_BYTES - have) // len(block)):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
