"""Declares the roles, parameters and layout rules of zFS, which dfslab only simulates. Rodeh and
Teperman 2003 describe the system, a research project of IBM; no package of it exists.

zFS has no dedicated server machines. Every machine may run a front end with a part of the
cooperative cache, file managers, a lease manager and a transaction server. Data, directories and
the log of transactions are on object disks. The file system ZFS (`openzfs`) is another system.
"""

from __future__ import annotations

from collections.abc import Mapping

from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "zFS over object disks (described and simulated)"
SOURCE = (
    "Rodeh and Teperman 2003: zFS, a scalable distributed file system using object disks; "
    "described and simulated; no packages exist"
)
ROLES = (
    Role("client", "client", "FrontEnd"),
    Role("lease_manager", "metadata", "LeaseManager"),
    Role("transaction_server", "metadata", "TransactionServer"),
    Role("file_manager", "metadata", "FileManager"),
    Role("cache", "data", "CooperativeCache"),
    Role("object_disk", "data", "ObjectDisk", instances=3),
)

PARAMETERS = Parameters(
    Parameter(
        "request_size",
        "Bytes that a cache asks a file manager for at a time, with a lease on them",
        "B",
        "filesystem",
        131072.0,
        "Dap1",
        "assumed: the read-ahead of Linux",
        minimum=4096,
        purpose="block size",
    ),
    Parameter(
        "packet_size",
        "Bytes that a cache or an object disk sends at a time",
        "B",
        "filesystem",
        65536.0,
        "Pp2",
        "assumed",
        minimum=512,
    ),
    Parameter(
        "own_hits",
        "Share of warm requests that find their bytes in the client's own memory",
        "1",
        "filesystem",
        0.0,
        "",
        "assumed: another machine read the file before",
        minimum=0,
    ),
    Parameter(
        "other_hits",
        "Share of cold requests that another machine's memory answers instead of a disk",
        "1",
        "filesystem",
        0.0,
        "",
        "assumed: a cold file is in no memory",
        minimum=0,
    ),
    Parameter(
        "object_lease_misses",
        "Share of first requests of a file whose file manager has no lease on its object",
        "1",
        "filesystem",
        1.0,
        "Pp1",
        "assumed: a file manager is started when its file is opened",
        minimum=0,
    ),
    Parameter(
        "disk_lease_misses",
        "Share of object leases for which the lease manager has no lease on the object disk",
        "1",
        "filesystem",
        0.0,
        "",
        "assumed: the lease on a disk is renewed before it ends",
        minimum=0,
    ),
    Parameter(
        "revocations",
        "Share of write leases for which another machine's lease is revoked",
        "1",
        "filesystem",
        0.0,
        "",
        "assumed: clients write separate files",
        minimum=0,
    ),
    Parameter(
        "max_dirty",
        "Bytes a client may keep unwritten in its memory",
        "B",
        "filesystem",
        2.0**25,
        "",
        "assumed: as Lustre's clients keep for one target",
        minimum=0,
    ),
    Parameter(
        "log_bytes",
        "Bytes that a transaction logs on an object disk before it changes objects",
        "B",
        "filesystem",
        4096.0,
        "",
        "assumed: a page",
        minimum=512,
    ),
    Parameter(
        "manager_threads",
        "Threads of a file manager, lease manager or transaction server",
        "1",
        "filesystem",
        16.0,
        "Np6",
        "assumed",
        minimum=1,
    ),
    Parameter("client_call_cpu", "Client time of one remote call", "s", "calibrated", 5e-5),
    Parameter("lease_cpu", "Time of granting or revoking a lease", "s", "calibrated", 5e-5),
    Parameter("transaction_cpu", "Time of one distributed transaction", "s", "calibrated", 2e-4),
    Parameter("entry_cpu", "Client time of one listed entry", "s", "calibrated", 2e-6),
    Parameter("object_cpu", "Object disk time of one request", "s", "calibrated", 1e-4),
    Parameter("forward_cpu", "Time of a cache that sends its bytes on", "s", "calibrated", 5e-5),
    Parameter("client_byte_cpu", "Client time of a byte copied", "s/B", "calibrated", 5e-10),
    Parameter("sender_byte_cpu", "Cache or disk time of a byte", "s/B", "calibrated", 5e-10),
)

ACCESS_KEYS = ("directory",)
SEVERAL_SERVERS = "file managers are started where their files are used, and share the files"
SHARES = ("own_hits", "other_hits", "object_lease_misses", "disk_lease_misses", "revocations")


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns one pair for each violated rule: the name of a parameter or role, and what is
    required of it. A parameter that is a share must be at most 1, and a packet must not be larger
    than a request."""
    wrong = [(key, "at most 1") for key in SHARES if parameters[key] > 1]
    if parameters["packet_size"] > parameters["request_size"]:
        wrong.append(("packet_size", "at most request_size"))
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
    several_servers=SEVERAL_SERVERS,
)
