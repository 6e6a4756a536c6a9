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


def has_stream(scenario: Scenario) -> bool:
    """Whether it is known what clients do; a program keeps that to itself."""
    return discover.workload(scenario.workload.name).argv is None


def stream_spec(scenario: Scenario, repetition: int = 0) -> dict[str, Any]:
    """A StreamSpec of core/workload; every repetition has a seed of its own."""
    workload = discover.workload(scenario.workload.name)
    own = workload.stream(workload_parameters(scenario, workload))
    return checked(
        {
            **own,
            **_arrival(scenario, own),
            "seed": scenario.run.seed + repetition,
            "clients": scenario.workload.clients,
            "think_time_s": scenario.workload.think_time,
        }
    )


def _arrival(scenario: Scenario, own: Mapping[str, Any]) -> dict[str, Any]:
    """The open load that is asked for, in place of a workload's own. Its sessions stay sessions,
    and come so often that there are as many requests a second as asked for."""
    asked = scenario.workload
    if asked.arrival == "closed":
        return {}
    process: Any = asked.arrival
    if process == "lognormal":
        process = {"lognormal": LOGNORMAL_SIGMA}
    load: dict[str, Any] = {"rate_per_s": asked.rate, "process": process}
    if asked.ramp:
        load["profile"] = [(0.0, 0.0), (asked.ramp, 1.0)]
    if session := own.get("arrival", {}).get("open", {}).get("session"):
        load |= {"rate_per_s": asked.rate / session["requests"], "session": session}
    return {"arrival": {"open": load}}


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
