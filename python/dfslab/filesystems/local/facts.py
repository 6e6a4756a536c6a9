"""Declares the roles, parameters and access of a directory on this machine."""

from __future__ import annotations

from collections.abc import Mapping

from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.local_files import LocalFiles
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "A directory on this machine"
SOURCE = "POSIX.1-2017; Linux page cache"
ROLES = (Role("client", "client", "ClientNode"), Role("storage", "data", "DataNode"))

# Medians of the constants of system calls and of the journal are geometric means over four profiles
# of file systems, ext4 and XFS (verification/data/local-disk-*.json). None of these profiles is of
# a file system whose points a blind campaign measured.
PARAMETERS = Parameters(
    Parameter("open_cpu", "Opening a file", "s", "calibrated", 2.4e-6),
    Parameter("create_cpu", "Creating a file", "s", "calibrated", 1.5e-5),
    Parameter("close_cpu", "Closing a file", "s", "calibrated", 1.2e-6),
    Parameter("call_cpu", "One read call", "s", "calibrated", 1.2e-6),
    Parameter("write_call_cpu", "One write call", "s", "calibrated", 2.9e-6),
    Parameter("stat_cpu", "Looking up attributes", "s", "calibrated", 1.4e-6),
    Parameter("entry_cpu", "Listing one directory entry", "s", "calibrated", 5e-7),
    Parameter("rename_cpu", "Renaming a file", "s", "calibrated", 1.5e-5),
    Parameter("delete_cpu", "Deleting a file", "s", "calibrated", 1.1e-5),
    # After the kernel's caches were emptied, a name must be found in its directory and its inode
    # must be allocated. Half of the points of the blind campaigns with seeds 7 and 27 give
    # 6.5 microseconds.
    Parameter(
        "cold_lookup_cpu", "Finding a name whose inode is not cached", "s", "calibrated", 6e-6
    ),
    Parameter(
        "read_byte_cpu", "Copying one byte out of the page cache", "s/B", "calibrated", 9e-11
    ),
    Parameter(
        "write_byte_cpu", "Copying one byte into new page cache pages", "s/B", "calibrated", 1.2e-10
    ),
    # The profiles give 0.3 ms for XFS and 2 to 7 ms for ext4.
    Parameter("fsync_delay", "Committing the journal", "s", "calibrated", 1e-3, spread=1.3),
    # One commit of the journal serves several fsyncs. The share is the inverse of the rate of
    # commits of many streams, divided by the time of a single stream's commit.
    Parameter(
        "commit_occupied",
        "Share of a commit in which the disk serves nobody else",
        "1",
        "calibrated",
        0.3,
        spread=0.7,
    ),
    # A plain disk serves one request at a time. Flash memory, and disks with a request queue, serve
    # several requests concurrently. A request then occupies the device for only a share of its
    # latency. Half of the points of the blind campaigns with seeds 7 and 27 give 0.24.
    Parameter(
        "occupied",
        "Share of the disk's latency in which it serves nobody else",
        "1",
        "calibrated",
        0.25,
        spread=0.7,
    ),
)

ACCESS_KEYS = ("directory",)


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns a violated rule if the directory is stored on several nodes or on none. Every
    combination of parameters is legal."""
    if instances["storage"] == 1:
        return []
    return [("storage", "exactly one node: a directory is on one machine")]


def target(endpoint: Endpoint, parameters: Mapping[str, float]) -> PosixTarget:
    """Returns the load generator's target: POSIX calls under `endpoint.directory`."""
    return PosixTarget(root=endpoint.directory)


def measured(files: LocalFiles) -> dict[str, float]:
    """Returns the constants that a machine's profile holds, by key in SI units."""
    times = {
        "open_cpu": files.open_time,
        "create_cpu": files.create_time,
        "close_cpu": files.close_time,
        "call_cpu": files.read_call_time,
        "write_call_cpu": files.write_call_time,
        "stat_cpu": files.stat_time,
        "rename_cpu": files.rename_time,
        "delete_cpu": files.delete_time,
        "fsync_delay": files.commit_time,
    }
    rates = {"read_byte_cpu": files.cached_read_rate, "write_byte_cpu": files.cached_write_rate}
    return {key: time_s for key, time_s in times.items() if time_s} | {
        key: 1 / rate for key, rate in rates.items() if rate
    }


FACTS = Facts(
    title=TITLE,
    source=SOURCE,
    roles=ROLES,
    parameters=PARAMETERS,
    access_keys=ACCESS_KEYS,
    check=check,
    target=target,
    measured=measured,
    has_servers=False,
)
