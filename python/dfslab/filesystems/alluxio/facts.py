"""Declares the roles, parameters (with sources) and access of Alluxio."""

from __future__ import annotations

from collections.abc import Mapping

from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "Alluxio over a local under-store or HDFS"
SOURCE = "Alluxio 2.9 documentation (architecture, caching, POSIX API)"
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("master", "metadata", "Master"),
    Role("worker", "data", "Worker"),
)

PARAMETERS = Parameters(
    Parameter(
        "block_size",
        "Most bytes of a block",
        "B",
        "filesystem",
        2.0**26,
        "Dap1",
        "alluxio.user.block.size.bytes.default",
        minimum=2.0**20,
        purpose="block size",
    ),
    Parameter(
        "chunk_size",
        "Bytes of one message of a stream",
        "B",
        "filesystem",
        2.0**20,
        "Pp2",
        "alluxio.user.streaming.reader.chunk.size.bytes",
        minimum=4096,
    ),
    Parameter(
        "max_read",
        "Most bytes of one read that the kernel asks of the FUSE process",
        "B",
        "filesystem",
        2.0**17,
        "",
        "max_read of libfuse, as Alluxio mounts it",
        minimum=4096,
    ),
    Parameter(
        "sync_read",
        "The kernel reads a file with one request at a time (1) or with several (0)",
        "1",
        "filesystem",
        0.0,
        "",
        "mount option sync_read of libfuse",
        choices=(0.0, 1.0),
        testbed_default=1.0,
    ),
    Parameter(
        "write_through",
        "Files go to the under-store and are read from it (1), or stay in workers' memory (0)",
        "1",
        "filesystem",
        0.0,
        "",
        "write type THROUGH and read type NO_CACHE",
        choices=(0.0, 1.0),
        daemons_only=True,
    ),
    Parameter(
        "under_hdfs",
        "The under-store is an HDFS with a DataNode on each worker's host (1), or a folder (0)",
        "1",
        "filesystem",
        0.0,
        choices=(0.0, 1.0),
        daemons_only=True,
    ),
    Parameter(
        "reopened",
        "Share of the kernel's reads that open their block again",
        "1",
        "calibrated",
        1.0,
        source="github.com/Alluxio/alluxio, issues 13206 and 16623",
        spread=0.7,
    ),
    # Each calibrated constant has a prior distribution, and the value given here is its median. The
    # values were fitted to measurements of randomly drawn configurations (`python -m
    # verification.blind --again 7 27`, where 7 and 27 are the seeds of the draws). Before the fit,
    # the time that other programs used was subtracted. The time of a FUSE request has an upper
    # limit, so that predictions agree with published times of sequential reads: 3 to 10 s for 1 GB.
    Parameter(
        "client_call_cpu",
        "Client time of one file operation (FUSE, Java client)",
        "s",
        "calibrated",
        8e-4,
    ),
    Parameter("lookup_cpu", "Master time of a call that only reads", "s", "calibrated", 2e-4),
    Parameter(
        "update_cpu",
        "Master time of a call that changes metadata and its journal",
        "s",
        "calibrated",
        9e-3,
    ),
    Parameter("entry_cpu", "Master time of one listed entry", "s", "calibrated", 1e-5),
    Parameter(
        "connect_cpu",
        "Worker time of opening a block (gRPC stream, Java)",
        "s",
        "calibrated",
        1.5e-3,
    ),
    Parameter("client_byte_cpu", "Client time of a byte moved", "s/B", "calibrated", 1.3e-9),
    Parameter("worker_byte_cpu", "Worker time of a byte moved", "s/B", "calibrated", 1.3e-9),
)

ACCESS_KEYS = ("testbed", "directory")


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns one pair for each violated rule: the name of a parameter or role, and the requirement
    that it violates. The only rule is that there is exactly one master."""
    return [] if instances["master"] == 1 else [("master", "exactly one master is described")]


def advice(message: str) -> str:
    """Returns advice for an error message of Alluxio's client; "" when there is none."""
    if " read" in message and "Input/output error" in message:
        return (
            "workers may have driven out what has no other copy: store less at a time, or give "
            "them more memory (a testbed's memory_tier)"
        )
    if "no_answer" in message or "no answer" in message:
        return (
            "calls on a mount by libfuse before 3.13 can block each other for ever: set "
            "alluxio.fuse.jnifuse.libfuse.version=3 and use libfuse 3.13 or newer"
        )
    return ""


def target(endpoint: Endpoint, parameters: Mapping[str, float]) -> PosixTarget:
    """Returns the load generator's target: POSIX calls under the mount."""
    return PosixTarget(root=endpoint.directory)


FACTS = Facts(
    title=TITLE,
    source=SOURCE,
    roles=ROLES,
    parameters=PARAMETERS,
    access_keys=ACCESS_KEYS,
    check=check,
    target=target,
    advice=advice,
)
