"""The value of one measured run in a trial, and the interface of functions that measure."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import assert_never

from pydantic import BaseModel

from dfslab.documents import metrics
from dfslab.method import RunFailed
from dfslab.models.tree.prediction import situation_of
from dfslab.result import Result
from dfslab.spec.changes.goal import Goal
from dfslab.spec.scenario import Scenario

# A function that measures a scenario without sweep once and returns the result. Its second argument
# is the number of the repetition, which determines the seed of the operations. The function raises
# RunFailed or InputError if the scenario cannot be measured.
Measuring = Callable[[Scenario, int], Result]
# The statistic of latencies that the goal "p99" minimises.
P99 = "p99"


class TrialRun(BaseModel):
    """One measured run of a trial.

    `configuration`: what was changed, such as "disk x2"; START for the unchanged configuration.
    `turn`: number of the round, from 0. `value`: the figure to maximise. For the goal "p99", this
    is 1 / (99th percentile of the latency in seconds). For other goals, it is the bytes per second,
    or the operations per second if no bytes are moved. `others_share`: processor time of other
    programs during the run, as a share of all processors; None if unknown.
    """

    configuration: str
    turn: int
    value: float
    others_share: float | None = None


def trial_run(configuration: str, turn: int, result: Result, goal: Goal) -> TrialRun:
    """Returns the value of a measured result for a goal of `dfslab advise`. Raises RunFailed if the
    measurement is incomplete or has no such value."""
    if not result.complete:
        reason = result.notes[0] if result.notes else "operations failed or the time limit ended it"
        raise RunFailed(f"the run is incomplete: {reason}")
    value = _value(result, goal)
    if value <= 0:
        raise RunFailed("the run has no rate")
    machine = None if result.load is None else result.load.machine
    others = None if machine is None else machine.others_share
    return TrialRun(configuration=configuration, turn=turn, value=value, others_share=others)


def _value(result: Result, goal: Goal) -> float:
    match goal:
        case "p99":
            operations = metrics.operations_with(result.metrics, metrics.LATENCY, P99)
            times_s = [result.value(metrics.key(metrics.LATENCY, P99, one)) for one in operations]
            return 1 / max(times_s) if times_s and max(times_s) > 0 else 0.0
        case "rate" | "read_throughput" | "write_throughput" | "create_rate" | "cost":
            return result.value() * (_moved_bytes(result.point.scenario) or 1.0)
        case _:
            assert_never(goal)


@lru_cache(maxsize=256)
def _moved_bytes(scenario: Scenario) -> float:
    """Returns the bytes that an operation of the scenario moves on average; 0 if no operation moves
    bytes."""
    return float(situation_of(scenario).whole.moved_bytes)
