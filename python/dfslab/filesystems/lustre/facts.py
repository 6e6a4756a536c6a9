"""Declares the roles, parameters and layout rules of Lustre.

dfslab has no testbed of Lustre, because there are no Debian packages of it. An existing mount is
measured like any POSIX mount. In this description, each object storage server has exactly one
target (OST), which is the disk of its node.
"""

from __future__ import annotations

from collections.abc import Mapping

from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.memory import ObjectMemory
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "Lustre (described and simulated)"
SOURCE = (
    "Lustre 2.15 operations manual; Wang et al. 2009, Understanding Lustre Filesystem Internals; "
    "described and simulated; no packages exist on Debian; an existing mount works like any POSIX "
    "mount"
)
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("mds", "metadata", "MetadataServer"),
    Role("oss", "data", "ObjectStorageServer", instances=4),
)

PARAMETERS = Parameters(
    Parameter(
        "stripe_size",
        "Bytes of a file in a row on one target",
        "B",
        "filesystem",
        2.0**20,
        "Dap1",
        "lfs setstripe -S",
        minimum=65536,
        purpose="block size",
    ),
    Parameter(
        "stripe_count",
        "Targets that a file is striped over",
        "1",
        "filesystem",
        1.0,
        "",
        "lfs setstripe -c",
        minimum=1,
    ),
    Parameter(
        "rpc_size",
        "Bytes of one bulk RPC",
        "B",
        "filesystem",
        2.0**22,
        "Pp2",
        "osc.*.max_pages_per_rpc = 1024",
        minimum=4096,
    ),
    Parameter(
        "max_rpcs_in_flight",
        "Bulk RPCs under way to one target",
        "1",
        "filesystem",
        8.0,
        "Pp1",
        "osc.*.max_rpcs_in_flight",
        minimum=1,
    ),
    Parameter(
        "max_dirty",
        "Bytes a client may keep unwritten for one target",
        "B",
        "filesystem",
        2.0**25,
        "",
        "osc.*.max_dirty_mb = 32",
        minimum=0,
    ),
    Parameter(
        "mds_threads",
        "Service threads of the metadata server",
        "1",
        "filesystem",
        64.0,
        "Np6",
        "mds.MDS.mdt.threads_max",
        minimum=1,
    ),
    Parameter("client_call_cpu", "Client time of one remote call", "s", "calibrated", 3e-5),
    Parameter(
        "intent_cpu",
        "Metadata server time of a lock with an intent that only reads",
        "s",
        "calibrated",
        6e-5,
    ),
    Parameter(
        "update_cpu",
        "Metadata server time of a change, journalled later",
        "s",
        "calibrated",
        1.2e-4,
    ),
    Parameter("entry_cpu", "Metadata server time of one listed entry", "s", "calibrated", 1e-6),
    Parameter(
        "lock_cpu",
        "Target time of an extent lock or a glimpse of the size",
        "s",
        "calibrated",
        3e-5,
    ),
    Parameter("rpc_cpu", "Target time of one bulk RPC", "s", "calibrated", 5e-5),
    Parameter("commit", "Committing a target's journal", "s", "calibrated", 2e-3),
    Parameter(
        "client_byte_cpu",
        "Client time of a byte moved (copy, checksum)",
        "s/B",
        "calibrated",
        4e-10,
    ),
    Parameter(
        "target_byte_cpu", "Target time of a byte moved (checksum)", "s/B", "calibrated", 2e-10
    ),
)

MEMORY = (
    ObjectMemory("mds", 2000, "Lustre manual: 2 KB a file with its lock", cached=True),
    ObjectMemory("mds", 1500, "Lustre manual: 1.5 KB a cached file without one", cached=True),
)
SEVERAL_SERVERS = "DNE: directories are placed on metadata targets, or striped over them"

ACCESS_KEYS = ("directory",)


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns one pair for each violated rule: the name of a parameter or role, and what is
    required of it. For example, the stripes of a file must be on different targets, the size of a
    stripe must be a multiple of 64 KiB, and there must be one metadata server."""
    wrong = []
    count = parameters["stripe_count"]
    if count > instances["oss"]:
        wrong.append(("stripe_count", f"at most the {instances['oss']} targets deployed"))
    if count != int(count):
        wrong.append(("stripe_count", "a whole number"))
    if parameters["stripe_size"] % 65536:
        wrong.append(("stripe_size", "a multiple of 64 KiB"))
    if parameters["rpc_size"] % 4096:
        wrong.append(("rpc_size", "a multiple of 4 KiB"))
    if instances["mds"] != 1:
        wrong.append(("mds", "exactly one metadata server is described"))
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
    memory=MEMORY,
    several_servers=SEVERAL_SERVERS,
)
