"""Declares the roles, parameters (with sources), legal layouts and access of CephFS."""

from __future__ import annotations

from collections.abc import Mapping

from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.memory import ObjectMemory
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "CephFS"
SOURCE = "Weil et al. 2006; Ceph 16 documentation (file layouts, pools, BlueStore, placement)"
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("mds", "metadata", "MetadataServer"),
    Role("osd", "data", "ObjectStore", instances=3),
)

PARAMETERS = Parameters(
    Parameter(
        "copies",
        "Object stores that hold a part of each object: replicas, or fragments with redundancy",
        "1",
        "filesystem",
        2.0,
        "Rp1",
        "osd_pool_default_size",
        minimum=1,
        purpose="copies",
    ),
    Parameter(
        "data_fragments",
        "Pieces an object is cut into (erasure code k), else 1",
        "1",
        "filesystem",
        1.0,
        "",
        "erasure-code-profile k",
        minimum=1,
        purpose="data fragments",
    ),
    Parameter(
        "object_size",
        "Most bytes of an object",
        "B",
        "filesystem",
        2.0**22,
        "Dap1",
        "ceph.dir.layout.object_size",
        minimum=65536,
        purpose="block size",
    ),
    Parameter(
        "stripe_unit",
        "Bytes in a row in one object",
        "B",
        "filesystem",
        2.0**22,
        "",
        "ceph.dir.layout.stripe_unit",
        minimum=65536,
    ),
    Parameter(
        "stripe_count",
        "Objects that a file is striped over at a time",
        "1",
        "filesystem",
        1.0,
        "",
        "ceph.dir.layout.stripe_count",
        minimum=1,
        daemons_only=True,
    ),
    Parameter(
        "placement_groups",
        "Placement groups of the data pool; few of them load the stores unevenly",
        "1",
        "filesystem",
        16.0,
        "",
        "osd pool create … pg_num",
        minimum=1,
    ),
    # Each calibrated constant has a prior distribution, and the value given here is its median. The
    # values were fitted to measurements of randomly drawn configurations (`python -m
    # verification.blind --again 7 27`, where 7 and 27 are the seeds of the draws). Before the fit,
    # the time that other programs used was subtracted.
    Parameter("client_call_cpu", "Client time of one FUSE request", "s", "calibrated", 2.9e-4),
    Parameter("client_entry_cpu", "Client time of one listed entry", "s", "calibrated", 1.7e-6),
    Parameter(
        "lookup_cpu", "Metadata server time of a request that only reads", "s", "calibrated", 1.1e-4
    ),
    Parameter(
        "update_cpu",
        "Metadata server time of a request that changes metadata",
        "s",
        "calibrated",
        2e-4,
    ),
    Parameter("entry_cpu", "Metadata server time of one listed entry", "s", "calibrated", 5e-6),
    Parameter("object_cpu", "Object store time of one object request", "s", "calibrated", 3.8e-4),
    Parameter("client_byte_cpu", "Client time of a byte moved", "s/B", "calibrated", 1e-9),
    Parameter(
        "store_byte_cpu",
        "Object store time of a byte moved (checksum, copies)",
        "s/B",
        "calibrated",
        1.5e-9,
    ),
)

MEMORY = (
    ObjectMemory(
        "mds",
        2000,
        "Ceph developers 2016: about 2 KB an inode in the cache, whose "
        "limit is two thirds of the process",
        usable=0.66,
        cached=True,
    ),
    ObjectMemory(
        "mds", 2700, "JuiceFS's comparison of 2023 implies about 2.7 KB", usable=0.66, cached=True
    ),
)

SEVERAL_SERVERS = "ranks: subtrees of directories are divided among the active MDS daemons"

ACCESS_KEYS = ("testbed", "directory")


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns one pair for each violated rule: the name of a parameter or role, and the requirement
    that it violates. For example, the copies or fragments of an object must be on different stores,
    and the stripe unit must divide the object size."""
    copies, fragments, stores = (
        parameters["copies"],
        parameters["data_fragments"],
        instances["osd"],
    )
    wrong = []
    if copies > stores:
        wrong.append(("copies", f"at most the {stores} osds deployed"))
    if fragments > 1 and fragments >= copies:
        wrong.append(("data_fragments", "fewer than copies"))
    if parameters["object_size"] % parameters["stripe_unit"]:
        wrong.append(("stripe_unit", "a divisor of object_size"))
    if instances["mds"] != 1:
        wrong.append(("mds", "exactly one active metadata server is described"))
    return wrong


def target(endpoint: Endpoint, parameters: Mapping[str, float]) -> PosixTarget:
    """Returns the load generator's target: POSIX calls under the mount."""
    return PosixTarget(root=endpoint.directory)


def stored_copies(parameters: Mapping[str, float]) -> float:
    """Returns how many bytes the servers store for each byte of a file."""
    return parameters["copies"] / parameters["data_fragments"]


FACTS = Facts(
    title=TITLE,
    source=SOURCE,
    roles=ROLES,
    parameters=PARAMETERS,
    access_keys=ACCESS_KEYS,
    stored_copies=stored_copies,
    check=check,
    target=target,
    memory=MEMORY,
    several_servers=SEVERAL_SERVERS,
    plan_position=4,
)
