"""What a change of a scenario sacrifices, such as the durability of data."""

from __future__ import annotations

from dfslab import discover
from dfslab.spec.environment import number
from dfslab.spec.scenario import Scenario
from dfslab.spec.systems.parameters import Parameter
from dfslab.spec.systems.stored_copies import protects_data

FEWER_COPIES = "data is lost with fewer failed nodes"
NOT_FORCED = "data that was written is lost if power fails"


def is_sync(parameter: Parameter) -> bool:
    """Returns whether a parameter says if written data is forced to disk."""
    words = parameter.key.split("_")
    return "sync" in words and "read" not in words


def risk_of(before: Scenario, after: Scenario) -> str:
    """Returns what is sacrificed if the configuration `before` becomes `after`; "" if nothing."""
    found: dict[str, None] = {}
    if before.workload.fsync and not after.workload.fsync:
        found[NOT_FORCED] = None
    parameters = discover.file_system(before.file_system.name).parameters
    for key, parameter in parameters.of_origin("filesystem").items():
        old = number(parameter, before.file_system.parameters.get(key))
        new = number(parameter, after.file_system.parameters.get(key))
        if new < old and protects_data(parameter):
            found[FEWER_COPIES] = None
        if old and not new and is_sync(parameter):
            found[NOT_FORCED] = None
    return "; ".join(found)
