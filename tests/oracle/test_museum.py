"""Tests the rules of `dfslab check` on recorded results whose faults are known. For each faulty
result, the rule for its fault reports the fault, and no other rule reports anything. For results
without faults, no rule reports anything."""

from __future__ import annotations

import pytest
from dfslab.studies.checks.of_results import of_results
from dfslab.studies.checks.rule import judged, rules

from verification.lies import museum

EXHIBITS = {one.file: one for one in museum.exhibits()}


@pytest.mark.grid
@pytest.mark.parametrize("file", EXHIBITS)
def test_an_exhibit_is_named_by_its_rule_alone(file):
    found = {one.rule for one in museum.findings(EXHIBITS[file])}
    assert found == {EXHIBITS[file].rule}


@pytest.mark.grid
@pytest.mark.parametrize("name", museum.honest())
def test_honest_runs_raise_no_alarm(name):
    assert not museum.alarms(name)


@pytest.mark.parametrize("name", ["recorded-nfs", "recorded-local"])
def test_only_runs_that_state_it_are_named_as_not_compared(name):
    """Among recorded runs without faults, the rule STATED reports exactly the runs whose scenario
    states that no content was compared (`verify` is "none"). These reports are not counted as
    alarms."""
    results = museum.runs(name)
    found = [one.subject for one in judged(of_results(results)) if one.rule == museum.STATED]
    stated = [one for one in results if one.point.scenario.run.verify == "none"]
    assert 0 < len(found) == len(stated)


def test_the_museum_is_large_and_each_exhibit_has_its_source():
    assert len(EXHIBITS) >= 30
    assert all(one.source and one.title for one in EXHIBITS.values())
    kept = {path.name for path in museum.EXHIBITS.iterdir()}
    assert kept == set(EXHIBITS) | {one.on for one in EXHIBITS.values() if one.on}


def test_every_rule_has_an_exhibit():
    assert {one.name for one in rules()} == {one.rule for one in EXHIBITS.values()}


def test_honest_runs_are_of_many_file_systems():
    systems, runs = set(), 0
    for name in museum.honest():
        found = museum.runs(name)
        systems |= {one.point.scenario.file_system.name for one in found}
        runs += len(found)
    assert runs >= 200
    assert len(systems) >= 6, systems
