"""Closed queueing networks: exact mean value analysis, its form for overlapping work, and bounds.

Sources: Reiser & Lavenberg 1980 (exact MVA, several servers by marginal probabilities); Schweitzer
1979 (approximate MVA); Denning & Buzen 1978 (asymptotic bounds); Zahorjan et al. 1982 (balanced).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Closed:
    """Answer for one population: rate, response time, mean number at each station."""

    rate_per_s: float
    response_s: float
    queue: np.ndarray
    waiting_s: np.ndarray
    utilisation: np.ndarray


def mean_value_analysis(
    demands_s: Sequence[float],
    clients: int,
    think_s: float = 0.0,
    servers: Sequence[int] | None = None,
    latency_s: float | None = None,
    background_s: Sequence[float] | None = None,
    hidden: Sequence[tuple[Sequence[int], float, float]] = (),
) -> Closed:
    """Exact MVA of a closed network with FIFO (or PS) stations of one or several servers.

    `demands_s`: seconds at each station for one operation. `latency_s`: unloaded latency of the
    operation; None: the sum of the demands, for which the answer is exact. A larger latency (waits
    that occupy nothing) keeps the waiting of MVA; under a smaller one (overlap inside the
    operation) waits overlap as the services do. `background_s`: load at each station that nobody
    waits for. `hidden`: stations, a share and seconds; what is waited for at them together, times
    the share, passes beside so many seconds of the operation's own and is felt beyond them only.
    """
    demand = np.asarray(demands_s, dtype=float)
    count = np.ones(len(demand), dtype=int) if servers is None else np.asarray(servers, dtype=int)
    extra = np.zeros_like(demand) if background_s is None else np.asarray(background_s, float)
    service = float(demand.sum()) if latency_s is None else latency_s
    felt = np.ones_like(demand)
    for places, _, _ in hidden:
        felt[list(places)] = 0.0
    open_s = float((demand * felt).sum())
    overlap = min(1.0, service / open_s) if open_s else 1.0
    limit = float(((demand + extra) / count).max(initial=0.0))
    queue, rate, waiting = np.zeros_like(demand), 0.0, np.zeros_like(demand)
    busy = _BusyServers(demand, count)
    for population in range(1, clients + 1):
        waiting = np.maximum(0.0, demand / count * (1.0 + queue + busy.idle()) - demand)
        late_s = overlap * float((waiting * felt).sum()) + sum(
            max(0.0, share * float(waiting[list(places)].sum()) - beside_s)
            for places, share, beside_s in hidden
        )
        rate = population / (think_s + service + late_s)
        if limit:
            # Background work can push a station over its capacity; nothing passes it faster.
            rate = min(rate, 1.0 / limit)
        queue = np.minimum(rate * (demand + extra + waiting), population)
        busy.step(rate)
    response = clients / rate - think_s if rate else 0.0
    return Closed(rate, response, queue, overlap * waiting, rate * (demand + extra) / count)


class _BusyServers:
    """Probabilities that j < m servers of a station are busy, from one population to the next."""

    def __init__(self, demand: np.ndarray, servers: np.ndarray) -> None:
        self._demand, self._servers = demand, servers
        self._probability = np.zeros((len(demand), int(servers.max(initial=1))))
        self._probability[:, 0] = 1.0
        index = np.arange(self._probability.shape[1])
        # (m - 1 - j) for j = 0 .. m - 2, and (m - j) for j = 1 .. m - 1.
        self._idle = np.maximum(0, servers[:, None] - 1 - index)
        self._free = np.where(index > 0, np.maximum(0, servers[:, None] - index), 0)

    def idle(self) -> np.ndarray:
        """Sum over j of (m - 1 - j) p(j): what one queue with m servers saves."""
        return (self._idle * self._probability).sum(axis=1)

    def step(self, rate: float) -> None:
        """The next population's probabilities."""
        before = self._probability
        after = np.zeros_like(before)
        for j in range(1, before.shape[1]):
            after[:, j] = np.where(j < self._servers, rate * self._demand / j * before[:, j - 1], 0)
        taken = rate * self._demand + (self._free * after).sum(axis=1)
        # Overlapping work leaves the product form; probabilities stay probabilities.
        after[:, 0] = np.clip(1.0 - taken / self._servers, 0.0, 1.0)
        self._probability = np.minimum(after, 1.0)


def asymptotic_bounds(
    demands_s: Sequence[float], clients: int, think_s: float, latency_s: float
) -> tuple[float, float]:
    """(lower, upper) bound of the rate: all clients in one queue; none ever waiting.

    `demands_s` are per server. The lower bound assumes every station serves one at a time.
    """
    total, largest = float(sum(demands_s)), max(demands_s, default=0.0)
    lower = clients / (think_s + latency_s + (clients - 1) * max(total, largest))
    upper = clients / (think_s + latency_s)
    if largest:
        upper = min(upper, 1.0 / largest)
    # Work that nobody waits for can fill a station before the first client does.
    return min(lower, upper), upper


def approximate(
    demands_s: Sequence[float], clients: int, think_s: float = 0.0, tolerance: float = 1e-10
) -> Closed:
    """Schweitzer's fixed point for single servers: any number of clients at the same cost."""
    demand = np.asarray(demands_s, dtype=float)
    queue = np.full_like(demand, clients / max(1, len(demand)))
    while True:
        response = demand * (1 + queue * (clients - 1) / clients)
        rate = clients / (think_s + float(response.sum()))
        after = rate * response
        if np.abs(after - queue).max(initial=0.0) < tolerance * clients:
            break
        queue = after
    return Closed(rate, float(response.sum()), after, response - demand, rate * demand)


def balanced_bounds(
    demands_s: Sequence[float], clients: int, think_s: float = 0.0
) -> tuple[float, float]:
    """(lower, upper) bound of the rate of single servers, from the balanced network's rate."""
    demand = np.asarray(demands_s, dtype=float)
    total, largest = float(demand.sum()), float(demand.max())
    mean = total / len(demand)
    lower = clients / (
        think_s + total + (clients - 1) * largest / (1 + think_s / (clients * total))
    )
    upper = clients / (think_s + total + (clients - 1) * mean / (1 + think_s / total))
    return lower, min(upper, 1 / largest)
