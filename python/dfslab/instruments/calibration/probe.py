"""Measures the work of the processor in one process: copying memory, system calls, messages of
sockets, page-cache hits, and requests to a FUSE file system.

The module is also a program, so that it can run within a host's limits. `probe FILE BYTES` prints
all results as JSON, and `probe --units FILE` prints their units. The program creates test files
next to FILE and removes them. If FILE is on a mounted file system, the client of that file system
reads the pages of the test files, as it does for an application.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dfslab.instruments.calibration import processor_probe
from dfslab.spec.clock import REAL, Clock

COPY_BYTES = 256 << 20
KEPT_BYTES = 64 << 20
FILE_BYTES = 8 << 20
BLOCK_BYTES = 1 << 20
READ_BYTES = 64 << 10
CALLS = 20_000


def memory_copy(size_bytes: int = COPY_BYTES, clock: Clock = REAL) -> float:
    """Returns the bytes per second at which one core copies memory. The default size exceeds any
    processor cache.

    Twice `size_bytes` of memory is in use. `size_bytes` is rounded down to whole MiB, but at least
    one MiB is copied.
    """
    source = bytearray(os.urandom(BLOCK_BYTES)) * max(1, size_bytes // BLOCK_BYTES)
    target = bytearray(len(source))
    began = clock.monotonic_s()
    target[:] = source
    return len(source) / (clock.monotonic_s() - began)


def _each_s(work: Callable[[], Any], clock: Clock) -> float:
    began = clock.monotonic_s()
    for _ in range(CALLS):
        work()
    return (clock.monotonic_s() - began) / CALLS


def system_call(clock: Clock = REAL) -> float:
    """Returns the seconds that the cheapest system call (getppid) takes.

    The overhead of the measuring loop is subtracted.
    """
    return max(1e-9, _each_s(os.getppid, clock) - _each_s(lambda: None, clock))


def kept_reads(
    path: Path, size_bytes: int = KEPT_BYTES, clock: Clock = REAL
) -> tuple[float, float]:
    """Measures page-cache hits in newly written files. Returns (rate in bytes per second, seconds
    per call).

    The names of the files are `path` with a number appended. Each file is opened, read once and
    closed, as applications do; a second read would be faster. The rate excludes the cost of the
    read calls: the time of an equal number of one-byte reads is subtracted.
    """
    made: list[Path] = []
    try:
        # Each file is added to `made` as soon as it has been created. If creating a file fails, the
        # earlier files can then be removed.
        made.extend(
            _written(path.with_name(f"{path.name}{at}"), min(size_bytes, FILE_BYTES))
            for at in range(max(1, size_bytes // FILE_BYTES))
        )
        call_s = _one_byte_s(made[0], clock)
        began = clock.monotonic_s()
        sizes = [_read_through(one) for one in made]
        took_s = clock.monotonic_s() - began
        calls = sum(-(-size // READ_BYTES) for size in sizes)
        # Copying the bytes takes more time than the calls themselves. If the calls seem to take
        # more than half of `took_s`, the measurement of `call_s` was disturbed. Then half of
        # `took_s` is used as the time of copying.
        return sum(sizes) / max(took_s / 2, took_s - calls * call_s), call_s
    finally:
        for one in made:
            one.unlink(missing_ok=True)


def _written(path: Path, size_bytes: int) -> Path:
    """Writes a new file and returns its path. The size of the file is `size_bytes`, rounded down to
    whole MiB, but at least one MiB.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        block = os.urandom(BLOCK_BYTES)
        for _ in range(max(1, size_bytes // BLOCK_BYTES)):
            os.write(file, block)
    finally:
        os.close(file)
    return path


def _one_byte_s(path: Path, clock: Clock) -> float:
    file, small = os.open(path, os.O_RDONLY), bytearray(1)
    try:
        called_s = _each_s(lambda: os.preadv(file, [small], 0), clock)
        return max(1e-9, called_s - _each_s(lambda: None, clock))
    finally:
        os.close(file)


def _read_through(path: Path) -> int:
    """Reads all bytes of a file in order. Returns the number of bytes."""
    into, size = bytearray(READ_BYTES), 0
    file = os.open(path, os.O_RDONLY)
    try:
        while got := os.preadv(file, [into], size):
            size += got
    finally:
        os.close(file)
    return size


def units_of(path: Path) -> dict[str, str]:
    """Returns the SI unit of each quantity that `everything` measures for `path`, by the name of
    the quantity. The quantity `fuse_request` is present only if `path` is on a FUSE file system.
    """
    units = {
        "memory_copy_rate": "B/s",
        "memory_read_rate": "B/s",
        "memory_write_rate": "B/s",
        "system_call": "s",
        "socket_message": "s",
        "socket_byte": "s",
        "kept_read_rate": "B/s",
        "kept_read_call": "s",
    }
    return units | ({"fuse_request": "s"} if _is_fuse(path.parent) else {})


def _is_fuse(directory: Path) -> bool:
    """Returns whether a directory is on a FUSE file system.

    The directory belongs to the mount point above it that has the longest path. If several file
    systems are mounted at this point, the last file system counts, because it hides the earlier
    file systems.
    """
    lines = (line.split() for line in Path("/proc/self/mounts").read_text("utf-8").splitlines())
    # The table of mounts writes a blank in a path as the four characters \040.
    kinds = {point.replace("\\040", " "): kind for _, point, kind, *_ in lines}
    above = [point for point in kinds if directory.resolve().is_relative_to(point)]
    return kinds[max(above, key=len)].startswith("fuse") if above else False


def everything(path: Path, size_bytes: int = COPY_BYTES) -> dict[str, float]:
    """Measures all quantities and returns their values in SI units by name.

    At most twice `size_bytes` of memory is in use at a time.
    """
    rate, call_s = kept_reads(path, min(size_bytes, KEPT_BYTES))
    socket_cost = processor_probe.socket_cost()
    found = {
        "memory_copy_rate": memory_copy(size_bytes),
        "memory_read_rate": processor_probe.memory_read(size_bytes),
        "memory_write_rate": processor_probe.memory_write(size_bytes),
        "system_call": system_call(),
        "socket_message": socket_cost.message_s,
        "socket_byte": socket_cost.byte_s,
        "kept_read_rate": rate,
        "kept_read_call": call_s,
    }
    if _is_fuse(path.parent):
        found["fuse_request"] = processor_probe.fuse_request(path.parent)
    return found


if __name__ == "__main__":
    if sys.argv[1] == "--units":
        print(json.dumps(units_of(Path(sys.argv[2]))))
    else:
        print(json.dumps(everything(Path(sys.argv[1]), int(sys.argv[2]))))
