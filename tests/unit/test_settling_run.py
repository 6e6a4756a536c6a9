"""Tests of the proposed command that settles whether a change gains. The command measures the
configuration before and after the change. Every scenario that comes with dfslab is tested."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from dfslab.cli.shared import checked_with
from dfslab.laboratory import Laboratory
from dfslab.method import MEASURE
from dfslab.models.tree.prediction import situation_of
from dfslab.spec.changes.change_language import apply, parse_changes
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read
from dfslab.studies.decisions.decision_input import evidence_of
from dfslab.studies.decisions.reported.settling import SETTLING_RUNS, settling_run

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))
CHANGES = ("clients x2", "servers +1", "transfer size x4", "file size x4")


def sentence(path, change):
    """Yields (sentence of `settling_run`, configuration, parsed changes). Yields these values for
    the first and the last configuration of the scenario `path` in which `change` is legal and
    changes a value."""
    evidence = evidence_of(path)
    found = []
    for point in evidence.points:
        try:
            changes = parse_changes([change], point.scenario)
            apply(point.scenario, changes)
        except InputError:
            continue
        if any(one.distance for one in changes):
            found.append((point, changes))
    for point, changes in found[:1] + found[1:][-1:]:
        (text,) = settling_run(evidence, changes, situation_of(point.scenario), point)
        yield text, point, changes


def planned(command):
    """Returns the configurations and the repetitions that a command measures."""
    program, name, path, *options = shlex.split(command)
    assert (program, name) == ("dfslab", "measure")
    assert options[::2] == ["--set"] * (len(options) // 2)
    scenario = read(Path(path)).with_methods([MEASURE])
    plan = Laboratory().plan(checked_with(scenario, options[1::2]))
    return plan.points, plan.scenario.run.repetitions


def _evidence(path):
    try:
        return evidence_of(path)
    except InputError:
        return None


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_command_measures_before_and_after_in_each_shipped_scenario(path):
    if _evidence(path) is None:
        return
    for change in CHANGES:
        for text, point, changes in sentence(path, change):
            command = re.search(r"dfslab measure .*", text)
            if command is None:
                assert text.startswith("Only ")
                continue
            points, repetitions = planned(command[0])
            assert repetitions == SETTLING_RUNS
            after = apply(point.scenario, changes)
            if "by hand" not in text:
                assert [one.scenario.workload for one in points] == [
                    point.scenario.workload,
                    after.workload,
                ]
                assert points[1].scenario.deployment == after.deployment
            assert points[0].scenario.deployment == point.scenario.deployment


def test_both_sides_are_measured_although_another_grid_varies_other_keys():
    quickstart = next(path for path in SCENARIOS if path.stem == "quickstart")
    text, *_ = next(sentence(quickstart, "clients x2"))
    points, _ = planned(text[text.index("dfslab measure") :])
    assert [one.labels["workload.clients"] for one in points] == [1, 2]


def test_a_sweep_on_the_command_line_replaces_all_grids():
    quickstart = next(path for path in SCENARIOS if path.stem == "quickstart")
    rows = [{"workload.name": ["sequential_read"], "workload.clients": [4]}]
    changed = read(quickstart).with_overrides({"sweep": rows, "judge.hold_out": []})
    assert [one.labels for one in changed.points()] == [
        {"workload.name": "sequential_read", "workload.clients": 4}
    ]
