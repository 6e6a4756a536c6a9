"""What is known of NFS version 3: roles, parameters with sources, legal settings, access."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfslab.spec.filesystem import Role
from dfslab.spec.parameters import Parameter, Parameters

TITLE = "NFS version 3"
SOURCE = "RFC 1813; NFS-Ganesha 4 (user-space server), user-space client"
ROLES = (Role("client", "client", "ClientNode"), Role("server", "data", "NfsServer"))

PARAMETERS = Parameters(
    Parameter("rsize", "Bytes of one READ", "B", "filesystem", 2.0**20, "Pp2",
              "FSINFO rtpref; Ganesha MaxRead", minimum=512),
    Parameter("wsize", "Bytes of one WRITE", "B", "filesystem", 2.0**20, "",
              "FSINFO wtpref; Ganesha MaxWrite", minimum=512),
    Parameter("in_flight", "READs or WRITEs of one file on their way at once", "1",
              "filesystem", 1.0, "", "client", minimum=1),
    Parameter("stable", "WRITEs are on disk when answered (1: FILE_SYNC) or at COMMIT "
              "(0: UNSTABLE)", "1", "filesystem", 0.0, "", "RFC 1813 stable_how",
              choices=(0.0, 1.0)),
    Parameter("worker_count", "Server threads that answer requests", "1", "filesystem", 16.0,
              "Np5", "NFS_CORE_PARAM", minimum=1),
    Parameter("client_call_cpu", "Client time of one request", "s", "calibrated", 5e-5),
    Parameter("lookup_cpu", "Server time of a request that only reads", "s", "calibrated",
              5e-5),
    Parameter("update_cpu", "Server time of a request that changes metadata", "s",
              "calibrated", 1.5e-4),
    Parameter("data_cpu", "Server time of one READ, WRITE or COMMIT", "s", "calibrated", 8e-5),
    Parameter("entry_cpu", "Server time of one listed entry", "s", "calibrated", 3e-6),
    Parameter("client_byte_cpu", "Client time of a byte moved", "s/B", "calibrated", 8e-10),
    Parameter("server_byte_cpu", "Server time of a byte moved", "s/B", "calibrated", 8e-10),
)  # fmt: skip

# This description knows no bed: it measures a directory where an export is mounted.
ACCESS_KEYS = ("directory",)


def check(parameters: Mapping[str, Any], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """An export has one server; requests are counted."""
    counts = ("in_flight", "worker_count")
    wrong = [(key, "a whole number") for key in counts if parameters[key] % 1]
    if instances["server"] != 1:
        wrong.append(("server", "exactly one: an export has one server"))
    return wrong


def target(access: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The load generator's target: POSIX calls under a mounted export."""
    return {"kind": "posix", "root": access["directory"]}
