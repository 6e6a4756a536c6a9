"""Waits of requests in a peak at one server, by three models: a fluid model if the load is above
the capacity, M/G/1 if it is below, and simulation if it is close to the capacity.

`capacity_per_s` (q) is the service rate, `peak_per_s` (p) the arrival rate during `length_s` (T, in
seconds). In the fluid model, a request that arrives t seconds into the peak waits (p - q) t / q.
The mean wait is T (p - q) / (2 q), as in Wu 2013. The quantile at probability a is T (p - q) a / q,
so the longest wait is twice the mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

# Loads (arrival rate / capacity) that separate the three models. The fluid model is used above
# SATURATED and steady-state queueing below CALM, each with an error of at most 5 %. A peak with a
# load between them is simulated.
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
    which they were computed.
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
    requests is answered within `bound_s` seconds.

    Wu 2013, equation (12), is the case of quantile 1/2 and no service time: 2 q (B - C) / T + q.
    There q is the capacity per second, B the bound, C the network time and T the length of the
    peak, all in seconds. `service_s` is the service time of a request at one server. If network and
    service together take longer than the bound, the result is below `capacity_per_s`.
    """
    slack_s = bound_s - network_s - service_s
    return max(0.0, capacity_per_s + capacity_per_s * slack_s / (quantile * length_s))


def largest_peak_of_queue_per_s(capacity_per_s: float, places: float, length_s: float) -> float:
    """Returns the largest arrival rate per second of a peak at which a call queue of `places`
    requests does not overflow.
    """
    return capacity_per_s + places / length_s


def drain_s(peak_per_s: float, capacity_per_s: float, length_s: float, base_per_s: float) -> float:
    """Returns the seconds from the end of a peak until its queue is empty, while requests arrive at
    `base_per_s`. The result is 0 if the peak leaves no queue, and infinite if `base_per_s` reaches
    the capacity."""
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
    """Returns a quantile of the M/G/1 wait in seconds. It is 0 if at least the share `quantile` of
    the requests does not wait. Waits above 0 are taken as exponential, which is exact for M/M/1."""
    busy = rate_per_s * service_s
    if busy <= 1 - quantile:
        return 0.0
    given_wait_s = steady_wait_s(rate_per_s, service_s, variation) / busy
    return given_wait_s * math.log(busy / (1 - quantile))


def paused(
    capacity_per_s: float, rate_per_s: float, share: float, pause_s: float
) -> tuple[float, float]:
    """Returns the capacity per second of a server that pauses for `pause_s` seconds at a time, and
    the extra mean wait in seconds. The extra wait is infinite if `rate_per_s` is at least the
    capacity of the pausing server.

    `capacity_per_s` is the capacity without pauses, and `share` the fraction of time paused, as by
    garbage collection. A request that arrives during a pause waits until the end of the pause and
    for the queue that built up during the pause.
    """
    left_per_s = capacity_per_s * (1 - share)
    if rate_per_s >= left_per_s:
        return left_per_s, math.inf
    return left_per_s, share * pause_s / 2 / (1 - rate_per_s / left_per_s)


def waits(
    peak_per_s: float,
    capacity_per_s: float,
    length_s: float,
    quantile: float = QUANTILE,
    base_per_s: float = 0.0,
    seed: int = 1,
) -> Waiting:
    """Returns the mean and one quantile of the waits of a peak's requests. The load selects the
    model: fluid, steady state, or simulation. Only the simulation uses `seed` and `base_per_s`, the
    arrival rate before the peak."""
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
    exponential service. Requests arrive at `base_per_s` before the peak.

    The longer the peak, the fewer replications are run, so that about MOST_SIMULATED requests are
    simulated in all. At least FEWEST_REPLICATIONS are run.
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
    """Returns for each replication the wait in seconds of the first request of the peak. Before the
    peak, the server is an M/M/1 queue in steady state.
    """
    waited = random.random(replications) < busy
    rest_s = random.exponential(1 / (capacity_per_s * max(1e-9, 1 - busy)), replications)
    return np.where(waited, rest_s, 0.0)
