"""The stream specification of a configuration: one description for the load and for the net."""

from __future__ import annotations

from typing import Any

from dfslab import discover
from dfslab.spec.environment import workload_parameters
from dfslab.spec.scenario import Scenario


def stream_spec(scenario: Scenario, repetition: int = 0) -> dict[str, Any]:
    """A StreamSpec of core/workload; every repetition has a seed of its own."""
    workload = discover.workload(scenario.workload.name)
    own = workload.stream(workload_parameters(scenario, workload))
    return {
        **own,
        "seed": scenario.run.seed + repetition,
        "clients": scenario.workload.clients,
        "think_time_s": scenario.workload.think_time,
    }
