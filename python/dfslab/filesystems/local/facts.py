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

PARAMETERS = Parameters(
    Parameter("open_cpu", "Opening a file", "s", "calibrated", 5e-6),
    Parameter("create_cpu", "Creating a file", "s", "calibrated", 2e-5),
    Parameter("close_cpu", "Closing a file", "s", "calibrated", 2e-6),
    Parameter("call_cpu", "One read or write call", "s", "calibrated", 1e-6),
    Parameter("stat_cpu", "Looking up attributes", "s", "calibrated", 2e-6),
    Parameter("entry_cpu", "Listing one directory entry", "s", "calibrated", 5e-7),
    Parameter("rename_cpu", "Renaming a file", "s", "calibrated", 1e-5),
    Parameter("delete_cpu", "Deleting a file", "s", "calibrated", 2e-5),
    Parameter(
        "read_byte_cpu", "Copying one byte out of the page cache", "s/B", "calibrated", 1.5e-10
    ),
    Parameter(
        "write_byte_cpu", "Copying one byte into new page cache pages", "s/B", "calibrated", 3.6e-10
    ),
    Parameter("fsync_delay", "Committing the journal", "s", "calibrated", 1e-3),
    # The share of a request's latency for which the request occupies the device. A plain disk
    # serves one request at a time, so the share is 1. Flash memory, and disks with a request queue,
    # serve several requests concurrently, so the share is smaller.
    Parameter(
        "occupied",
        "Share of the disk's latency in which it serves nobody else",
        "1",
        "calibrated",
        0.5,
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
    """Returns the values of calibrated constants that follow from the profile of a machine, by key,
    in SI units. `files` has the measurements of the profile. A constant per byte is the inverse of
    a measured rate."""
    times = {
        "open_cpu": files.open_time,
        "create_cpu": files.create_time,
        "close_cpu": files.close_time,
        "call_cpu": files.read_call_time,
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
