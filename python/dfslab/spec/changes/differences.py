"""Finds the differences between two configurations, and whether they are a single change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from dfslab.spec.changes.change import OF_LENGTH, ChangeKind, distance_of, kind_of
from dfslab.spec.design import LevelValue
from dfslab.spec.scenario import Scenario
from dfslab.spec.units import FACTORS, plainly

# Keys that define which workload is measured. If two configurations differ in one of these keys,
# the ratio of their rates is not the effect of a change of the system.
_OTHER_QUESTION = ("workload.name", "workload.cache", "workload.arrival")


def differences(one: Scenario, other: Scenario) -> dict[str, tuple[LevelValue, LevelValue]]:
    """Returns the dotted keys in which two configurations differ, each with its value in `one` and
    its value in `other`. Keys that only define how long the workload runs are left out."""
    first, second = settings_of(one), settings_of(other)
    return {
        key: (first.get(key, ""), second.get(key, ""))
        for key in {**first, **second}
        if first.get(key, "") != second.get(key, "") and key not in OF_LENGTH
    }


def change_between(one: Scenario, other: Scenario) -> tuple[ChangeKind, float] | None:
    """Returns (kind, distance) of the change that turns the configuration `one` into `other`. If
    several keys of one kind differ, the distance is the largest of their distances. Returns None in
    these cases: the configurations are equal; the differing keys have several kinds; the workload's
    name, cache or arrivals differ."""
    keys = differences(one, other)
    kinds = {kind_of(key) for key in keys}
    if len(kinds) != 1 or set(_OTHER_QUESTION) & set(keys):
        return None
    return kinds.pop(), max(_distance(*values) for values in keys.values())


def largest_difference(
    keys: Mapping[str, tuple[LevelValue, LevelValue]],
) -> tuple[str, tuple[LevelValue, LevelValue]]:
    """Returns (key, (value, other value)) for the key of `keys` whose two values have the largest
    distance."""
    return max(keys.items(), key=lambda item: _distance(*item[1]))


@lru_cache(maxsize=2048)
def settings_of(scenario: Scenario) -> dict[str, LevelValue]:
    """Returns all settings of a configuration's deployment, file system and workload by their
    dotted keys."""
    parts = {"deployment", "file_system", "workload"}
    return dict(_flat(scenario.model_dump(mode="json", include=parts)))


def _flat(table: object, path: str = "") -> Iterator[tuple[str, LevelValue]]:
    """Yields the dotted key and the value of every entry of nested tables. The key of an entry in a
    node group contains the group's name."""
    if isinstance(table, dict):
        for key, value in table.items():
            yield from _flat(value, f"{path}.{key}" if path else key)
    elif isinstance(table, list):
        for place, value in enumerate(table):
            name = value.get("name", place) if isinstance(value, dict) else place
            yield from _flat(value, f"{path}.{name}")
    elif isinstance(table, str | int | float):
        yield path, table


def _distance(old: LevelValue, new: LevelValue) -> float:
    return distance_of(_number(old), _number(new))


def _number(value: LevelValue) -> float:
    """Returns a value as a number, in SI units if it has a unit. Returns 0 for a word."""
    if isinstance(value, str):
        known = (plainly(value, unit) for unit in FACTORS)
        return next((one for one in known if one is not None), 0.0)
    return float(value)
