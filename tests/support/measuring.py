"""Measurements and sweeps of tests that need no particular session: each call opens a new session
and closes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dfslab.instruments import access
from dfslab.instruments.contract import NO_OPTIONS, MeasurementOptions, RunMethod
from dfslab.instruments.measure import Measure
from dfslab.result import Result
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies.runs import sweep as sweeps
from dfslab.studies.runs.store import Store


def measure_once(point: Point, options: MeasurementOptions = NO_OPTIONS) -> Result:
    """Returns the result of the instrument `measure` for one configuration."""
    with access.session() as session:
        return Measure().run(point, session, options=options)


def sweep(
    scenario: Scenario,
    methods: Sequence[RunMethod],
    store: Store,
    *more: Any,
    options: MeasurementOptions = NO_OPTIONS,
    **named: Any,
) -> list[Result]:
    """Returns the results of `methods` at every configuration of a scenario, and stores them in
    `store`. `options` apply to every measurement.

    `more` and `named` are the further positional and keyword arguments of
    `dfslab.studies.runs.sweep.sweep`.
    """
    with access.session() as session:
        plan = sweeps.SweepPlan(scenario, methods, store, session, options)
        return sweeps.sweep(plan, *more, **named)
