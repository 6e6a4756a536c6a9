"""The stream specification of a configuration: one description for the load and for the net."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfslab import discover
from dfslab.spec.environment import workload_parameters
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.vocabulary import Stream

# Standard deviation of the logarithm of times between arrivals: a coefficient of variation of 1.3.
LOGNORMAL_SIGMA = 1.0


def stream_spec(scenario: Scenario, repetition: int = 0) -> dict[str, Any]:
    """A StreamSpec of core/workload; every repetition has a seed of its own."""
    workload = discover.workload(scenario.workload.name)
    own = workload.stream(workload_parameters(scenario, workload))
    arrival = (
        {"arrival": {"open": _open(scenario)}} if scenario.workload.arrival != "closed" else {}
    )
    return checked({
        **own,
        **arrival,
        "seed": scenario.run.seed + repetition,
        "clients": scenario.workload.clients,
        "think_time_s": scenario.workload.think_time,
    })  # fmt: skip


def _open(scenario: Scenario) -> dict[str, Any]:
    process: Any = scenario.workload.arrival
    if process == "lognormal":
        process = {"lognormal": LOGNORMAL_SIGMA}
    ramp = scenario.workload.ramp
    profile = {"profile": [(0.0, 0.0), (ramp, 1.0)]} if ramp else {}
    return {"rate_per_s": scenario.workload.rate, "process": process, **profile}


def checked(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The specification as plain data, with what it says and no more; InputError names the key."""
    return build(Stream, spec, "stream").model_dump(mode="json", exclude_unset=True)


def operations_per_client(spec: Mapping[str, Any]) -> int:
    """Operations of each client, over all phases; of given ones, of the client with most."""
    if spec.get("given"):
        counts: dict[int, int] = {}
        for one in spec["given"]:
            client = one.get("client", 0)
            counts[client] = counts.get(client, 0) + 1
        return max(counts.values())
    if spec.get("phases"):
        return sum(phase["operations_per_client"] for phase in spec["phases"])
    return spec["operations_per_client"]
