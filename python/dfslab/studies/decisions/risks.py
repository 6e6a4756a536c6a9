"""What a change of a scenario sacrifices, such as the durability of data, and the permissions that
such changes need before they are carried out."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab import discover
from dfslab.spec.environment import number
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.spec.systems.parameters import Parameter
from dfslab.spec.systems.stored_copies import protects_data

FEWER_COPIES = "data is lost with fewer failed nodes"
NOT_FORCED = "data that was written is lost if power fails"
# Permissions of the option `--may`. COPIES permits changes of the number of failures that the data
# survives. SYNC permits changes by which written data may no longer survive a power failure.
COPIES, SYNC = "copies", "sync"
PERMISSIONS = (COPIES, SYNC)
_WRITE_THROUGH = "write_through"


def check_permissions(may: Sequence[str]) -> None:
    """Raises InputError if a value of the option `--may` is unknown."""
    for one in may:
        if one not in PERMISSIONS:
            raise InputError("--may", one, f"must be one of {', '.join(PERMISSIONS)}")


def permissions_for(risk: str) -> set[str]:
    """Returns the permissions that a change needs. `risk`: what the change sacrifices, as
    `risk_of` returns it."""
    needed = {FEWER_COPIES: COPIES, NOT_FORCED: SYNC}
    return {permission for sacrifice, permission in needed.items() if sacrifice in risk}


def is_sync(parameter: Parameter) -> bool:
    """Returns whether a parameter says if written data is forced to disk."""
    words = parameter.key.split("_")
    return _WRITE_THROUGH in parameter.key or ("sync" in words and "read" not in words)


def risk_of(before: Scenario, after: Scenario) -> str:
    """Returns what is sacrificed if the configuration `before` becomes `after`; "" if nothing."""
    found: dict[str, None] = {}
    if before.workload.fsync and not after.workload.fsync:
        found[NOT_FORCED] = None
    parameters = discover.file_system(before.file_system.name).parameters
    for key, parameter in parameters.of_origin("filesystem").items():
        old = number(parameter, before.file_system.parameters.get(key))
        new = number(parameter, after.file_system.parameters.get(key))
        # Of n pieces of a file, any n - k may be lost if k of them hold data.
        protects_less = new > old if parameter.purpose == "data fragments" else new < old
        if protects_less and protects_data(parameter):
            found[FEWER_COPIES] = None
        if old and not new and is_sync(parameter):
            found[NOT_FORCED] = None
    return "; ".join(found)
