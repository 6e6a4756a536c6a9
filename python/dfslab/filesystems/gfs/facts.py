"""Declares the roles, parameters and layout rules of GFS, from the only publication of the system
(Ghemawat 2003).

dfslab has no testbed of GFS, because there is no package of GFS. An existing mount is measured like
any POSIX mount.
"""

from __future__ import annotations

from collections.abc import Mapping

from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.memory import ObjectMemory
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "The Google File System (described and simulated)"
SOURCE = (
    "Ghemawat, Gobioff and Leung 2003; described and simulated; no packages exist on Debian; an "
    "existing mount works like any POSIX mount"
)
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("master", "metadata", "Master"),
    Role("chunkserver", "data", "Chunkserver", instances=3),
)

PARAMETERS = Parameters(
    Parameter(
        "chunk_size",
        "Chunk size",
        "B",
        "filesystem",
        2.0**26,
        "Dap1",
        "section 2.5",
        minimum=65536,
        purpose="block size",
    ),
    Parameter(
        "replication",
        "Replicas of a chunk, the length of the chain",
        "1",
        "filesystem",
        3.0,
        "Rp1",
        "section 2.3",
        minimum=1,
        purpose="copies",
    ),
    Parameter(
        "push_unit",
        "Bytes that a chunkserver has before it forwards them",
        "B",
        "filesystem",
        16384.0,
        "Pp2",
        "section 3.2: forwarding starts immediately",
        minimum=512,
    ),
    Parameter(
        "located_chunks",
        "Chunks whose locations one request brings and the client keeps",
        "1",
        "filesystem",
        10.0,
        "Pp1",
        "section 2.4",
        minimum=1,
    ),
    Parameter(
        "record_limit",
        "Largest appended record as a share of a chunk",
        "1",
        "filesystem",
        0.25,
        "",
        "section 3.3",
        minimum=0.001,
    ),
    Parameter(
        "lease_renewal",
        "Share of mutations that find no primary with a lease",
        "1",
        "filesystem",
        0.0,
        "",
        "section 3.1: leases last 60 s and are extended",
        minimum=0,
    ),
    Parameter(
        "master_threads",
        "Master threads that answer calls",
        "1",
        "filesystem",
        16.0,
        "Np6",
        "",
        minimum=1,
    ),
    Parameter("client_call_cpu", "Client time of one remote call", "s", "calibrated", 1e-4),
    Parameter("lookup_cpu", "Master time of a call that only reads", "s", "calibrated", 1e-4),
    Parameter(
        "update_cpu", "Master time of a call that changes the name space", "s", "calibrated", 2e-4
    ),
    Parameter("entry_cpu", "Master time of one listed entry", "s", "calibrated", 2e-6),
    Parameter(
        "log_flush",
        "Waiting for the operation log to be on disk, here and at replicas",
        "s",
        "calibrated",
        2e-3,
    ),
    Parameter("chunkserver_cpu", "Chunkserver time of one request", "s", "calibrated", 1e-4),
    Parameter("client_byte_cpu", "Client time of a byte moved", "s/B", "calibrated", 5e-10),
    Parameter(
        "chunkserver_byte_cpu",
        "Chunkserver time of a byte moved (copy, checksum)",
        "s/B",
        "calibrated",
        5e-10,
    ),
)

MEMORY = (
    ObjectMemory(
        "master",
        64,
        "Ghemawat 2003, 2.6.1: under 64 B a file name and a chunk; a lower bound of files that fit",
        64,
        "chunk_size",
    ),
)

ACCESS_KEYS = ("directory",)


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns one pair for each violated rule: the name of a parameter or role, and what is
    required of it. For example, the replicas of a chunk must be on different chunkservers, a record
    must fit into a chunk, and there must be one master."""
    wrong = []
    if parameters["replication"] > instances["chunkserver"]:
        allowed = f"at most the {instances['chunkserver']} chunkservers deployed"
        wrong.append(("replication", allowed))
    if parameters["replication"] != int(parameters["replication"]):
        wrong.append(("replication", "a whole number"))
    if parameters["chunk_size"] % 65536:
        wrong.append(("chunk_size", "a multiple of the 64 KiB checksum block"))
    shares = ("record_limit", "lease_renewal")
    wrong += [(key, "at most 1") for key in shares if parameters[key] > 1]
    if instances["master"] != 1:
        wrong.append(("master", "exactly one master is described"))
    return wrong


def target(endpoint: Endpoint, parameters: Mapping[str, float]) -> PosixTarget:
    """Returns the load generator's target: POSIX calls under an existing mount."""
    return PosixTarget(root=endpoint.directory)


def stored_copies(parameters: Mapping[str, float]) -> float:
    """Returns how many bytes the servers store for each byte of a file."""
    return parameters["replication"]


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
)
