"""Measures the configurations of a trial on the real file system: on testbeds, or in an existing
directory. A testbed is restarted when a configuration needs another testbed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from dfslab.instruments import access
from dfslab.instruments.discovery.place import DiscoveredPlace
from dfslab.instruments.measure import Measure
from dfslab.method import MEASURE
from dfslab.models.tree.prediction import situation_of
from dfslab.notify import Notify
from dfslab.result import Result
from dfslab.spec.check import check, check_place
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies.trials.trial_run import Measuring

# A function that returns a context, in which testbeds and folders can be used. The value of the
# context (after `as`) is the function that measures.
Opening = Callable[[Notify], AbstractContextManager[Measuring]]
# Expected durations in seconds. START_S is the start of a testbed. OVERHEAD_S is the part of a run
# without its operations: the load generator starts, and files are prepared and removed.
START_S, OVERHEAD_S = 10.0, 2.0


@contextmanager
def measuring(notify: Notify, place: DiscoveredPlace | None = None) -> Iterator[Measuring]:
    """A context with the function that measures a scenario once. At the end of the context,
    testbeds and temporary folders are removed, also after an error or an interrupt.

    `place`: if it is a running testbed, that testbed is used for all scenarios and stays up.
    """
    with access.session(notify) as session:
        if place is not None and place.testbed is not None:
            # Whether the testbed's daemons have served requests before is unknown, so they are
            # assumed to be cold.
            session.use(place.testbed, is_warm=False)

        def measured(scenario: Scenario, repetition: int) -> Result:
            return Measure().run(Point(scenario=scenario, labels={}), session, repetition)

        yield measured


def measurable(scenario: Scenario) -> Scenario:
    """Returns the scenario as a trial measures it: with the method `measure` alone. Raises
    InputError if the scenario cannot be measured."""
    alone = scenario.with_methods([MEASURE])
    check(alone)
    check_place(alone)
    return alone


def expected_s(scenarios: Sequence[Scenario]) -> float:
    """Returns the seconds that it takes to measure the scenarios in this order: the predicted time
    of the operations, a fixed time for each run, and the starts of testbeds."""
    total, running = 0.0, ""
    for scenario in scenarios:
        needed = Point(scenario=scenario, labels={}).testbed
        if scenario.file_system.access.testbed and needed != running:
            total, running = total + START_S, needed
        total += OVERHEAD_S + _operations_s(scenario)
    return total


def _operations_s(scenario: Scenario) -> float:
    """Returns the predicted seconds of the operations of one run, at most the run's time limit."""
    if scenario.run.timed:
        return float(scenario.run.time_limit)
    situation = situation_of(scenario)
    rate = situation.predict(situation.constants).rate_per_s
    return min(float(scenario.run.time_limit), situation.operations / rate)
