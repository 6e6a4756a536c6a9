"""Description of the invented file system: a local directory with a ticket server in front of
it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "A directory behind a ticket server"
PARAMETERS = Parameters(
    Parameter("ticket_cpu", "Handing out a ticket", "s", "calibrated", 1e-5),
    Parameter("byte_cpu", "Moving a byte", "s/B", "calibrated", 3e-10),
)


def check(parameters: Mapping[str, Any], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns the violated rules as (key, reason). The list is always empty, because this file
    system has no rules for parameters and numbers of instances."""
    return []


def target(endpoint: Endpoint, parameters: Mapping[str, Any]) -> PosixTarget:
    """Returns a target of the load generator that makes POSIX calls in the directory."""
    return PosixTarget(root=endpoint.directory)


FACTS = Facts(
    title=TITLE,
    source="made up",
    roles=(
        Role("client", "client", "ClientNode"),
        Role("keeper", "metadata", "NameNode"),
        Role("shelf", "data", "DataNode"),
    ),
    parameters=PARAMETERS,
    access_keys=("directory", "testbed"),
    check=check,
    target=target,
)
