"""Measures this machine's hardware (memory, system calls, disk, network) with confidence intervals.

Each quantity is measured several times; its mean is reported with Student's t interval. The profile
is a deployment in TOML that a scenario can include unchanged, with the intervals as comments.
"""

from __future__ import annotations

import math
import mmap
import os
import platform
import random
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dfslab import quantiles
from dfslab.instruments.calibration import probe
from dfslab.method import CONFIDENCE, RunFailed
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.model import InputError
from dfslab.spec.units import text
from dfslab.testbeds.hosts import hardware

REPEATS = 5
ACCESSES, ACCESS_BYTES = 200, 4096
REPEATS_MOST = 1_000


@dataclass(frozen=True)
class Quantity:
    """One measured quantity: the mean and its confidence interval, in SI units."""

    name: str
    unit: str
    mean: float
    low: float
    high: float
    values: tuple[float, ...]

    def document(self) -> QuantityDocument:
        """Returns the quantity as a JSON document. The name is left out, because the profile has it
        as key.
        """
        return QuantityDocument(
            self.unit, self.mean, self.low, self.high, CONFIDENCE, list(self.values)
        )


@dataclass(frozen=True)
class QuantityDocument:
    """A measured quantity as JSON, in SI units.

    `confidence` is the probability with which the interval from `low` to `high` contains the true
    mean.
    """

    unit: str
    mean: float
    low: float
    high: float
    confidence: float
    values: list[float]


@dataclass(frozen=True)
class MachineDocument:
    """A machine's profile as JSON. `quantities` has each measured quantity by its name."""

    kernel: str
    processors: int | None
    quantities: dict[str, QuantityDocument]


def quantity(name: str, unit: str, values: Sequence[float]) -> Quantity:
    """Returns the mean of independent measurements of a positive quantity, and its confidence
    interval.
    """
    mean = statistics.fmean(values)
    reach = math.inf
    if len(values) > 1:
        sure = float(quantiles.student(0.5 + CONFIDENCE / 2, len(values) - 1))
        reach = sure * statistics.stdev(values) / math.sqrt(len(values))
    return Quantity(name, unit, mean, max(0.0, mean - reach), mean + reach, tuple(values))


class _Here:
    """This machine as both ends of a connection. The class has the interface of a testbed's
    host."""

    address = "127.0.0.1"

    def in_network(self, work: Callable[[], Any]) -> Any:
        """Runs `work` and returns its result.

        A real host would first enter another network namespace.
        """
        return work()


def access(path: Path, chance: random.Random, clock: Clock = REAL) -> float:
    """Returns the median time in seconds of a small direct read (O_DIRECT) at a random offset of a
    file.

    `chance` is the random number generator for the offsets.
    """
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        places = os.fstat(file).st_size // ACCESS_BYTES
        seconds = []
        with mmap.mmap(-1, ACCESS_BYTES) as buffer:
            for _ in range(ACCESSES):
                at = chance.randrange(places) * ACCESS_BYTES
                began = clock.monotonic_s()
                os.preadv(file, [buffer], at)
                seconds.append(clock.monotonic_s() - began)
    finally:
        os.close(file)
    return statistics.median(seconds)


def measure(
    directory: Path,
    repeats: int = REPEATS,
    report: Callable[..., None] = lambda *_: None,
    seed: int = 0,
) -> list[Quantity]:
    """Measures all quantities of this machine, each `repeats` times. `directory` is a folder on the
    disk to measure.

    Files that are created in `directory` are removed. `report` receives the progress.
    """
    check_repeats(repeats)
    if not directory.is_dir():
        raise InputError("--directory", str(directory), "is no directory")
    here: Any = _Here()
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix=".dfslab-calibrate-", dir=directory) as made:
        path = Path(made) / "data"
        kinds: list[tuple[str, str, Callable[[], float]]] = [
            ("memory_copy_rate", "B/s", probe.memory_copy),
            ("system_call", "s", probe.system_call),
            ("kept_read_rate", "B/s", lambda: probe.kept_reads(path)[0]),
            ("kept_read_call", "s", lambda: probe.kept_reads(path)[1]),
            ("disk_write_rate", "B/s", lambda: hardware.direct_write(path)),
            ("disk_read_rate", "B/s", lambda: hardware.direct_read(path)),
            ("disk_access", "s", lambda: access(path, chance)),
            ("loopback_rate", "B/s", lambda: hardware.stream(here, here)),
            ("loopback_round_trip", "s", lambda: hardware.round_trip(here, here)),
        ]
        return repeated(kinds, repeats, report, f"in {directory}")


def check_repeats(repeats: int) -> None:
    """Raises InputError if the number of repetitions is too small for an interval or too large."""
    if not 2 <= repeats <= REPEATS_MOST:
        raise InputError("--repeats", repeats, f"must be between 2 and {REPEATS_MOST}")


Kinds = Sequence[tuple[str, str, Callable[[], float]]]


def repeated(
    kinds: Kinds,
    repeats: int,
    report: Callable[..., None],
    where: str,
    done: int = 0,
    total: int = 0,
) -> list[Quantity]:
    """Measures every quantity of `kinds` `repeats` times. Returns the mean and interval of each. A
    kind is (name, unit, function that measures once).

    For progress reports: `done` of `total` measurements precede these, and `where` is the host that
    is measured.
    """
    found = []
    for at, (name, unit, work) in enumerate(kinds):
        values = []
        for repeat in range(repeats):
            report(done + at * repeats + repeat, total or len(kinds) * repeats, name)
            try:
                values.append(work())
            except OSError as error:
                reason = f"{error.strerror}; the directory must be on a disk with direct I/O"
                raise RunFailed(f"measuring {name} {where}: {reason}") from error
        found.append(quantity(name, unit, values))
    return found


def document(found: Sequence[Quantity]) -> MachineDocument:
    """Returns the quantities as a JSON profile."""
    quantities = {one.name: one.document() for one in found}
    return MachineDocument(platform.release(), os.cpu_count(), quantities)


def toml(found: Sequence[Quantity]) -> str:
    """Returns a deployment in TOML with one node, which has this machine's hardware.

    Comments give the confidence intervals.
    """
    by_name = {one.name: one for one in found}
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return "\n".join(
        [
            f"# Measured on kernel {platform.release()}; {len(found[0].values)} times each.",
            "[[deployment.node]]",
            'name = "calibrated"',
            f"cores = {os.cpu_count()}",
            f'memory = "{memory} B"',
            line("copy_rate", by_name["kept_read_rate"]),
            line("call_time", by_name["kept_read_call"]),
            "[deployment.node.disk]",
            line("read_rate", by_name["disk_read_rate"]),
            line("write_rate", by_name["disk_write_rate"]),
            line("latency", by_name["disk_access"]),
            "[deployment.node.adapter]",
            line("bandwidth", by_name["loopback_rate"]),
            "[deployment.network]",
            line("loopback_latency", by_name["loopback_round_trip"], 0.5),
            "",
        ]
    )


def line(key: str, one: Quantity, share: float = 1.0) -> str:
    """Returns one line of TOML that sets `key` to `share` times the quantity, with a comment that
    gives the confidence interval."""
    words = [text(value * share, one.unit) for value in (one.mean, one.low, one.high)]
    return f'{key} = "{words[0]}"  # {CONFIDENCE:.0%} between {words[1]} and {words[2]}'
