"""Tests of scenarios: reading and writing them as TOML, grids of configurations, held-out
configurations, and a reference file with all keys."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from dfslab import discover
from dfslab.spec import units
from dfslab.spec.check import check, read_checked
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario, read
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_shipped_scenarios_are_right(path):
    scenario = read_checked(path)
    assert scenario.points()


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_toml_out_is_toml_in(path):
    scenario = read(path)
    again = build(Scenario, tomllib.loads(scenario.toml()))
    assert again == scenario
    assert [p.id for p in again.points()] == [p.id for p in scenario.points()]


def _leaves(table, path=()):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        elif isinstance(value, list) and value and isinstance(value[0], dict) and key == "node":
            yield from _leaves(value[0], (*path, key))
        else:
            yield (*path, key), value


def test_reference_has_every_key_with_its_default():
    path = ROOT / "scenarios" / "reference.toml"
    written = dict(_leaves(tomllib.loads(path.read_text())))
    minimal = {
        "name": "reference",
        "deployment": {"node": [{"roles": {"client": 1, "storage": 1}}]},
        "file_system": {"name": "local"},
        "workload": {"name": "sequential_read"},
        "sweep": [{"workload.file_size": ["1 MiB"]}],
    }
    defaults = build(Scenario, minimal)
    table = defaults.model_dump(mode="json")
    own = discover.workload("sequential_read").parameters()
    table["workload"].update(own.model_dump(mode="json"))
    # Two values are left out of the text of a scenario: a congestion window of the default size,
    # and an unknown power. If they were written, the identifiers of configurations would differ
    # from those of earlier versions.
    table["deployment"]["node"][0]["power"] = "0 W"
    window_bytes = defaults.deployment.network.window
    table["deployment"]["network"]["window"] = f"{window_bytes:.0f} B"
    expected = dict(_leaves(table))
    assert set(written) == set(expected)
    assert build(Scenario, tomllib.loads(path.read_text())).run == defaults.run
    for key, value in expected.items():
        same = written[key] == value or _same_quantity(written[key], value)
        assert same, f"{key}: {written[key]} is not the default {value}"


def _same_quantity(written, default):
    for unit in ("B", "s", "B/s", "Hz"):
        try:
            a, b = units.parse(str(written), unit), units.parse(str(default), unit)
        except ValueError:
            continue
        return a == pytest.approx(b)
    return False


def test_reference_explains_every_key():
    for line in (ROOT / "scenarios" / "reference.toml").read_text().splitlines():
        is_key = "=" in line and not line.lstrip().startswith("#") and not line.startswith('"')
        assert not is_key or "# " in line, line


def test_grids_are_united_and_each_configuration_comes_once():
    scenario = read(ROOT / "scenarios" / "quickstart.toml")
    points = scenario.points()
    assert len(points) == len({p.id for p in points}) == 2 * 5 * 2 + 3 * 2
    held = [p for p in points if p.held_out]
    assert len(held) == 2 * 2 + 2 + 1
    assert all(not p.scenario.sweep for p in points)


def test_overrides_narrow_a_grid():
    scenario = read(ROOT / "scenarios" / "quickstart.toml")
    narrowed = scenario.with_overrides({"workload.clients": 2, "run.seed": 9})
    assert {p.labels["workload.clients"] for p in narrowed.points()} == {2}
    assert narrowed.run.seed == 9


@given(st.floats(1e-9, 1e15), st.sampled_from(["B", "s", "B/s", "Hz"]))
def test_exact_text_reads_back(value, unit):
    assert units.parse(units.exact(value, unit), unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("64 MiB", "B", 2**26),
        ("64 KB", "B", 64000),
        ("1 Gbit/s", "B/s", 1.25e8),
        ("0.5 ms", "s", 5e-4),
        ("2.4 GHz", "Hz", 2.4e9),
        ("60 MiB/s", "B/s", 60 * 2**20),
    ],
)
def test_units_as_people_write_them(text, unit, value):
    assert units.parse(text, unit) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("5", "s"),
        ("5 MiB", "s"),
        ("5 s", "B"),
        ("abc", "B"),
        ("", "B"),
        ("-1 s", "s"),
        ("3 rad", "B"),
        ("nan s", "s"),
        ("inf B", "B"),
        ("5 m/s", "B/s"),
    ],
)
def test_wrong_units_are_refused(text, unit):
    with pytest.raises(ValueError, match="like"):
        units.parse(text, unit)


def test_everything_held_out_is_refused():
    scenario = read(ROOT / "scenarios" / "quickstart.toml")
    table = scenario.model_dump(mode="json")
    table["judge"]["hold_out"] = [{"workload.clients": [1, 2]}]
    with pytest.raises(InputError, match="holds out every configuration"):
        check(build(Scenario, table))


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("run.time_limit", "0 s", "must be more than 0"),
        ("run.time_limit", "1e9 s", "must be at most 31,557,600 s"),
        ("run.max_errors", 2**64, "must be at most 4611686018427387904"),
    ],
)
def test_limits_that_the_load_generator_refuses_are_refused_at_once(key, value, allowed):
    scenario = read(ROOT / "scenarios" / "quickstart.toml")
    with pytest.raises(InputError, match=allowed) as caught:
        scenario.with_overrides({key: value})
    assert key in str(caught.value)
