"""Tests that keys of a scenario can be set directly. The result equals the scenario that is read
from a changed table of the original scenario."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Point, Scenario, read

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))
BY_NAME = {path.stem: path for path in SCENARIOS}
# Number of configurations of a large sweep that are compared. The compared configurations are
# spread over the sweep.
MOST = 40


def edited(table, values):
    """Returns a copy of the scenario's table with new values. The keys of `values` are dotted paths
    in the table. The part of a path that selects an element of a list is the element's `name`."""
    for key, value in values.items():
        place = table
        *path, last = key.split(".")
        for part in path:
            if isinstance(place, list):
                place = next(one for one in place if one["name"] == part)
            else:
                place = place.setdefault(part, {})
        place[last] = value
    return table


def naive_values(scenario, values):
    """Returns one configuration of the scenario, made by editing the scenario's whole table.
    `values` maps dotted keys to values.

    If `values` chooses one of several file systems, the entry of this file system first replaces
    the table `file_system` and the roles of the node groups.
    """
    table = scenario.model_dump(mode="json", exclude={"sweep", "systems"})
    chosen = scenario.systems.get(values.get("file_system.name", scenario.file_system.name))
    if chosen is not None:
        values = dict(values)
        name = values.pop("file_system.name", scenario.file_system.name)
        own = chosen.model_dump(mode="json")
        roles = own.pop("roles")
        groups = [one for one in table["deployment"]["node"] if one["name"] in roles]
        table["deployment"]["node"] = [{**one, "roles": roles[one["name"]]} for one in groups]
        table["file_system"] = {**own, "name": own["name"] or name}
    return build(Scenario, edited(table, values))


def naive_overrides(scenario, values):
    """Returns the scenario with some keys set, by editing its whole table. A key that the
    scenario's sweep varies gets the new value as its only level."""
    swept = {key for grid in scenario.sweep for key in grid}
    free = {key: value for key, value in values.items() if key not in swept}
    table = edited(scenario.model_dump(mode="json"), free)
    table["sweep"] = [
        {key: [values[key]] if key in values else options for key, options in grid.items()}
        for grid in scenario.sweep
    ]
    table["design"]["factor"] = [
        factor for factor in table["design"]["factor"] if not set(factor["keys"]) & set(values)
    ]
    table["judge"]["hold_out"] = [
        match for match in table["judge"]["hold_out"] if not set(match) & set(values)
    ]
    return build(Scenario, table)


def naive_id(scenario):
    """Returns the scenario's id by hashing a table of everything that determines the outcome:
    deployment, file system and workload."""
    table = scenario.model_dump(mode="json", include={"deployment", "file_system", "workload"})
    # The digest uses the key names of the first version: `bed` instead of `testbed`, and `zfs`
    # instead of `openzfs`. Otherwise run folders of earlier versions could not be resumed.
    table["file_system"]["name"] = table["file_system"]["name"].replace("openzfs", "zfs")
    table["file_system"]["access"]["bed"] = table["file_system"]["access"].pop("testbed")
    return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()[:16]


def same(one, other):
    """Asserts that two scenarios are equal in every field, in the types of the values, and in the
    order of keys."""
    assert one == other
    assert one.model_dump_json() == other.model_dump_json()
    assert hash(one) == hash(other)


def outcome(work, *given):
    """Calls `work` with the arguments `given`. Returns (result, "") if the call succeeds, and
    (None, error message) if it raises InputError."""
    try:
        return work(*given), ""
    except InputError as error:
        return None, str(error)


def configurations(scenario):
    """Returns the labels of some configurations of a scenario. For a scenario with an experimental
    design there are two: all factors at their first level, and all at their last. Otherwise the
    configurations are spread over the grid."""
    if scenario.design.factor:
        ends = [{}, {}]
        for factor in scenario.design.factor:
            ends[0] |= factor.values(factor.levels[0])
            ends[1] |= factor.values(factor.levels[-1])
        return ends
    labels = [point.labels for point in scenario.points()]
    return labels[:: max(1, len(labels) // MOST)]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_configurations_of_shipped_scenarios(path):
    scenario = read(path)
    for labels in configurations(scenario):
        mine, naive = scenario.with_values(labels), naive_values(scenario, labels)
        same(mine, naive)
        point = Point(scenario=mine, labels=labels)
        assert point.id == naive_id(naive)
        # The dump of a scenario contains no cached digests and texts, so reading it gives an equal
        # scenario that computes the same id.
        again = Point.model_validate_json(point.model_dump_json())
        assert again == Point(scenario=naive, labels=labels)
        assert again.id == point.id


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_shipped_scenarios_with_keys_set(path):
    scenario = read(path)
    first = configurations(scenario)[0]
    for values in (
        {},
        {"workload.clients": 7},
        {"run.repetitions": 2, "workload.clients": 3},
        first,
        {"name": "other", "workload.clients": 2},
        {"deployment.network.latency": "1 ms"},
    ):
        naive, refusal = outcome(naive_overrides, scenario, values)
        mine, said = outcome(Scenario.with_overrides, scenario, values)
        assert said == refusal
        if not refusal:
            same(mine, naive)
    table = scenario.model_dump(mode="json")
    rows = [first, {"workload.clients": 2}]
    table["sweep"] = [{key: [value] for key, value in row.items()} for row in rows]
    same(scenario.with_rows(rows), build(Scenario, table))
    table = edited(scenario.model_dump(mode="json"), {"run.methods": ["ideal"]})
    same(scenario.with_methods(["ideal"]), build(Scenario, table))
    table = edited(scenario.model_dump(mode="json"), {"design.budget": "60.0 s"})
    same(scenario.with_budget(60.0), build(Scenario, table))


@pytest.mark.parametrize(
    "values",
    [
        {"workload.nodes": -1},
        {"workload.nodes": "many"},
        {"deployment.network.latency": "3"},
        {"deployment.network.latancy": "3 s"},
        {"deployment.tolerance": 3.0},
        {"file_system.access.bad": True},
        {"run.repetitions": -1},
        {"run.nothing": 1},
        {"nothing.at_all": 1},
        {"nothing": 1},
        {"name": "/"},
        {"workload.rate": "1 B", "deployment.shared_cores": -1},
        {"design.kind": "wild"},
        {"judge.folds": 1},
    ],
    ids=str,
)
def test_the_same_is_wrong(values):
    scenario = read(BY_NAME["quickstart"])
    with pytest.raises(InputError) as naive:
        naive_overrides(scenario, values)
    with pytest.raises(InputError) as mine:
        scenario.with_overrides(values)
    assert str(mine.value) == str(naive.value)


def test_a_changed_copy_forgets_its_digest():
    point = read(BY_NAME["quickstart"]).points()[0]
    known = point.id, point.testbed, point.scenario.workload.canonical
    more = point.scenario.with_values({"workload.clients": 9, "deployment.shared_cores": 5})
    changed = point.model_copy(update={"scenario": more})
    found = changed.id, changed.testbed, more.workload.canonical
    assert not set(known) & set(found)
    assert changed.id == naive_id(more)
    assert (point.id, point.testbed, point.scenario.workload.canonical) == known
    assert point.model_copy() == point
