"""Measures this machine's hardware (memory, processor, disk, network) with confidence intervals.

Each quantity is measured several times. The profile has the mean of each quantity, with Student's t
interval as a comment. The profile is a deployment in TOML that a scenario can include unchanged. A
quantity without a key in deployments is also written as a comment.
"""

from __future__ import annotations

import os
import platform
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from dfslab.fleet import leftovers
from dfslab.instruments.calibration import (
    disk_probe,
    file_calls,
    network_probe,
    probe,
    sustained_disk,
)
from dfslab.instruments.calibration.dirty_limits import DirtyLimits, dirty_limits
from dfslab.instruments.calibration.quantities import (
    HardwareProbe,
    Quantity,
    QuantityDocument,
    Report,
    check_repeats,
    line,
    remark,
    repeated,
    single,
)
from dfslab.instruments.calibration.size_line import is_at_bound
from dfslab.spec.files.answering import is_directory
from dfslab.spec.files.outputs import check_writable
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.local_files import LocalFiles
from dfslab.spec.units import text
from dfslab.testbeds.hosts import hardware

REPEATS = 5
# If the measuring process occupies a core for more than this share of the time during concurrent
# reads, the process, and not the disk, may limit the rate.
OWN_SHARE_MOST = 0.5
Answer = TypeVar("Answer")
# The keys are those of a node's table `local_files`. The values are the names of the measured
# quantities from which these keys are set.
OF_LOCAL_FILES = {
    "open_time": "file_open",
    "close_time": "file_close",
    "create_time": "file_create",
    "stat_time": "file_stat",
    "rename_time": "file_rename",
    "delete_time": "file_delete",
    "read_call_time": "file_read_call",
    "write_call_time": "file_write_call",
    "cached_read_rate": "file_read_rate",
    "cached_write_rate": "file_write_rate",
    "overwrite_call_time": "file_overwrite_call",
    "cached_overwrite_rate": "file_overwrite_rate",
    "creates": "file_creates",
    "deletes": "file_deletes",
    "commit_time": "file_commit",
    "commit_rate": "file_commit_rate",
    "commits": "file_commits",
    "commits_rate": "file_commits_rate",
    "touch_rate": "memory_touch_rate",
    "small_read_time": "direct_read_small",
    "read_time": "direct_read",
    "read_rate": "direct_read_rate",
    "small_write_time": "direct_write_small",
    "write_time": "direct_write",
    "write_rate": "direct_write_rate",
    "requests": "direct_requests",
    "request_rate": "direct_request_rate",
}


@dataclass(frozen=True)
class MachineDocument:
    """A machine's profile as JSON. `quantities` has the measured quantities by name.

    `dirty` has two limits of dirty pages: at the first, the kernel begins to write out; at the
    second, it throttles writers. `window_bytes` is the largest send buffer of a TCP stream in
    bytes.
    """

    kernel: str
    processors: int | None
    quantities: dict[str, QuantityDocument]
    dirty: DirtyLimits
    window_bytes: int


@dataclass(frozen=True)
class ThisMachine:
    """This machine as an end of a network connection. In measurements of the loopback, this machine
    is both ends."""

    address: str = "127.0.0.1"

    def in_network(self, work: Callable[[], Answer]) -> Answer:
        """Runs `work` and returns its result. Hosts of a testbed run `work` in their network
        namespace; this machine has none to enter."""
        return work()


def measure(
    directory: Path, repeats: int = REPEATS, report: Report = lambda *_: None, seed: int = 0
) -> list[Quantity]:
    """Measures all quantities of this machine, each `repeats` times. `directory` is a folder on the
    disk to measure. `seed` is the seed of the random offsets of reads.

    Files that are created in `directory` are removed. `report` receives the progress.
    """
    check_repeats(repeats)
    if not is_directory(directory):
        raise InputError("--directory", str(directory), "is no directory")
    check_writable("--directory", directory)
    here, chance = ThisMachine(), random.Random(seed)
    with leftovers.probe_folder(directory) as made:
        path = made / "data"
        probes = [
            HardwareProbe(probe.units_of(path), lambda: probe.everything(path)),
            *disk_probes(path, chance),
            *local_probes(path, chance),
            single("loopback_rate", "B/s", lambda: hardware.stream(here, here)),
            single("loopback_round_trip", "s", lambda: hardware.round_trip(here, here)),
            single(
                "loopback_round_trip_loaded",
                "s",
                lambda: network_probe.loaded_round_trip(here, here),
            ),
        ]
        return repeated(probes, repeats, report, f"in {directory}")


def disk_probes(path: Path, chance: random.Random) -> list[HardwareProbe]:
    """Returns the probes of the disk on which the file `path` is. The first probe creates the file,
    and the other probes read it. `chance` draws the offsets of random reads.
    """

    def written() -> Mapping[str, float]:
        found = disk_probe.throttle(path)
        return {"disk_write_rate": found.rate, "disk_burst": found.burst_s}

    def at_depth(depth: int) -> HardwareProbe:
        name, share = f"disk_access_{depth}_in_flight", f"disk_access_{depth}_processor_share"

        def read() -> Mapping[str, float]:
            found = disk_probe.in_flight(path, depth, chance)
            return {name: found.read_s, share: found.processor_share}

        return HardwareProbe({name: "s", share: "1"}, read)

    return [
        HardwareProbe({"disk_write_rate": "B/s", "disk_burst": "s"}, written),
        single("disk_read_rate", "B/s", lambda: hardware.direct_read(path)),
        single("disk_access", "s", lambda: disk_probe.in_random_order(path, chance)),
        single("disk_access_in_order", "s", lambda: disk_probe.in_order(path)),
        *(at_depth(depth) for depth in disk_probe.DEPTHS),
    ]


def local_probes(path: Path, chance: random.Random) -> list[HardwareProbe]:
    """Returns the probes of the local file system on which the file `path` is. The probes measure
    the file system's calls, and also disk requests, from one stream and from many concurrent
    streams. `chance` draws the offsets of the requests.
    """
    return [
        HardwareProbe(file_calls.UNITS, lambda: file_calls.everything(path.parent)),
        HardwareProbe(sustained_disk.UNITS, lambda: sustained_disk.everything(path, chance)),
    ]


def local_files(values: Mapping[str, float]) -> LocalFiles:
    """Returns the table `local_files` of a node, set from the measured quantities of its local file
    system. `values` has the quantities in SI units by name. If a quantity is missing or not
    determined, its key keeps the default "not measured".
    """
    units = {**file_calls.UNITS, **sustained_disk.UNITS}
    known = {
        key: values[name]
        for key, name in OF_LOCAL_FILES.items()
        if name in values and not is_at_bound(values[name], units[name])
    }
    return LocalFiles().model_copy(update=known)


def local_lines(by_name: Mapping[str, Quantity]) -> list[str]:
    """Returns the lines of a node's TOML table `local_files`, with the quantities that were
    measured on the node's local file system. The list is empty if nothing was measured."""
    lines = [
        line(key, _typical(by_name[name]))
        for key, name in OF_LOCAL_FILES.items()
        if name in by_name
    ]
    return ["[deployment.node.local_files]", *lines] if lines else []


def _rate(by_name: Mapping[str, Quantity], mode: str) -> Quantity:
    """Returns the disk's rate in bytes per second; `mode` is "read" or "write". If the rate with
    several requests in flight was measured, it is returned. Otherwise, the rate with one request in
    flight is returned.
    """
    several = by_name.get(f"direct_{mode}_capacity")
    return by_name[f"disk_{mode}_rate"] if several is None else _typical(several)


def _typical(one: Quantity) -> Quantity:
    """Returns a quantity whose `mean` is the median of its measurements. The median is used because
    other work on the machine can make a single measurement of a disk many times as long.
    """
    return replace(one, mean=statistics.median(one.values))


def document(found: Sequence[Quantity]) -> MachineDocument:
    """Returns the quantities as a JSON profile."""
    quantities = {one.name: one.document() for one in found}
    return MachineDocument(
        platform.release(), os.cpu_count(), quantities, dirty_limits(), network_probe.window_bytes()
    )


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
            *dirty_lines(memory),
            *processor_remarks(by_name),
            "[deployment.node.disk]",
            line("read_rate", _rate(by_name, "read")),
            line("write_rate", _rate(by_name, "write")),
            line("latency", by_name["disk_access"]),
            *disk_remarks(by_name),
            *local_lines(by_name),
            "[deployment.node.adapter]",
            "# The loopback of this machine: no link to another host was measured.",
            line("bandwidth", by_name["loopback_rate"]),
            "[deployment.network]",
            line("loopback_latency", by_name["loopback_round_trip"], 0.5),
            remark("Round trip while a stream runs", by_name["loopback_round_trip_loaded"]),
            window_line(),
            "",
        ]
    )


def dirty_lines(memory_bytes: int) -> list[str]:
    """Returns the lines of TOML with the two limits of dirty pages, as shares of a node's
    memory."""
    dirty = dirty_limits()
    limits = {
        "dirty_background": (dirty.background_bytes, "the kernel begins to write out"),
        "dirty_limit": (dirty.limit_bytes, "writers wait"),
    }
    return [
        f"{key} = {size_bytes / memory_bytes:.4g}  # {meaning} at {text(size_bytes, 'B')}"
        for key, (size_bytes, meaning) in limits.items()
    ]


def window_line() -> str:
    """Returns the line of TOML that sets the largest window of a TCP stream in bytes. The window is
    limited by the kernel's setting tcp_wmem.
    """
    return f'window = "{network_probe.window_bytes()} B"  # the kernel\'s tcp_wmem'


def processor_remarks(by_name: Mapping[str, Quantity]) -> list[str]:
    """Returns comment lines of TOML with the processor's measured costs, such as the time of a
    system call. `by_name` has the measured quantities by name."""
    described = {
        "system_call": "The cheapest system call",
        "memory_copy_rate": "One core copies memory",
        "memory_read_rate": "One core reads memory",
        "memory_write_rate": "One core writes memory",
        "socket_message": "Processor time of a TCP message, both ends",
        "socket_byte": "Processor time of a byte over TCP, both ends",
        "fuse_request": "A request to the FUSE file system",
    }
    return [remark(words, by_name[name]) for name, words in described.items() if name in by_name]


def disk_remarks(by_name: Mapping[str, Quantity]) -> list[str]:
    """Returns the lines of TOML about a disk's burst and about its small reads.

    After a pause, a disk accepts some bytes faster than at its rate. The burst is the time that
    these bytes take at the disk's rate. The burst is written as a key only if its confidence
    interval excludes zero, otherwise as a comment. A burst that lasts longer than the measurement
    is not detected.
    """
    burst, in_order = by_name["disk_burst"], by_name["disk_access_in_order"]
    if burst.low > 0:
        lines = [line("burst", burst)]
    else:
        lines = [remark("No burst is certain; the disk exceeded its rate by a burst of", burst)]
    lines.append(remark("A small read in ascending order", in_order))
    for depth in disk_probe.DEPTHS:
        words = f"A small read in random order, {depth} in flight"
        share = by_name[f"disk_access_{depth}_processor_share"].mean
        if share > OWN_SHARE_MOST:
            words += f", at most (this measurement itself used {share:.0%} of a core)"
        lines.append(remark(words, by_name[f"disk_access_{depth}_in_flight"]))
    return lines
