"""Declares the roles, parameters and layout rules of BeeGFS.

In this description, each storage server has exactly one target. The management service is deployed
but takes no part in operations, because clients contact it only when they mount. dfslab has no
testbed of BeeGFS, because there are no Debian packages of it. An existing mount is measured like
any POSIX mount.
"""

from __future__ import annotations

from collections.abc import Mapping

from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "BeeGFS (described and simulated)"
SOURCE = (
    "BeeGFS 7 documentation (architecture, striping, mirroring, client configuration); described "
    "and simulated; no packages exist on Debian; an existing mount works like any POSIX mount"
)
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("management", "metadata", "ManagementServer"),
    Role("metadata", "metadata", "MetadataServer"),
    Role("storage", "data", "StorageServer", instances=4),
)

PARAMETERS = Parameters(
    Parameter(
        "chunk_size",
        "Bytes of a file in a row on one target",
        "B",
        "filesystem",
        2.0**19,
        "Dap1",
        "beegfs-ctl --setpattern --chunksize",
        minimum=65536,
        purpose="block size",
    ),
    Parameter(
        "stripe_count",
        "Targets that a file is striped over",
        "1",
        "filesystem",
        4.0,
        "",
        "beegfs-ctl --setpattern --numtargets",
        minimum=1,
    ),
    Parameter(
        "mirrored",
        "Each chunk is on two buddies (1) or on one target (0)",
        "1",
        "filesystem",
        0.0,
        "Rp1",
        "beegfs-ctl --setpattern --pattern=buddymirror",
        minimum=0,
        purpose="mirror",
    ),
    Parameter(
        "cache_buffer",
        "Bytes that the client gathers before it asks a target",
        "B",
        "filesystem",
        2.0**19,
        "Pp2",
        "tuneFileCacheBufSize",
        minimum=0,
    ),
    Parameter(
        "file_block",
        "Bytes that a target reads or writes at a time",
        "B",
        "filesystem",
        131072.0,
        "",
        "tuneFileReadSize, tuneFileWriteSize",
        minimum=4096,
    ),
    Parameter(
        "worker_threads",
        "Worker threads of a metadata server",
        "1",
        "filesystem",
        8.0,
        "Np6",
        "tuneNumWorkers",
        minimum=1,
    ),
    Parameter("client_call_cpu", "Client time of one remote call", "s", "calibrated", 3e-5),
    Parameter(
        "lookup_cpu", "Metadata server time of a call that only reads", "s", "calibrated", 6e-5
    ),
    Parameter(
        "update_cpu",
        "Metadata server time of a call that changes the name space",
        "s",
        "calibrated",
        1.5e-4,
    ),
    Parameter("entry_cpu", "Metadata server time of one listed entry", "s", "calibrated", 2e-6),
    Parameter("storage_cpu", "Storage server time of one request", "s", "calibrated", 4e-5),
    Parameter(
        "commit", "Committing the journal of a target's local file system", "s", "calibrated", 2e-3
    ),
    Parameter("client_byte_cpu", "Client time of a byte moved", "s/B", "calibrated", 4e-10),
    Parameter(
        "storage_byte_cpu", "Storage server time of a byte moved", "s/B", "calibrated", 4e-10
    ),
)

ACCESS_KEYS = ("directory",)


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns one pair for each violated rule: the name of a parameter or role, and the requirement
    that it violates. For example, chunk sizes must be powers of two, the chunks of a file must be
    on different targets, and buddies must form pairs."""
    wrong = []
    count, targets = parameters["stripe_count"], instances["storage"]
    chunk_bytes = parameters["chunk_size"]
    if parameters["mirrored"] not in (0, 1):
        wrong.append(("mirrored", "0 or 1"))
    elif parameters["mirrored"] and targets % 2:
        wrong.append(("storage", "even, as each target has a buddy"))
    if count > targets:
        wrong.append(("stripe_count", f"at most the {targets} storage targets deployed"))
    elif parameters["mirrored"] and 2 * count > targets:
        wrong.append(("stripe_count", f"at most the {targets // 2} pairs of buddies deployed"))
    if count != int(count):
        wrong.append(("stripe_count", "a whole number"))
    if chunk_bytes != int(chunk_bytes) or int(chunk_bytes) & (int(chunk_bytes) - 1):
        wrong.append(("chunk_size", "a power of two"))
    return wrong


def target(endpoint: Endpoint, parameters: Mapping[str, float]) -> PosixTarget:
    """Returns the load generator's target: POSIX calls under an existing mount."""
    return PosixTarget(root=endpoint.directory)


def stored_copies(parameters: Mapping[str, float]) -> float:
    """Returns how many bytes the servers store for each byte of a file."""
    return 1.0 + parameters["mirrored"]


FACTS = Facts(
    title=TITLE,
    source=SOURCE,
    roles=ROLES,
    parameters=PARAMETERS,
    access_keys=ACCESS_KEYS,
    stored_copies=stored_copies,
    check=check,
    target=target,
    several_servers="each directory belongs to one metadata server, drawn at random",
    plan_position=5,
)
