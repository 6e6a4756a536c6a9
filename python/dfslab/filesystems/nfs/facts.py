"""Declares the roles, parameters (with sources) and access of NFS."""

from __future__ import annotations

from collections.abc import Mapping

from dfslab.spec.streams.target import NfsTarget, PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "NFS version 3, user-space client"
SOURCE = "RFC 1813; NFS-Ganesha 4 documentation"
ROLES = (Role("client", "client", "ClientNode"), Role("server", "data", "Server"))

PARAMETERS = Parameters(
    Parameter(
        "request_size",
        "Most bytes of one READ or WRITE",
        "B",
        "filesystem",
        2.0**20,
        "Pp2",
        "FSINFO rtmax and wtmax of Ganesha",
        minimum=512,
    ),
    Parameter(
        "server_write_through",
        "Whether the server writes to disk before it answers a WRITE (1) or later (0)",
        "1",
        "filesystem",
        0.0,
        source="exports(5): sync, async; open(2): O_SYNC",
        choices=(0.0, 1.0),
    ),
    Parameter("client_call_cpu", "Client time of one remote call", "s", "calibrated", 3e-5),
    Parameter("lookup_cpu", "Server time of a call that only reads", "s", "calibrated", 5e-5),
    Parameter("update_cpu", "Server time of a call that changes metadata", "s", "calibrated", 1e-4),
    Parameter("entry_cpu", "Server time of one listed entry", "s", "calibrated", 2e-6),
    Parameter("data_cpu", "Server time of one READ or WRITE", "s", "calibrated", 5e-5),
    Parameter("client_byte_cpu", "Client time of a byte moved", "s/B", "calibrated", 6e-10),
    Parameter("server_byte_cpu", "Server time of a byte moved", "s/B", "calibrated", 6e-10),
)

ACCESS_KEYS = ("testbed", "directory")


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns one pair for each violated rule: the name of a parameter or role, and what is
    required of it. The only rule is that there is exactly one server."""
    return [] if instances["server"] == 1 else [("server", "exactly one server is described")]


def target(endpoint: Endpoint, parameters: Mapping[str, float]) -> NfsTarget | PosixTarget:
    """Returns the load generator's target: NFSv3 calls to a server, or POSIX calls under an
    existing mount."""
    if endpoint.server:
        return NfsTarget(server=endpoint.server, export=endpoint.export)
    return PosixTarget(root=endpoint.directory)


FACTS = Facts(
    title=TITLE,
    source=SOURCE,
    roles=ROLES,
    parameters=PARAMETERS,
    access_keys=ACCESS_KEYS,
    check=check,
    target=target,
)
