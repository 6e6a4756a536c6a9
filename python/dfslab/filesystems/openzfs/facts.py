"""Declares the roles, parameters and layout rules of OpenZFS.

dfslab has no testbed of OpenZFS. Debian has only the sources of OpenZFS, so an administrator must
build and load the kernel module. An existing pool is measured like any POSIX mount.

The number of the pool's disks is the value `disk.count` of the node with the role `pool`. This
number must be `vdevs` times the number of disks of one vdev.
"""

from __future__ import annotations

from collections.abc import Mapping

from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "OpenZFS on this machine (described and simulated; needs its kernel module)"
SOURCE = (
    "OpenZFS 2.2 manual pages zfsprops, zpoolconcepts, zfs(4); described and simulated; no built "
    "packages exist on Debian, a kernel module is needed; an existing mount works like any POSIX "
    "mount"
)
ROLES = (Role("client", "client", "ClientNode"), Role("pool", "data", "StoragePool"))

PARAMETERS = Parameters(
    Parameter(
        "record_size",
        "Largest block of a file",
        "B",
        "filesystem",
        131072.0,
        "Dap1",
        "recordsize",
        minimum=512,
        purpose="block size",
    ),
    Parameter(
        "data_disks",
        "Disks that a record's data is cut over (raidz), else 1",
        "1",
        "filesystem",
        1.0,
        "",
        "zpool create … raidz",
        minimum=1,
    ),
    Parameter(
        "parity_disks",
        "Parity disks of a raidz, else 0",
        "1",
        "filesystem",
        0.0,
        "",
        "zpool create … raidz1, raidz2, raidz3",
        minimum=0,
    ),
    Parameter(
        "mirrors",
        "Disks that hold the same data (mirror), else 1",
        "1",
        "filesystem",
        1.0,
        "Rp1",
        "zpool create … mirror",
        minimum=1,
        purpose="copies",
    ),
    Parameter(
        "vdevs",
        "Mirrors or raidz groups that share the data",
        "1",
        "filesystem",
        1.0,
        "",
        "zpoolconcepts, Virtual Devices",
        minimum=1,
    ),
    Parameter(
        "aggregation",
        "Bytes of neighbouring records in one disk request",
        "B",
        "filesystem",
        2.0**20,
        "Pp2",
        "zfs_vdev_aggregation_limit",
        minimum=4096,
    ),
    Parameter(
        "sector_size",
        "Smallest write to a disk",
        "B",
        "filesystem",
        4096.0,
        "",
        "ashift = 12",
        minimum=512,
    ),
    Parameter(
        "separate_log",
        "Intent log on a device of its own (1) or in the pool (0)",
        "1",
        "filesystem",
        0.0,
        "",
        "zpool add … log",
        minimum=0,
    ),
    Parameter(
        "log_rate",
        "Write rate of the separate log device",
        "B/s",
        "filesystem",
        1e9,
        "",
        "",
        minimum=1e6,
    ),
    Parameter(
        "log_latency",
        "Latency of the separate log device",
        "s",
        "filesystem",
        2e-5,
        "",
        "",
        minimum=0,
    ),
    Parameter("open_cpu", "Opening a file", "s", "calibrated", 8e-6),
    Parameter("update_cpu", "Changing the name space, in memory", "s", "calibrated", 4e-5),
    Parameter("close_cpu", "Closing a file", "s", "calibrated", 2e-6),
    Parameter("call_cpu", "One read or write call", "s", "calibrated", 2e-6),
    Parameter("stat_cpu", "Looking up attributes", "s", "calibrated", 3e-6),
    Parameter("entry_cpu", "Listing one directory entry", "s", "calibrated", 8e-7),
    Parameter(
        "copy_byte_cpu", "Copying one byte from or to the cache (ARC)", "s/B", "calibrated", 2e-10
    ),
    Parameter(
        "checksum_byte_cpu",
        "Checksum of one byte read from or written to disks",
        "s/B",
        "calibrated",
        2e-10,
    ),
    Parameter(
        "flush",
        "Flushing the write cache of the device that holds the log",
        "s",
        "calibrated",
        1e-3,
    ),
)

ACCESS_KEYS = ("directory",)


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns one pair for each violated rule: the name of a parameter or role, and what is
    required of it. For example, a vdev must be a mirror or a raidz with one to three parity disks,
    and record sizes must be powers of two."""
    wrong = []
    counts = ("data_disks", "parity_disks", "mirrors", "vdevs")
    wrong += [(k, "a whole number") for k in counts if parameters[k] != int(parameters[k])]
    if parameters["parity_disks"] > 3:
        wrong.append(("parity_disks", "at most 3 (raidz3)"))
    if parameters["data_disks"] > 1 and not parameters["parity_disks"]:
        wrong.append(("parity_disks", "1, 2 or 3 where data_disks is more than 1"))
    if parameters["mirrors"] > 1 and parameters["parity_disks"]:
        wrong.append(("mirrors", "1 in a raidz"))
    for key in ("record_size", "sector_size"):
        size_bytes = int(parameters[key])
        if size_bytes != parameters[key] or size_bytes & (size_bytes - 1):
            wrong.append((key, "a power of two"))
    if not parameters["sector_size"] <= parameters["record_size"] <= 2**24:
        wrong.append(("record_size", "between sector_size and 16 MiB"))
    if parameters["separate_log"] not in (0, 1):
        wrong.append(("separate_log", "0 or 1"))
    if instances["pool"] != 1:
        wrong.append(("pool", "exactly one pool is described"))
    return wrong


def target(endpoint: Endpoint, parameters: Mapping[str, float]) -> PosixTarget:
    """Returns the load generator's target: POSIX calls under an existing mount."""
    return PosixTarget(root=endpoint.directory)


FACTS = Facts(
    title=TITLE,
    source=SOURCE,
    roles=ROLES,
    parameters=PARAMETERS,
    access_keys=ACCESS_KEYS,
    check=check,
    target=target,
    has_servers=False,
)
