"""Short measurements of hardware: round trips, memory, and a local disk. An expectation is based on
them.

The operations of the file system are not measured. So an expectation is independent of the results
with which it is compared.
"""

from __future__ import annotations

import errno
import random
import socket
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dfslab.instruments.calibration import calibrate, disk_probe, file_calls, probe, sustained_disk
from dfslab.method import RunFailed
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.systems.local_files import LocalFiles
from dfslab.testbeds.hosts import hardware

TRIPS = 15
CONNECT_LIMIT_S = 2.0
REPEATS = 3
SEED = 1
SHARE_S, LEAST_SHARE = 1.0, 0.01
# The errors with which Linux refuses to open a file for direct I/O (open(2), O_DIRECT).
NO_DIRECT_IO = frozenset({errno.EINVAL, errno.EOPNOTSUPP})


@dataclass(frozen=True)
class DiskProbe:
    """What a local disk delivers to direct I/O: rates in bytes/s, and the time of a small read in
    seconds.
    """

    read_bytes_per_s: float
    write_bytes_per_s: float
    access_s: float


@dataclass(frozen=True)
class Probed:
    """The probed hardware of a client.

    round_trips_s: for each role, the median time in seconds of a TCP connection to each server
    process of the role. copy_bytes_per_s: the rate at which one core reads from the page cache.
    call_s: the seconds per call of such a read. disk: the probe of a local directory's disk; None
    for other places, or where direct I/O is refused. processor_share: the share of one processor
    that a thread gets while this machine does its other work. local_files: the measured costs of
    calls on a local directory; "not measured" for other places.
    """

    round_trips_s: Mapping[str, Sequence[float]] = field(default_factory=dict)
    copy_bytes_per_s: float = 0.0
    call_s: float = 0.0
    disk: DiskProbe | None = None
    processor_share: float = 1.0
    local_files: LocalFiles = field(default_factory=LocalFiles)


def processor_share(clock: Clock = REAL) -> float:
    """Returns the share of a processor that one thread of this process gets while this machine does
    its other work. The thread computes for SHARE_S seconds; the share is its processor time divided
    by the elapsed time, between LEAST_SHARE and 1. It includes the priority of this process and the
    limits of its control group, which the machine's load does not show."""
    began_s, used_s = clock.monotonic_s(), clock.processor_s()
    while clock.monotonic_s() < began_s + SHARE_S:
        pass
    share = (clock.processor_s() - used_s) / (clock.monotonic_s() - began_s)
    return min(1.0, max(LEAST_SHARE, share))


def round_trip_s(address: str, clock: Clock = REAL) -> float | None:
    """Returns the median number of seconds until a host accepts or refuses a TCP connection to
    "host:port". Returns None if the host does not answer or `address` has another form.
    """
    host, _, port = address.rpartition(":")
    times = []
    for _ in range(TRIPS):
        began = clock.monotonic_s()
        try:
            socket.create_connection((host, int(port)), CONNECT_LIMIT_S).close()
        except ConnectionRefusedError:
            # A refused connection takes one round trip, as an accepted one does.
            pass
        except (OSError, ValueError):
            return None
        times.append(clock.monotonic_s() - began)
    return statistics.median(times)


def round_trips(addresses: Mapping[str, Sequence[str]]) -> dict[str, list[float]]:
    """Returns for each role the round-trip times in seconds. There is one for each address of the
    role that answers. A role without such an address is left out."""
    found = {
        role: [trip for one in listed if (trip := round_trip_s(one)) is not None]
        for role, listed in addresses.items()
    }
    return {role: trips for role, trips in found.items() if trips}


def memory(directory: Path) -> tuple[float, float]:
    """Measures reads that the page cache answers. Returns the median of their rates in bytes/s and
    the median of the seconds per call. Files are created in `directory` and removed.
    """
    with tempfile.TemporaryDirectory(prefix=".dfslab-probe-", dir=directory) as made:
        rates, calls = zip(
            *(probe.kept_reads(Path(made) / "data") for _ in range(REPEATS)), strict=True
        )
    return statistics.median(rates), statistics.median(calls)


@contextmanager
def unless_direct_io_is_refused(directory: Path) -> Iterator[None]:
    """Returns a context that suppresses the error if the file system of `directory` refuses direct
    I/O, as file systems in memory do. Raises RunFailed for every other error of the operating
    system, such as a full or failing disk."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_DIRECT_IO:
            return
        reason = error.strerror or str(error) or type(error).__name__
        raise RunFailed(f"probing the disk of {directory}: {reason}") from error


def local_disk(directory: Path) -> DiskProbe | None:
    """Measures direct transfers to and from the disk of a directory. Returns None where direct I/O
    is refused. Raises RunFailed if the disk is full or fails.
    """
    chance = random.Random(SEED)
    with tempfile.TemporaryDirectory(prefix=".dfslab-probe-", dir=directory) as made:
        path = Path(made) / "data"

        def median(work: Callable[[], float]) -> float:
            return statistics.median(work() for _ in range(REPEATS))

        with unless_direct_io_is_refused(directory):
            written = median(lambda: hardware.direct_write(path))
            read = median(lambda: hardware.direct_read(path))
            access_s = median(lambda: disk_probe.in_random_order(path, chance))
            return DiskProbe(read, written, access_s)
    return None


def local_files(directory: Path) -> LocalFiles:
    """Measures the costs of calls on a local directory (the medians of REPEATS measurements), and
    requests to the disk below the directory (measured once). Where direct I/O is refused, the disk
    is not measured. All files are removed again. Raises RunFailed if the disk is full or fails."""
    with tempfile.TemporaryDirectory(prefix=".dfslab-probe-", dir=directory) as made:
        each = [file_calls.everything(Path(made)) for _ in range(REPEATS)]
        values = {name: statistics.median(one[name] for one in each) for name in file_calls.UNITS}
        with unless_direct_io_is_refused(directory):
            values |= sustained_disk.everything(Path(made) / "data", random.Random(SEED))
    return calibrate.local_files(values)
