"""What is known of PVFS: roles, parameters with sources, legal layouts, access."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfslab.spec.filesystem import Role
from dfslab.spec.parameters import Parameter, Parameters

TITLE = "PVFS"
SOURCE = "Nguyen & Apon 2012; Carns 2000"
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("manager", "metadata", "MetadataNode"),
    Role("server", "data", "DataNode", instances=4),
)

PARAMETERS = Parameters(
    Parameter("width", "I/O servers that a file is striped over", "1", "filesystem", 4.0, "",
              "pvfs pcount", minimum=1),
    Parameter("stripe_size", "Bytes on one server before the next", "B", "filesystem", 65536.0,
              "Pp1", "pvfs ssize", minimum=4096),
    Parameter("client_call_cpu", "Client time of one operation", "s", "calibrated", 5e-5),
    Parameter("manager_cpu", "Manager time of a lookup", "s", "calibrated", 1e-4),
    Parameter("update_cpu", "Manager time of an operation that changes metadata", "s",
              "calibrated", 3e-4),
    Parameter("entry_cpu", "Manager time of one listed entry", "s", "calibrated", 5e-6),
    Parameter("request_cpu", "Server time of one stripe", "s", "calibrated", 6e-5),
    Parameter("client_byte_cpu", "Client time of a byte moved", "s/B", "calibrated", 8e-10),
    Parameter("server_byte_cpu", "Server time of a byte moved", "s/B", "calibrated", 8e-10),
)  # fmt: skip

ACCESS_KEYS = ("directory",)


def check(parameters: Mapping[str, Any], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """A file cannot be wider than there are servers."""
    if parameters["width"] > instances["server"]:
        return [("width", f"at most the {instances['server']} servers deployed")]
    return []


def target(access: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The load generator's target: POSIX calls under a mounted volume."""
    return {"kind": "posix", "root": access["directory"]}
