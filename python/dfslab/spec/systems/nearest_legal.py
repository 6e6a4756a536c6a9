"""Finds the numbers of servers, copies or stripes that a file system can have and that are nearest
to an illegal number."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dfslab.spec.systems.filesystem import FileSystem

# Largest distance from an illegal number at which a legal number is looked for.
WITHIN = 16


def nearest_legal(
    system: FileSystem, key: str, parameters: Mapping[str, float], instances: Mapping[str, int]
) -> str:
    """Returns the legal numbers that are next to an illegal number, as text, such as "copies = 1 or
    5, or 4 or 6 bricks"; "" if none is near.

    `key`: the parameter or role that is illegal. `parameters`, `instances`: the values of all
    parameters, and the number of processes of each role. Only one number is changed at a time.
    """
    found = []
    declared = system.parameters.find(key)
    if key in parameters and declared is not None and declared.unit == "1":
        least = max(1, int(declared.minimum or 1))

        def with_value(number: int) -> bool:
            is_choice = not declared.choices or number in declared.choices
            return is_choice and not system.illegal({**parameters, key: float(number)}, instances)

        if numbers := _around(parameters[key], least, with_value):
            found.append(f"{key} = {numbers}")
    for role in system.roles:
        if role.kind == "client" or role.name not in instances:
            continue

        def with_count(number: int, name: str = role.name) -> bool:
            return not system.illegal(parameters, {**instances, name: number})

        if numbers := _around(instances[role.name], 1, with_count):
            found.append(f"{numbers} {role.name}{'' if numbers == '1' else 's'}")
    return ", or ".join(found)


def _around(present: float, least: int, is_legal: Callable[[int], bool]) -> str:
    """Returns the nearest legal number below `present` and the nearest above it, as text such as
    "4 or 6". Tries only numbers that are at least `least` and differ from `present` by at most
    WITHIN. Returns "" if none of these numbers is legal."""
    start = int(present)
    ranges = (
        range(start - 1, max(least, start - WITHIN) - 1, -1),
        range(start + 1, start + WITHIN + 1),
    )
    nearest = [next((one for one in own if is_legal(one)), None) for own in ranges]
    return " or ".join(str(one) for one in nearest if one is not None)
