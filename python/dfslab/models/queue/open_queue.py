"""Models open workloads, in which operations arrive at a given rate: stations, call queues and
quantiles of response times.

Sources: Erlang C and M/M/c/K birth and death chains (Kleinrock 1975); open product-form networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dfslab import quantiles
from dfslab.arrays import Floats

# Least probability of a wait that is used as the divisor of a variance. Smaller probabilities are
# replaced by this value.
LEAST_BUSY = 1e-3


@dataclass(frozen=True)
class OpenNetwork:
    """The steady state of an open network: the mean response time of an operation, and the waiting
    time and utilisation of each station.

    Times are in seconds. The response time is None if the network is unstable. `full` is the index
    of the overloaded station; None if there is none.
    """

    response_s: float | None
    waiting_s: Floats
    utilisation: Floats
    full: int | None


@dataclass(frozen=True)
class FiniteQueue:
    """The steady state of a station with a finite queue.

    The fields are the share of arrivals that are refused, the rate and the mean wait of the
    admitted requests, and the utilisation of the servers. Times are in seconds.
    """

    refused: float
    wait_s: float
    rate_per_s: float
    utilisation: float


def waiting_share(load: float, servers: int) -> float:
    """Returns the share of arrivals that find all servers busy (Erlang C). `load` is arrival rate
    times service time."""
    assert load < servers, "an overloaded station has no share"
    # Compute Erlang B by its recursion, which is numerically stable.
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = load * blocked / (count + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


def open_network(
    rate_per_s: float,
    demands_s: Sequence[float],
    servers: Sequence[int] | None = None,
    latency_s: float | None = None,
) -> OpenNetwork:
    """Returns the steady state of an open network of M/M/c stations. An operation visits all
    stations, one after the other.

    `demands_s` and `servers` have one entry for each station. `latency_s` is the latency of an
    operation without waits, as for the closed network (`mean_value_analysis`).
    """
    demand = np.asarray(demands_s, float)
    count = np.ones(len(demand), int) if servers is None else np.asarray(servers, int)
    total_s = float(demand.sum())
    service = total_s if latency_s is None else latency_s
    overlap = min(1.0, service / total_s) if total_s else 1.0
    busy = rate_per_s * demand / count
    waiting = np.zeros_like(demand)
    if len(busy) and busy.max() >= 1:
        return OpenNetwork(None, waiting, busy, int(busy.argmax()))
    for index, (each, many) in enumerate(zip(demand.tolist(), count.tolist(), strict=True)):
        if each:
            share = waiting_share(rate_per_s * each, many)
            waiting[index] = overlap * share * each / (many * (1 - busy[index]))
    return OpenNetwork(service + float(waiting.sum()), waiting, busy, None)


def finite_queue(rate_per_s: float, service_s: float, servers: int, places: int) -> FiniteQueue:
    """Returns the steady state of an M/M/c/K station. The station has `servers` threads, and a call
    queue with `places`. If the queue is full, requests are refused."""
    load = rate_per_s * service_s
    if not load:
        return FiniteQueue(0.0, 0.0, rate_per_s, 0.0)
    weights = np.empty(servers + places + 1)
    weights[0] = 0.0
    steps = np.log(load) - np.log(np.minimum(np.arange(1, len(weights)), servers))
    weights[1:] = np.cumsum(steps)
    chance = np.exp(weights - weights.max())
    chance /= chance.sum()
    refused = float(chance[-1])
    done = rate_per_s * (1 - refused)
    queued = float((np.maximum(0, np.arange(len(chance)) - servers) * chance).sum())
    return FiniteQueue(refused, queued / done, done, done * service_s / servers)


def quantile_s(
    fixed_s: float,
    random_s: Sequence[float],
    waits_s: Sequence[float],
    busy: Sequence[float],
    quantile: float,
) -> float:
    """Returns a quantile of a response time in seconds.

    The response time is a sum of a fixed part, exponential services with the means `random_s`, and
    waits with the means `waits_s`. `busy` has for each wait the probability that it is above 0. A
    wait above 0 is taken as exponential. A mean wait w with probability p therefore has the
    variance w^2 (2 / p - 1). The sum is approximated by a gamma distribution with equal mean and
    variance. The approximation is exact for one service without waiting, and close for M/M/1.
    """
    mean = sum(random_s) + sum(waits_s)
    variance = sum(one * one for one in random_s)
    for wait, share in zip(waits_s, busy, strict=True):
        variance += wait * wait * (2 / min(1.0, max(share, LEAST_BUSY)) - 1)
    if mean <= 0 or variance <= 0:
        return fixed_s + max(0.0, mean)
    return fixed_s + float(quantiles.gamma(quantile, mean**2 / variance, variance / mean))
