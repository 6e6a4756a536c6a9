"""The settings that `dfslab tune` may change, with their legal values from the file system's
description."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dfslab import discover
from dfslab.spec.changes.change_language import apply, parse_change
from dfslab.spec.environment import number, parameters
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.spec.systems.parameters import Parameter, Purpose
from dfslab.spec.systems.stored_copies import protects_data
from dfslab.studies.decisions.actions import CandidateAction
from dfslab.studies.decisions.risks import COPIES, SYNC, check_permissions, is_sync
from dfslab.studies.trials.feasible import why_not

_DATA_FRAGMENTS: Purpose = "data fragments"
# The changes of a numeric setting that are tried: "x2" doubles the present value, "/2" halves it.
_STEPS = ("x2", "x4", "/2", "/4")
_RISKS = {
    COPIES: "fewer failures than before are enough to lose data",
    SYNC: "a power failure loses written data",
}


def settings_of(
    scenario: Scenario, may: Sequence[str], is_running: bool = False
) -> list[CandidateAction]:
    """Returns every legal change of one setting that can be made where the scenario runs.

    On a testbed that dfslab starts, these settings are the transfer size, `fsync` if it is on, and
    those parameters of the file system's description that the testbed can set. On a running testbed
    of the user (`is_running`), or in a directory or mount of the user, the settings are the
    transfer size and the number of clients. Changes of these two settings change nothing in the
    file system. A setting that needs a permission is included only if `may` has the permission.
    """
    check_permissions(may)
    found: dict[str, CandidateAction] = {}
    for text, declared in _texts(scenario, is_running):
        if declared and declared not in may:
            continue
        try:
            change = parse_change(text, scenario)
            changed = apply(scenario, [change])
        except InputError:
            # The value is illegal, such as half of an odd number of threads.
            continue
        risk = COPIES if _stored(changed) != _stored(scenario) else declared
        if risk and risk not in may:
            continue
        if change.distance and not why_not(changed, [change]):
            lost = _RISKS[risk] if risk and _sacrifices(scenario, changed) else ""
            found.setdefault(changed.toml(), CandidateAction((change,), lost))
    return list(found.values())


def _sacrifices(scenario: Scenario, changed: Scenario) -> bool:
    """Returns whether the changed scenario protects data less. The changed scenario protects data
    less in five cases:

    - The changed scenario no longer forces data to disk.
    - The servers store fewer bytes for each byte of a file.
    - A parameter of copies or forced writes is smaller.
    - The number of data fragments is larger, so that fewer fragments remain for parity.
    - A parameter of copies that declares no purpose has another value. Either the larger or the
      smaller value may protect less.
    """
    if scenario.workload.fsync and not changed.workload.fsync:
        return True
    if _stored(changed) < _stored(scenario):
        return True
    system = discover.file_system(scenario.file_system.name)
    for key, parameter in system.parameters.of_origin("filesystem").items():
        if _permission(parameter):
            before = number(parameter, scenario.file_system.parameters.get(key))
            after = number(parameter, changed.file_system.parameters.get(key))
            if not parameter.purpose and _permission(parameter) == COPIES and after != before:
                return True
            if after > before if parameter.purpose == _DATA_FRAGMENTS else after < before:
                return True
    return False


def _stored(scenario: Scenario) -> float:
    """Returns how many bytes the servers store for each byte of a file, as the file system's
    description states it."""
    system = discover.file_system(scenario.file_system.name)
    return system.stored_copies(parameters(scenario, system))


def _texts(scenario: Scenario, is_running: bool) -> Iterator[tuple[str, str]]:
    """Yields (change as text, permission that it needs; "" if none) for every setting and value."""
    yield from ((f"transfer size {step}", "") for step in _STEPS)
    if is_running or not scenario.file_system.access.testbed:
        yield from ((f"clients {step}", "") for step in _STEPS)
        return
    if scenario.workload.fsync:
        yield "fsync off", SYNC
    system = discover.file_system(scenario.file_system.name)
    for key, parameter in system.parameters.of_origin("filesystem").items():
        value = number(parameter, scenario.file_system.parameters.get(key))
        if not parameter.daemons_only:
            for change in _values(parameter, value):
                yield change, _permission(parameter)


def _permission(parameter: Parameter) -> str:
    if protects_data(parameter):
        return COPIES
    return SYNC if is_sync(parameter) else ""


def _values(parameter: Parameter, value: float) -> Iterator[str]:
    name = parameter.key.replace("_", " ")
    if parameter.choices:
        yield from (f"{name} {one:g}" for one in parameter.choices if one != value)
        return
    if _permission(parameter) == COPIES:
        yield from (f"{name} {step}" for step in ("+1", "-1"))
        return
    for step in _STEPS:
        new = value / float(step[1:]) if step[0] == "/" else value * float(step[1:])
        if new >= (parameter.minimum or 0.0):
            yield f"{name} {step}"
