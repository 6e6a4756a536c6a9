"""Wu 2013's experiments as they were recorded on real beds: what must hold of them, again."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest
from dfslab.result import Result
from dfslab.spec.scenario import read
from dfslab.studies import expectations, table
from dfslab.studies.operations import operations

ROOT = Path(__file__).parents[2] / "scenarios"
RECORDED = ("wu-write", "wu-read")
# Errors and coverage that the issue of the experiments asks for.
MOST_ERROR, LEAST_COVERAGE = 0.15, 0.80


@lru_cache(maxsize=2)
def recorded(name: str) -> tuple[Result, ...]:
    """The runs, each at its point of the scenario, which says what was held out."""
    scenario = read(ROOT / f"{name}.toml")
    points = {point.id: point for point in scenario.points()}
    results = table.read(ROOT / "data" / f"{name}.csv", scenario)
    return tuple(r.model_copy(update={"point": points[r.point_id]}) for r in results)


@pytest.mark.parametrize("name", RECORDED)
def test_every_size_and_deployment_is_there_with_the_time_of_each_operation(name):
    results = recorded(name)
    assert len({result.point_id for result in results}) == 3 * 23
    assert len({result.labels["deployment.network.latency"] for result in results}) == 3
    calls = {"wu-write": {"create/create", "write/addBlock", "close/complete"},
             "wu-read": {"open/getBlockLocations"}}[name]  # fmt: skip
    for result in results:
        assert calls <= {step.step for step in result.steps}


@pytest.mark.parametrize("name", RECORDED)
def test_held_out_sizes_and_deployment_are_predicted(name):
    """Whole operations above the noise floor: within the goal, far better than the baselines."""
    found = operations(recorded(name))
    operation = name.removeprefix("wu-")
    scores = found.held_out[f"{operation}: whole"]
    fitted = scores["fitted"]
    assert fitted.n >= 5
    assert fitted.median_abs_error <= MOST_ERROR
    assert fitted.coverage_90 >= LEAST_COVERAGE
    assert fitted.median_abs_error < 0.5 * scores["serial"].median_abs_error
    assert fitted.median_abs_error < 0.5 * scores["mean"].median_abs_error


@pytest.mark.parametrize("name", RECORDED)
def test_what_was_expected_came_true_more_often_than_not(name):
    results = recorded(name)
    points = list({result.point_id: result.point for result in results}.values())
    counts = expectations.tally(expectations.score(expectations.expectations(points), results))
    for kind in ("size", "deployment"):
        assert counts[kind]["hit"] > 2 * counts[kind]["miss"], counts
