"""Short measurements of hardware: round trips, memory, and a local disk. `dfslab expect` computes
the expected performance of a file system from these measurements.

The expected performance is later compared with the measured performance. The two must be
independent, so no operations of the file system are measured here.
"""

from __future__ import annotations

import errno
import math
import os
import random
import socket
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dfslab.fleet import leftovers
from dfslab.instruments.calibration import calibrate, disk_probe, file_calls, probe, sustained_disk
from dfslab.instruments.discovery.machine_load import MachineLoad
from dfslab.method import RunFailed
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.hardware.uncertainty import log_sd_of
from dfslab.spec.systems.local_files import LocalFiles
from dfslab.testbeds.hosts import hardware

TRIPS = 15
CONNECT_LIMIT_S = 2.0
REPEATS = 3
# Number of repetitions in one probe of the disk. The disk is probed twice: before and after the
# probe of the calls. A disturbance of some seconds affects only one of the two probes. The
# disturbance therefore shows as a difference between repetitions.
DISK_REPEATS = 2
# Only these disk rates are measured directly. The other rates follow from a line that is fitted to
# the times of requests of two sizes.
CAPACITIES = ("direct_read_capacity", "direct_write_capacity")
# The calls that several streams do together, and their words.
CHANGES = {"file_creates": "creations", "file_deletes": "deletions"}
# If the rate of several streams is below this share of the rate of one stream, the probe of the
# several streams was disturbed.
SLOWER_MOST = 0.8
SEED = 1
SHARE_S, LEAST_SHARE = 1.0, 0.01
# The errors with which Linux refuses to open a file for direct I/O (open(2), O_DIRECT).
NO_DIRECT_IO = frozenset({errno.EINVAL, errno.EOPNOTSUPP})


# The largest number of bytes that the probes of a local directory, or of another place, occupy at
# one time.
LOCAL_BYTES = max(hardware.DISK_FILE_BYTES, sustained_disk.FILE_BYTES, file_calls.DATA_BYTES)
OTHER_BYTES = probe.KEPT_BYTES


@dataclass(frozen=True)
class DiskProbe:
    """The results of a probe of a local disk with direct I/O: one value for each repetition.

    `reads_bytes_per_s`, `writes_bytes_per_s`: rates in bytes/s. `accesses_s`: times of a small read
    in seconds. No sequence is empty.
    """

    reads_bytes_per_s: Sequence[float]
    writes_bytes_per_s: Sequence[float]
    accesses_s: Sequence[float]

    @property
    def read_bytes_per_s(self) -> float:
        """The median rate of reads in bytes/s."""
        return statistics.median(self.reads_bytes_per_s)

    @property
    def write_bytes_per_s(self) -> float:
        """The median rate of writes in bytes/s."""
        return statistics.median(self.writes_bytes_per_s)

    @property
    def access_s(self) -> float:
        """The median time of a small read in seconds."""
        return statistics.median(self.accesses_s)

    @property
    def log_sd(self) -> float:
        """The disagreement of the repetitions: the standard deviation of ln(rate). The deviation is
        computed for the read rates and for the write rates, and the larger value is returned."""
        return max(log_sd(self.reads_bytes_per_s), log_sd(self.writes_bytes_per_s))

    def followed_by(self, later: DiskProbe | None) -> DiskProbe:
        """Returns this probe with the repetitions of the probe `later` added."""
        if later is None:
            return self
        return DiskProbe(
            (*self.reads_bytes_per_s, *later.reads_bytes_per_s),
            (*self.writes_bytes_per_s, *later.writes_bytes_per_s),
            (*self.accesses_s, *later.accesses_s),
        )


@dataclass(frozen=True)
class MemoryProbe:
    """The speed of reads from the page cache.

    `rates_bytes_per_s` has the rate in bytes/s of each repetition, and `calls_s` the seconds per
    call of each repetition. No sequence is empty."""

    rates_bytes_per_s: Sequence[float]
    calls_s: Sequence[float]


@dataclass(frozen=True)
class FilesProbe:
    """The measured costs of calls on a local directory: the medians of the repetitions.

    `calls_log_sd` and `disk_log_sd` state how much the repetitions differ, for the creations and
    deletions of several streams and for requests to the disk. Both values are standard deviations
    of natural logarithms. `disturbed` names the calls for which several streams were slower than
    one stream.
    """

    files: LocalFiles = field(default_factory=LocalFiles)
    calls_log_sd: float = 0.0
    disk_log_sd: float = 0.0
    disturbed: Sequence[str] = ()


def log_sd(values: Sequence[float]) -> float:
    """Returns the standard deviation of the natural logarithms of positive values; 0 for fewer than
    two values."""
    logs = [math.log(one) for one in values if one > 0]
    return statistics.stdev(logs) if len(logs) > 1 else 0.0


@dataclass(frozen=True)
class Probed:
    """The probed hardware of a client.

    - round_trips_s: for each role, the median times in seconds of TCP connections, one time for
      each server process of the role.
    - copy_bytes_per_s: rate at which one core reads from the page cache.
    - call_s: seconds per call of such a read.
    - disk: the probe of a local directory's disk; None for other places, or if direct I/O is
      refused.
    - processor_share: share of one processor that a thread gets while this machine does other work.
    - local_files: measured costs of calls on a local directory; "not measured" for other places.
    - memory_log_sd, disk_log_sd, calls_log_sd: disagreement of the repetitions of the probes of
      memory, disk and calls, as the standard deviation of natural logarithms.
    - disturbed: the calls for which several streams were slower than one stream.
    - load: how busy this machine was with other work.
    """

    round_trips_s: Mapping[str, Sequence[float]] = field(default_factory=dict)
    copy_bytes_per_s: float = 0.0
    call_s: float = 0.0
    disk: DiskProbe | None = None
    processor_share: float = 1.0
    local_files: LocalFiles = field(default_factory=LocalFiles)
    memory_log_sd: float = 0.0
    disk_log_sd: float = 0.0
    calls_log_sd: float = 0.0
    disturbed: Sequence[str] = ()
    load: MachineLoad = field(default_factory=MachineLoad)


def processor_share(clock: Clock = REAL) -> float:
    """Returns the share of a processor that one thread of this process gets while this machine does
    its other work.

    The thread computes for SHARE_S seconds. The share is its processor time divided by the elapsed
    time, limited to the range from LEAST_SHARE to 1. Unlike the machine's load, the share also
    reflects the priority of this process and the limits of its control group.
    """
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
    """Returns for each role a list of round-trip times in seconds, with one time for each address
    that answered. Roles without an answer are left out."""
    found = {
        role: [trip for one in listed if (trip := round_trip_s(one)) is not None]
        for role, listed in addresses.items()
    }
    return {role: trips for role, trips in found.items() if trips}


def memory(directory: Path) -> MemoryProbe:
    """Measures reads that the page cache answers, REPEATS times. Files are created in `directory`
    and removed.
    """
    with leftovers.probe_folder(directory) as made:
        rates, calls = zip(*(probe.kept_reads(made / "data") for _ in range(REPEATS)), strict=True)
    return MemoryProbe(rates, calls)


@contextmanager
def unless_direct_io_is_refused(directory: Path) -> Iterator[None]:
    """Returns a context that suppresses one error: that the file system of `directory` refuses
    direct I/O, as file systems in memory do.

    Every other error of the operating system, such as a full or failing disk, is raised as
    RunFailed.
    """
    try:
        yield
    except OSError as error:
        if error.errno in NO_DIRECT_IO:
            return
        reason = error.strerror or str(error) or type(error).__name__
        raise RunFailed(f"probing the disk of {directory}: {reason}") from error


def local_disk(directory: Path) -> DiskProbe | None:
    """Measures direct transfers to and from the disk of a directory, DISK_REPEATS times. Returns
    None if direct I/O is refused. Raises RunFailed if the disk is full or fails.
    """
    chance = random.Random(SEED)
    with leftovers.probe_folder(directory) as made:
        path = made / "data"

        def each(work: Callable[[], float]) -> list[float]:
            return [work() for _ in range(DISK_REPEATS)]

        with unless_direct_io_is_refused(directory):
            written = each(lambda: hardware.direct_write(path))
            read = each(lambda: hardware.direct_read(path))
            accesses_s = each(lambda: disk_probe.in_random_order(path, chance))
            return DiskProbe(read, written, accesses_s)
    return None


def local_files(directory: Path) -> FilesProbe:
    """Measures the costs of calls on a local directory, and of requests to its disk.

    The costs of calls are medians of REPEATS measurements, and the costs of requests medians of
    DISK_REPEATS measurements. If direct I/O is refused, the requests are not measured. All files
    are removed again. Raises RunFailed if the disk is full or fails.
    """
    of_disk: list[Mapping[str, float]] = []
    with leftovers.probe_folder(directory) as made:
        of_calls = [file_calls.everything(made) for _ in range(REPEATS)]
        with unless_direct_io_is_refused(directory):
            chance = random.Random(SEED)
            of_disk += [
                sustained_disk.everything(made / "data", chance) for _ in range(DISK_REPEATS)
            ]
    values = {**_medians(of_calls), **_medians(of_disk)}
    disk_sds = [log_sd([one[name] for one in of_disk]) for name in CAPACITIES if of_disk]
    changes = [_change(name, of_calls) for name in CHANGES]
    return FilesProbe(
        calibrate.local_files({**values, **{one.name: one.rate_per_s for one in changes}}),
        max(one.log_sd for one in changes),
        max(disk_sds, default=0.0),
        [CHANGES[one.name] for one in changes if one.is_disturbed],
    )


@dataclass(frozen=True)
class ChangeRate:
    """The rate of one call by several streams together. `log_sd`: standard deviation of the rate's
    natural logarithm. `is_disturbed`: whether the probe found the rate below that of one stream."""

    name: str
    rate_per_s: float
    log_sd: float
    is_disturbed: bool


def _change(name: str, measured: Sequence[Mapping[str, float]]) -> ChangeRate:
    """Returns the rate of a call of CHANGES over the repetitions.

    Several streams are not slower than one stream if nothing else disturbs them, because each
    stream has its own directory. If the probe found them slower by more than the factor
    SLOWER_MOST, the rate of one stream replaces theirs. The 90 % interval then contains the probed
    rate, and the rate of one stream on each processor.
    """
    rates = [one[name] for one in measured]
    rate = statistics.median(rates)
    alone = statistics.median(one[f"{name}_alone"] for one in measured)
    if rate >= SLOWER_MOST * alone:
        return ChangeRate(name, max(rate, alone), log_sd(rates), False)
    factor = max(alone / rate, float(os.cpu_count() or 1))
    return ChangeRate(name, alone, max(log_sd(rates), log_sd_of(factor)), True)


def _medians(measured: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Returns the median of each quantity over the repetitions; empty without repetitions."""
    names = measured[0] if measured else ()
    return {name: statistics.median(one[name] for one in measured) for name in names}
