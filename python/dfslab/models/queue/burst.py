"""Computes the waits of requests in a peak at one server. The load selects one of three models: a
fluid model above the server's capacity, M/G/1 below the capacity, and simulation close to the
capacity.

`capacity_per_s` (q) is the service rate, `peak_per_s` (p) the arrival rate during `length_s` (T, in
seconds). In the fluid model, a request that arrives t seconds into the peak waits (p - q) t / q.
The mean wait is T (p - q) / (2 q), as in Wu 2013. The quantile of the waits at probability a is T
(p - q) a / q. The longest wait is therefore twice the mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

# Loads (arrival rate / capacity) that separate the three models. Above SATURATED, the fluid model
# is used; below CALM, steady-state queueing. Their errors are at most 5 %. A peak with a load from
# CALM to SATURATED is simulated.
SATURATED, CALM = 1.1, 0.9
FEWEST_REPLICATIONS, REPLICATIONS = 20, 200
MEAN = 0.5
# The quantile of waits that is computed unless the caller names another one.
QUANTILE = 0.95
MOST_SIMULATED = 2_000_000

# The model of a peak: a fluid, the steady state of an M/G/1 queue, or a simulation.
BurstRegime = Literal["fluid", "M/G/1", "simulation"]


@dataclass(frozen=True)
class Waiting:
    """The waits of a peak's requests in seconds: mean and one quantile. `regime` names the model by
    which the waits were computed.
    """

    regime: BurstRegime
    mean_s: float
    quantile_s: float


def fluid_wait_s(
    peak_per_s: float, capacity_per_s: float, length_s: float, quantile: float = MEAN
) -> float:
    """Returns a quantile of the waits of a peak's requests in seconds, by the fluid model. The
    result is 0 if the load is below the capacity. The median (1/2) equals the mean."""
    return max(0.0, quantile * length_s * (peak_per_s - capacity_per_s) / capacity_per_s)


def largest_peak_per_s(
    capacity_per_s: float,
    bound_s: float,
    network_s: float,
    length_s: float,
    quantile: float = MEAN,
    service_s: float = 0.0,
) -> float:
    """Returns the largest arrival rate per second of a peak at which a share `quantile` of the
    requests is answered within `bound_s` seconds. The result is below `capacity_per_s` if network
    and service together take longer than the bound.

    `length_s` is the length of the peak. `service_s` is the service time of a request at one
    server. Wu 2013, equation (12), is the case of quantile 1/2 without service time: 2 q (B - C) /
    T + q. There q is the capacity per second. B is the bound, C the network time and T the length
    of the peak, all in seconds.
    """
    slack_s = bound_s - network_s - service_s
    return max(0.0, capacity_per_s + capacity_per_s * slack_s / (quantile * length_s))


def largest_peak_of_queue_per_s(capacity_per_s: float, places: float, length_s: float) -> float:
    """Returns the largest arrival rate per second of a peak at which a call queue of `places`
    requests does not overflow.
    """
    return capacity_per_s + places / length_s


def drain_s(peak_per_s: float, capacity_per_s: float, length_s: float, base_per_s: float) -> float:
    """Returns the seconds from the end of a peak until its queue is empty. Requests continue to
    arrive at `base_per_s`. The result is 0 if the peak leaves no queue. The result is infinite if
    `base_per_s` is not below the capacity."""
    queued = max(0.0, (peak_per_s - capacity_per_s) * length_s)
    if not queued:
        return 0.0
    return queued / (capacity_per_s - base_per_s) if base_per_s < capacity_per_s else math.inf


def steady_wait_s(rate_per_s: float, service_s: float, variation: float = 1.0) -> float:
    """Returns the mean wait in seconds of M/G/1 (Pollaczek-Khinchine). `variation` is the squared
    coefficient of variation of the service time.
    """
    busy = rate_per_s * service_s
    assert busy < 1, "a queue without end has no mean"
    return busy * service_s * (1 + variation) / (2 * (1 - busy))


def steady_quantile_s(
    rate_per_s: float, service_s: float, quantile: float, variation: float = 1.0
) -> float:
    """Returns a quantile of the M/G/1 wait in seconds. The quantile is 0 if the share of requests
    that do not wait is at least `quantile`. Waits above 0 are taken as exponential, which is exact
    for M/M/1."""
    busy = rate_per_s * service_s
    if busy <= 1 - quantile:
        return 0.0
    given_wait_s = steady_wait_s(rate_per_s, service_s, variation) / busy
    return given_wait_s * math.log(busy / (1 - quantile))


def waits(
    peak_per_s: float,
    capacity_per_s: float,
    length_s: float,
    quantile: float = QUANTILE,
    base_per_s: float = 0.0,
    seed: int = 1,
) -> Waiting:
    """Returns the mean and one quantile of the waits of a peak's requests. The load selects the
    model: fluid, steady state, or simulation.

    `base_per_s` is the arrival rate before the peak. Only the simulation uses `base_per_s` and
    `seed`.
    """
    load = peak_per_s / capacity_per_s
    if load >= SATURATED:
        mean_s, at_s = (
            fluid_wait_s(peak_per_s, capacity_per_s, length_s, a) for a in (MEAN, quantile)
        )
        return Waiting("fluid", mean_s, at_s)
    if load <= CALM:
        mean_s = steady_wait_s(peak_per_s, 1 / capacity_per_s)
        at_s = steady_quantile_s(peak_per_s, 1 / capacity_per_s, quantile)
        return Waiting("M/G/1", mean_s, at_s)
    return simulated(peak_per_s, capacity_per_s, length_s, quantile, base_per_s, seed)


def simulated(
    peak_per_s: float,
    capacity_per_s: float,
    length_s: float,
    quantile: float = QUANTILE,
    base_per_s: float = 0.0,
    seed: int = 1,
) -> Waiting:
    """Simulates the waits of a peak's requests by Lindley's recursion, with Poisson arrivals and
    exponential service. Before the peak, requests arrive at `base_per_s`.

    All replications together have about MOST_SIMULATED requests. A longer peak therefore has fewer
    replications, but at least FEWEST_REPLICATIONS.
    """
    random = np.random.default_rng(seed)
    count = max(1, round(peak_per_s * length_s))
    replications = max(FEWEST_REPLICATIONS, min(REPLICATIONS, MOST_SIMULATED // count))
    wait_s = _steady_state(random, base_per_s / capacity_per_s, capacity_per_s, replications)
    all_s = np.empty((count, replications))
    for index in range(count):
        all_s[index] = wait_s
        served_s = random.exponential(1 / capacity_per_s, replications)
        wait_s = np.maximum(
            0.0, wait_s + served_s - random.exponential(1 / peak_per_s, replications)
        )
    means_s, at_s = all_s.mean(axis=0), np.quantile(all_s, quantile, axis=0)
    return Waiting("simulation", float(means_s.mean()), float(at_s.mean()))


def _steady_state(
    random: np.random.Generator, busy: float, capacity_per_s: float, replications: int
) -> np.ndarray:
    """Returns the wait in seconds of the peak's first request, for each replication. Before the
    peak, the server is an M/M/1 queue in steady state."""
    waited = random.random(replications) < busy
    rest_s = random.exponential(1 / (capacity_per_s * max(1e-9, 1 - busy)), replications)
    return np.where(waited, rest_s, 0.0)
