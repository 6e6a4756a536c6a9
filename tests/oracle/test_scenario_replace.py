"""A scenario changed by parts equals the scenario that is dumped, edited and read again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from dfslab.spec.model import InputError, build
from dfslab.spec.scenario import Point, Scenario, read

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))
BY_NAME = {path.stem: path for path in SCENARIOS}
# Number of configurations of a large sweep that are compared, spread over the sweep.
MOST = 40


def edited(table, values):
    """A copy of the table with dotted keys set; an element of a list is found by its name."""
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
    """One configuration of the scenario, by editing the whole table."""
    return build(Scenario, edited(scenario.model_dump(mode="json", exclude={"sweep"}), values))


def naive_overrides(scenario, values):
    """The scenario with some keys set, by editing the whole table."""
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
    """The scenario's id: a digest of one table of all that determines the outcome."""
    table = scenario.model_dump(mode="json", include={"deployment", "file_system", "workload"})
    # Run folders of earlier versions are resumed, so the digest uses the key's first name.
    table["file_system"]["access"]["bed"] = table["file_system"]["access"].pop("testbed")
    return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()[:16]


def same(one, other):
    """Assert that two scenarios are equal field by field, in order and with types."""
    assert one == other
    assert one.model_dump_json() == other.model_dump_json()
    assert hash(one) == hash(other)


def outcome(work, *given):
    """The result of `work`, or its error, since a factor that a constraint names cannot be set."""
    try:
        return work(*given), ""
    except InputError as error:
        return None, str(error)


def configurations(scenario):
    """Labels of the grids' configurations, or the first and last levels of a design."""
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
        # Cached digests and texts are not part of a dumped scenario.
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
