"""Estimates how long the measurements of a run take. The estimate is used until the first
measurement has ended."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dfslab.method import RunFailed
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies.designs.design_plan import RUN_S, run_cost_s, testbed_cost_s

# Largest number of configurations that are predicted. A prediction takes 10 to 50 ms of processor
# time. The predictions therefore delay a run by less than a second.
MOST_POINTS = 16


def mean_job_s(points: Sequence[Point], jobs: int) -> float | None:
    """Returns the expected time of one measurement in seconds. The expected time is the mean
    duration of a measurement plus an equal share of the time to start testbeds. `points`: all
    configurations; `jobs`: number of measurements in the run.

    The uncalibrated model predicts at most `MOST_POINTS` configurations, evenly chosen. Returns
    None if the model cannot predict one of them, for example because the workload is an external
    program.
    """
    chosen = points[:: math.ceil(len(points) / MOST_POINTS)]
    try:
        runs_s = [_run_s(point.scenario) for point in chosen]
    except (InputError, RunFailed):
        return None
    testbeds = {point.testbed: testbed_cost_s(point.scenario) for point in points}
    return sum(runs_s) / len(runs_s) + sum(testbeds.values()) / jobs


def _run_s(scenario: Scenario) -> float:
    """Returns the expected duration of one run in seconds. A timed run lasts until its time
    limit."""
    return RUN_S + scenario.run.time_limit if scenario.run.timed else run_cost_s(scenario)
