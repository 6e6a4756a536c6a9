"""Request peaks at one server: fluid above its capacity, M/G/1 below, simulation between.

`capacity_per_s` (q) is what it can serve, `peak_per_s` (p) what comes for `length_s` (T). In a
fluid, who comes t into the peak waits (p - q) t / q: on average T (p - q) / (2 q), as Wu 2013 has
it, at quantile a T (p - q) a / q, so the last one waits twice the mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dfslab import quantiles
from dfslab.method import CONFIDENCE

# Fluid is right within 5 % from here on, and steady-state queueing up to there.
SATURATED, CALM = 1.1, 0.9
REPLICATIONS = 200
MEAN = 0.5
MOST_SIMULATED = 2_000_000


@dataclass(frozen=True)
class Waiting:
    """Waits of the requests of a peak, with 90 % intervals of simulated figures (else equal)."""

    regime: str
    mean_s: float
    quantile_s: float
    mean_interval_s: tuple[float, float]
    quantile_interval_s: tuple[float, float]


def fluid_wait_s(
    peak_per_s: float, capacity_per_s: float, length_s: float, quantile: float = MEAN
) -> float:
    """Wait at a quantile of the requests; 1/2 is the mean, too. Never below nothing."""
    return max(0.0, quantile * length_s * (peak_per_s - capacity_per_s) / capacity_per_s)


def largest_peak_per_s(
    capacity_per_s: float,
    bound_s: float,
    network_s: float,
    length_s: float,
    quantile: float = MEAN,
    service_s: float = 0.0,
) -> float:
    """The rate at which `quantile` of a peak's requests are answered within `bound_s`.

    Wu 2013 (12) with quantile 1/2 and no service time: 2 q (B - C) / T + q. `service_s` is the
    request's own time, 1 / q of one server. Below `capacity_per_s` when even that is too slow.
    """
    slack_s = bound_s - network_s - service_s
    return max(0.0, capacity_per_s + capacity_per_s * slack_s / (quantile * length_s))


def largest_peak_of_queue_per_s(capacity_per_s: float, places: float, length_s: float) -> float:
    """The rate at which a call queue of that many places is just not full at the peak's end."""
    return capacity_per_s + places / length_s


def drain_s(peak_per_s: float, capacity_per_s: float, length_s: float, base_per_s: float) -> float:
    """How long the queue of a peak lasts under the usual rate; for ever at or above capacity."""
    queued = max(0.0, (peak_per_s - capacity_per_s) * length_s)
    if not queued:
        return 0.0
    return queued / (capacity_per_s - base_per_s) if base_per_s < capacity_per_s else math.inf


def steady_wait_s(rate_per_s: float, service_s: float, variation: float = 1.0) -> float:
    """Mean wait of M/G/1 (Pollaczek and Khinchine); `variation`: squared coefficient of it."""
    busy = rate_per_s * service_s
    assert busy < 1, "a queue without end has no mean"
    return busy * service_s * (1 + variation) / (2 * (1 - busy))


def steady_quantile_s(
    rate_per_s: float, service_s: float, quantile: float, variation: float = 1.0
) -> float:
    """Quantile of the M/G/1 wait; exact for exponential service, else with its mean."""
    busy = rate_per_s * service_s
    if busy <= 1 - quantile:
        return 0.0
    given_wait_s = steady_wait_s(rate_per_s, service_s, variation) / busy
    return given_wait_s * math.log(busy / (1 - quantile))


def paused(
    capacity_per_s: float, rate_per_s: float, share: float, pause_s: float
) -> tuple[float, float]:
    """(capacity, extra mean wait) of a server that stands still for `pause_s` at a time.

    `share` of all time is paused (garbage collection). A request that meets a pause waits for its
    rest, and for the queue it left behind.
    """
    left_per_s = capacity_per_s * (1 - share)
    if rate_per_s >= left_per_s:
        return left_per_s, math.inf
    return left_per_s, share * pause_s / 2 / (1 - rate_per_s / left_per_s)


def waits(
    peak_per_s: float,
    capacity_per_s: float,
    length_s: float,
    quantile: float = 0.95,
    base_per_s: float = 0.0,
    seed: int = 1,
) -> Waiting:
    """Waits of a peak's requests by the method that is right for its rate."""
    load = peak_per_s / capacity_per_s
    if load >= SATURATED:
        mean_s, at_s = (
            fluid_wait_s(peak_per_s, capacity_per_s, length_s, a) for a in (MEAN, quantile)
        )
        return Waiting("fluid", mean_s, at_s, (mean_s, mean_s), (at_s, at_s))
    if load <= CALM:
        mean_s = steady_wait_s(peak_per_s, 1 / capacity_per_s)
        at_s = steady_quantile_s(peak_per_s, 1 / capacity_per_s, quantile)
        return Waiting("M/G/1", mean_s, at_s, (mean_s, mean_s), (at_s, at_s))
    return simulated(peak_per_s, capacity_per_s, length_s, quantile, base_per_s, seed)


def simulated(
    peak_per_s: float,
    capacity_per_s: float,
    length_s: float,
    quantile: float = 0.95,
    base_per_s: float = 0.0,
    seed: int = 1,
) -> Waiting:
    """Lindley's recursion over Poisson arrivals, exponential service; the server first at base.

    Peaks of very many requests are told by their first ones in fewer replications.
    """
    random = np.random.default_rng(seed)
    count = max(1, round(peak_per_s * length_s))
    replications = max(20, min(REPLICATIONS, MOST_SIMULATED // count))
    wait_s = _steady_state(random, base_per_s / capacity_per_s, capacity_per_s, replications)
    all_s = np.empty((count, replications))
    for index in range(count):
        all_s[index] = wait_s
        served_s = random.exponential(1 / capacity_per_s, replications)
        wait_s = np.maximum(
            0.0, wait_s + served_s - random.exponential(1 / peak_per_s, replications)
        )
    means_s, at_s = all_s.mean(axis=0), np.quantile(all_s, quantile, axis=0)
    return Waiting(
        "simulation", float(means_s.mean()), float(at_s.mean()), _interval(means_s), _interval(at_s)
    )


def _steady_state(
    random: np.random.Generator, busy: float, capacity_per_s: float, replications: int
) -> np.ndarray:
    """The wait that the first request of the peak finds (M/M/1)."""
    waited = random.random(replications) < busy
    rest_s = random.exponential(1 / (capacity_per_s * max(1e-9, 1 - busy)), replications)
    return np.where(waited, rest_s, 0.0)


def _interval(values: np.ndarray) -> tuple[float, float]:
    """90 % interval of the mean over replications."""
    reach = float(
        quantiles.student(0.5 + CONFIDENCE / 2, len(values) - 1)
        * np.std(values, ddof=1)
        / math.sqrt(len(values))
    )
    mean = float(values.mean())
    return mean - reach, mean + reach
