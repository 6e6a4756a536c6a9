"""Makes the stream specification of a configuration, which the load generator and the Petri net
share.
"""

from __future__ import annotations

from collections import Counter

from dfslab import discover
from dfslab.spec.environment import workload_parameters
from dfslab.spec.scenario import Scenario
from dfslab.spec.streams.vocabulary import Arrival, LognormalGaps, Open, OpenArrival, Stream

# For lognormal arrivals: standard deviation of the natural logarithm of the times between arrivals.
# With this value, the times have a coefficient of variation of 1.3.
LOGNORMAL_SIGMA = 1.0


def has_stream(scenario: Scenario) -> bool:
    """Returns whether the workload is a stream of operations of clients, in contrast to an external
    program."""
    return discover.workload(scenario.workload.name).command is None


def stream_spec(scenario: Scenario, repetition: int = 0) -> Stream:
    """Returns the stream of a scenario's workload. Every repetition has a different seed.

    Raises InputError when the workload is a program or a value of the stream is impossible.
    """
    workload = discover.workload(scenario.workload.name)
    parameters = workload_parameters(scenario, workload)
    own = workload.stream_of(parameters, scenario.workload.clients)
    of_scenario = {
        "seed": scenario.run.seed + repetition,
        "clients": scenario.workload.clients,
        "think_time_s": scenario.workload.think_time,
    }
    if (arrival := _arrival(scenario, own)) is not None:
        return own.model_copy(update={**of_scenario, "arrival": arrival})
    return own.model_copy(update=of_scenario)


def _arrival(scenario: Scenario, own: Stream) -> Arrival | None:
    """Returns the open arrivals that the scenario requests. These arrivals replace the workload's
    own arrivals. Returns None if the scenario requests a closed workload.

    If the workload has sessions (several requests of one user), the returned arrivals have the same
    sessions. The rate of the sessions is then chosen so that the rate of the requests is the
    requested rate.
    """
    requested = scenario.workload
    if requested.arrival == "closed":
        return None
    sessions = own.arrival.open.session if isinstance(own.arrival, OpenArrival) else None
    kept = {"session": sessions} if sessions is not None else {}
    ramp = {"profile": [(0.0, 0.0), (requested.ramp, 1.0)]} if requested.ramp else {}
    load = Open(
        rate_per_s=requested.rate / sessions.requests if sessions is not None else requested.rate,
        process=(
            LognormalGaps(lognormal=LOGNORMAL_SIGMA)
            if requested.arrival == "lognormal"
            else requested.arrival
        ),
    )
    return OpenArrival(open=load.model_copy(update={**ramp, **kept}))


def operations_per_client(stream: Stream) -> int:
    """Returns the number of operations of each client over all phases. In a replay, this number may
    differ between clients. The largest number is then returned."""
    if stream.given:
        return max(Counter(one.client for one in stream.given).values())
    if stream.phases:
        return sum(phase.operations_per_client for phase in stream.phases)
    return stream.operations_per_client
