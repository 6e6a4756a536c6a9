"""The stream specification of a configuration, shared by load generator and Petri net."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfslab import discover
from dfslab.spec.environment import workload_parameters
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.streams.vocabulary import Stream

# Standard deviation of the logarithm of times between arrivals: a coefficient of variation of 1.3.
LOGNORMAL_SIGMA = 1.0


def has_stream(scenario: Scenario) -> bool:
    """Whether the operations of clients are specified; those of a program are not."""
    return discover.workload(scenario.workload.name).argv is None


def stream_spec(scenario: Scenario, repetition: int = 0) -> dict[str, Any]:
    """The StreamSpec (core/workload) of a scenario; every repetition has a different seed."""
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
    """The requested open arrivals, which replace the workload's. Sessions are kept; their rate is
    set so that requests arrive at the requested rate."""
    requested = scenario.workload
    if requested.arrival == "closed":
        return {}
    process: Any = requested.arrival
    if process == "lognormal":
        process = {"lognormal": LOGNORMAL_SIGMA}
    load: dict[str, Any] = {"rate_per_s": requested.rate, "process": process}
    if requested.ramp:
        load["profile"] = [(0.0, 0.0), (requested.ramp, 1.0)]
    if session := own.get("arrival", {}).get("open", {}).get("session"):
        load |= {"rate_per_s": requested.rate / session["requests"], "session": session}
    return {"arrival": {"open": load}}


def checked(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The validated specification as plain data without defaults; InputError names the key."""
    return build(Stream, spec, "stream").model_dump(mode="json", exclude_unset=True)


def operations_per_client(spec: Mapping[str, Any]) -> int:
    """Operations of each client over all phases; for a replay, those of the busiest client."""
    if spec.get("given"):
        counts: dict[int, int] = {}
        for one in spec["given"]:
            client = one.get("client", 0)
            counts[client] = counts.get(client, 0) + 1
        return max(counts.values())
    if spec.get("phases"):
        return sum(phase["operations_per_client"] for phase in spec["phases"])
    return spec["operations_per_client"]
