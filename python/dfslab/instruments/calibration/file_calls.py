"""Measures the calls on one local file system. The results are the processor seconds of single
calls, and the creations, deletions and fsyncs of files per second that several concurrent streams
achieve in total. The rate at which a process uses new memory is also measured.

All files are in new directories of the measured directory. These directories are removed at the
end.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dfslab.fleet import leftovers
from dfslab.instruments.calibration import concurrent_calls
from dfslab.instruments.calibration.concurrent_calls import FLAGS, STREAMS
from dfslab.instruments.calibration.size_line import line_through
from dfslab.spec.clock import REAL, Clock

# The number of new directories, and the number of files in each directory. The file system chooses
# a part of the disk for each directory, and the cost of creating a file depends on this part.
# Therefore several directories are measured.
DIRECTORIES, FILES = 4, 250
SMALL_BYTES, LARGE_BYTES, DATA_BYTES = 4 << 10, 64 << 10, 128 << 20
COMMITS = 50
# Sizes of the files that are forced to disk by fsync.
COMMITTED_BYTES = (4 << 10, 256 << 10)
# Bytes of new memory of which each page is touched for the first time.
TOUCHED_BYTES = 32 << 20
# The argument of a measured call: a path, or the number of an open file.
Item = TypeVar("Item", str, int)
UNITS = {
    "file_open": "s",
    "file_close": "s",
    "file_create": "s",
    "file_stat": "s",
    "file_rename": "s",
    "file_delete": "s",
    "file_overwrite_call": "s",
    "file_overwrite_rate": "B/s",
    "file_read_call": "s",
    "file_read_rate": "B/s",
    "file_write_call": "s",
    "file_write_rate": "B/s",
    **concurrent_calls.UNITS,
    "file_commit": "s",
    "file_commit_rate": "B/s",
    "file_commits": "1/s",
    "file_commits_rate": "B/s",
    "memory_touch_rate": "B/s",
}


def everything(directory: Path, clock: Clock = REAL) -> Mapping[str, float]:
    """Measures all quantities of UNITS once in new directories below `directory`."""
    with leftovers.probe_folder(directory) as folder:
        return {
            **names(folder, clock),
            **data(folder, clock),
            **concurrent_calls.measure(folder),
            **commits(folder, clock),
            "memory_touch_rate": touched(clock),
        }


def names(folder: Path, clock: Clock = REAL) -> dict[str, float]:
    """Measures the mean processor seconds of each call on empty files of several new
    directories."""
    totals: dict[str, float] = {}
    for number in range(DIRECTORIES):
        place = folder / f"names-{number}"
        place.mkdir()
        for name, seconds in _calls_s([f"{place}/{at}" for at in range(FILES)], clock).items():
            totals[f"file_{name}"] = totals.get(f"file_{name}", 0.0) + seconds
    return {name: max(1e-9, total / DIRECTORIES / FILES) for name, total in totals.items()}


def _calls_s(paths: Sequence[str], clock: Clock) -> dict[str, float]:
    """Creates and deletes empty files. Returns the processor seconds of each call, by its name,
    such as "open". The seconds are the sum over all `paths`, without the cost of the measuring
    loop.
    """

    def timed(call: Callable[[Item], object], items: Sequence[Item]) -> float:
        began = clock.processor_s()
        for item in items:
            call(item)
        return clock.processor_s() - began

    loop_s = timed(lambda path: path, paths)
    opened: list[int] = []
    found = {"create": timed(lambda path: opened.append(os.open(path, FLAGS)), paths)}
    found["close"] = timed(os.close, opened)
    opened = []
    found["open"] = timed(lambda path: opened.append(os.open(path, os.O_RDONLY)), paths)
    # The time to build the result object is subtracted from the time of `os.stat`. This time is
    # measured as the difference of two calls that take little time in the kernel: Python builds an
    # equal object for the result of `fstat`, and none for that of `getppid`.
    python_s = timed(os.fstat, opened) - timed(lambda _: os.getppid(), opened)
    found["stat"] = timed(os.stat, paths) - python_s
    for file in opened:
        os.close(file)
    found["rename"] = timed(lambda path: os.rename(path, f"{path}r"), paths)
    found["delete"] = timed(lambda path: os.unlink(f"{path}r"), paths)
    return {name: seconds - loop_s for name, seconds in found.items()}


def touched(clock: Clock = REAL) -> float:
    """Measures how fast a process uses memory for the first time. Returns bytes per second of
    processor time. On the first use of each page, the kernel must find free memory and clear it.
    """
    with mmap.mmap(-1, TOUCHED_BYTES) as memory:
        began = clock.processor_s()
        for at in range(0, TOUCHED_BYTES, mmap.PAGESIZE):
            memory[at] = 1
        return TOUCHED_BYTES / max(1e-9, clock.processor_s() - began)


def data(folder: Path, clock: Clock = REAL) -> dict[str, float]:
    """Measures writing new files to the page cache, reading them from there, and writing them
    again while their pages are in the cache.

    Each of the three is done once with small calls and once with large calls. The difference
    between the two times gives the processor time of a call without its bytes. The remaining time
    gives the rate at which the bytes are transferred. Each file is read only once, as applications
    do; a second read would be faster.
    """
    small, large = folder / "small", folder / "large"
    written = _line(
        _transferred_s(small, FLAGS, SMALL_BYTES, clock),
        _transferred_s(large, FLAGS, LARGE_BYTES, clock),
    )
    read = _line(
        _transferred_s(small, os.O_RDONLY, SMALL_BYTES, clock),
        _transferred_s(large, os.O_RDONLY, LARGE_BYTES, clock),
    )
    overwritten = _line(
        _transferred_s(small, os.O_WRONLY, SMALL_BYTES, clock),
        _transferred_s(large, os.O_WRONLY, LARGE_BYTES, clock),
    )
    small.unlink()
    large.unlink()
    return {
        "file_overwrite_call": overwritten.call_s,
        "file_overwrite_rate": overwritten.rate,
        "file_write_call": written.call_s,
        "file_write_rate": written.rate,
        "file_read_call": read.call_s,
        "file_read_rate": read.rate,
    }


@dataclass(frozen=True)
class TransferCost:
    """Processor seconds of a call without its bytes, and bytes per second of processor time."""

    call_s: float
    rate: float


def _line(small_s: float, large_s: float) -> TransferCost:
    """Returns the cost per call and per byte of transfers. The cost is computed from two
    measurements that transfer DATA_BYTES each. `small_s` and `large_s` are the processor seconds
    with small and with large calls.
    """
    few, many = DATA_BYTES // LARGE_BYTES, DATA_BYTES // SMALL_BYTES
    call_s = max(1e-9, (small_s - large_s) / (many - few))
    return TransferCost(call_s, DATA_BYTES / max(large_s / 2, large_s - few * call_s))


def _transferred_s(path: Path, flags: int, call_bytes: int, clock: Clock) -> float:
    """Writes or reads DATA_BYTES of a file in calls of `call_bytes`. Returns the processor seconds
    of these calls, without the cost of the measuring loop.
    """
    with mmap.mmap(-1, call_bytes) as buffer:
        buffer[:] = os.urandom(call_bytes)
        move = os.pwrite if flags & os.O_WRONLY else lambda f, b, at: os.preadv(f, [b], at)
        file = os.open(path, flags)
        try:
            idle_s = _loop_s(lambda f, b, at: at, file, buffer, clock)
            return max(1e-9, _loop_s(move, file, buffer, clock) - idle_s)
        finally:
            os.close(file)


def _loop_s(
    move: Callable[[int, mmap.mmap, int], int], file: int, buffer: mmap.mmap, clock: Clock
) -> float:
    """Returns the processor seconds of a loop that calls `move` for one buffer after the other
    until DATA_BYTES are moved."""
    began = clock.processor_s()
    for at in range(0, DATA_BYTES, len(buffer)):
        move(file, buffer, at)
    return clock.processor_s() - began


def _side_by_side_s(call: Callable[[str], object], lists: list[list[str]], clock: Clock) -> float:
    """Starts one thread for each list. The thread calls `call` with each member of the list.
    Returns the seconds until all threads have ended.

    After an interrupt, a thread completes its present call and then ends. Otherwise, a further call
    could create a file while the folder is being removed.
    """
    stopping = threading.Event()

    def work(paths: list[str]) -> None:
        for path in paths:
            if stopping.is_set():
                return
            call(path)

    with ThreadPoolExecutor(len(lists)) as pool:
        began = clock.monotonic_s()
        try:
            for _ in pool.map(work, lists):
                pass
        except BaseException:
            stopping.set()
            raise
        return clock.monotonic_s() - began


def commits(folder: Path, clock: Clock = REAL) -> dict[str, float]:
    """Measures how long it takes to create a file and force it to disk (fsync).

    The two file sizes of COMMITTED_BYTES are measured with one thread, and with STREAMS concurrent
    threads. A line through the times of both sizes gives two values: the time of a file without its
    bytes, and the rate of the bytes in bytes per second. For several threads, the time is returned
    as files per second.
    """
    small, large = COMMITTED_BYTES
    found = {}
    for streams, name in ((1, "file_commit"), (STREAMS, "file_commits")):
        small_s, large_s = (_commit_s(folder, streams, size, clock) for size in COMMITTED_BYTES)
        line = line_through(small, small_s, large, large_s)
        found[name] = line.fixed_s if streams == 1 else 1 / line.fixed_s
        found[f"{name}_rate"] = line.rate
    return found


def _commit_s(folder: Path, streams: int, size_bytes: int, clock: Clock) -> float:
    """Measures the fsync of new files of `size_bytes` while `streams` threads work concurrently.
    Returns the elapsed seconds divided by the number of files of all threads.
    """
    words = os.urandom(size_bytes)

    def written(path: str) -> None:
        file = os.open(path, FLAGS)
        try:
            os.write(file, words)
            os.fsync(file)
        finally:
            os.close(file)

    place = folder / f"commits-{streams}-{size_bytes}"
    place.mkdir()
    lists = [[f"{place}/{n}-{at}" for at in range(COMMITS)] for n in range(streams)]
    return _side_by_side_s(written, lists, clock) / streams / COMMITS
