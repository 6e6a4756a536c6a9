"""Solves closed queueing networks: exact mean value analysis (MVA), its extension to overlapping
work, and bounds.

Sources: Reiser & Lavenberg 1980 (exact MVA, several servers by marginal probabilities); Denning &
Buzen 1978 (asymptotic bounds); Zahorjan et al. 1982 (balanced bounds).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dfslab.arrays import Floats

# (stations, share, seconds): waits that overlap with other work. The wait at these stations, times
# the share, overlaps with that many seconds of the operation's other work. Share and seconds may
# have shape (networks,).
Hidden: TypeAlias = tuple[Sequence[int], float | Floats, float | Floats]


@dataclass(frozen=True)
class Closed:
    """The solution of a closed network for one number of clients: rate, response time, and figures
    of each station.
    """

    rate_per_s: float
    response_s: float
    queue: Floats
    waiting_s: Floats
    utilisation: Floats


def mean_value_analysis(
    demands_s: Sequence[float],
    clients: int,
    think_s: float = 0.0,
    servers: Sequence[int] | None = None,
    latency_s: float | None = None,
    background_s: Sequence[float] | None = None,
    hidden: Sequence[Hidden] = (),
) -> Closed:
    """Solves a closed network of FIFO (or processor-sharing) stations with one or several servers
    by exact MVA.

    `demands_s`: seconds at each station for one operation. `latency_s`: unloaded latency of the
    operation; None means the sum of the demands, for which the solution is exact. A larger latency
    (pure delays) does not change the waits of MVA. With a smaller one (overlap within the
    operation), waits overlap as the services do. `background_s`: asynchronous demand at each
    station. `hidden`: (stations, share, seconds); the wait at these stations, times the share, adds
    to the response only what exceeds these seconds of other work.
    """
    demand = np.asarray(demands_s, dtype=float)
    extra = np.zeros_like(demand) if background_s is None else np.asarray(background_s, float)
    count = np.ones(len(demand), dtype=int) if servers is None else np.asarray(servers, dtype=int)
    closed = many_values(
        demand[:, None],
        clients,
        think_s,
        count,
        None if latency_s is None else np.array([latency_s]),
        extra[:, None],
        hidden,
    )
    return Closed(
        float(closed.rate_per_s[0]),
        float(closed.response_s[0]),
        closed.queue[:, 0],
        closed.waiting_s[:, 0],
        closed.utilisation[:, 0],
    )


@dataclass(frozen=True)
class Many:
    """The solutions of several networks with the same stations. Arrays have one column per
    network.
    """

    rate_per_s: Floats
    response_s: Floats
    queue: Floats
    waiting_s: Floats
    utilisation: Floats


def many_values(
    demand: Floats,
    clients: int,
    think_s: float,
    servers: NDArray[np.int64],
    latency_s: Floats | None,
    extra: Floats,
    hidden: Sequence[Hidden] = (),
) -> Many:
    """Solves several networks at once, as `mean_value_analysis` solves one. `demand` and `extra`
    (asynchronous demand) have shape (stations, networks).
    """
    count = servers[:, None]
    total: Floats = demand.sum(axis=0)
    service = total if latency_s is None else latency_s
    felt = np.ones((len(demand), 1))
    for places, _, _ in hidden:
        felt[list(places)] = 0.0
    open_s: Floats = (demand * felt).sum(axis=0)
    overlap = np.divide(service, open_s, out=np.ones_like(total), where=open_s > 0)
    overlap = np.minimum(1.0, overlap)
    limit: Floats = ((demand + extra) / count).max(axis=0, initial=0.0)
    # With background work a station can be overloaded, so the rate is limited to the capacity of
    # the stations.
    most = np.divide(1.0, limit, out=np.full_like(limit, np.inf), where=limit > 0)
    queue, waiting = np.zeros_like(demand), np.zeros_like(demand)
    rate = np.zeros_like(total)
    busy = _BusyServers(demand, servers)
    for population in range(1, clients + 1):
        waiting = np.maximum(0.0, demand / count * (1.0 + queue + busy.idle()) - demand)
        spent = think_s + service + overlap * (waiting * felt).sum(axis=0)
        for places, share, waiting_alone_s in hidden:
            spent = spent + np.maximum(
                0.0, share * waiting[list(places)].sum(axis=0) - waiting_alone_s
            )
        rate = np.minimum(
            np.divide(population, spent, out=np.full_like(spent, np.inf), where=spent > 0), most
        )
        queue = np.minimum(rate * (demand + extra + waiting), population)
        busy.step(rate)
    response = np.divide(clients, rate, out=np.zeros_like(rate), where=rate > 0) - think_s
    response = np.where(rate > 0, response, 0.0)
    return Many(rate, response, queue, overlap * waiting, rate * (demand + extra) / count)


class _BusyServers:
    """The probabilities p(j) that j of the m servers of a station are busy, for j < m, updated
    client by client as exact MVA requires.

    Only stations with several servers need them.
    """

    def __init__(self, demand: Floats, servers: NDArray[np.int64]) -> None:
        self._several = np.flatnonzero(servers > 1)
        self._demand = demand[self._several]
        self._servers = servers[self._several][:, None]
        self._all = np.zeros_like(demand)
        most = int(servers.max(initial=1))
        self._probability = np.zeros((most, *self._demand.shape))
        self._probability[0] = 1.0
        index = np.arange(most)[:, None, None]
        # The factors (m - 1 - j) for j = 0 .. m - 2 busy servers of m, and (m - j) for j = 1 .. m -
        # 1.
        self._idle = np.maximum(0, self._servers - 1 - index)
        self._free = np.where(index > 0, np.maximum(0, self._servers - index), 0)
        # The factors 1 / j for j < m busy servers of m. States with all servers busy are not
        # distinguished.
        self._each = np.where(index < self._servers, 1.0 / np.maximum(1, index), 0.0)[1:]

    def idle(self) -> Floats:
        """Returns for each station the sum over j of (m - 1 - j) p(j), by which MVA corrects the
        queue length at m servers; p(j) is the probability of j busy servers.
        """
        if len(self._several):
            self._all[self._several] = (self._idle * self._probability).sum(axis=0)
        return self._all

    def step(self, rate: Floats) -> None:
        """Updates the probabilities to one more client, given the rate with that client."""
        if not len(self._several):
            return
        before = self._probability
        after = np.zeros_like(before)
        after[1:] = rate * self._demand * self._each * before[:-1]
        taken = rate * self._demand + (self._free * after).sum(axis=0)
        # Overlapping work has no product form, so the result is clipped to a probability.
        after[0] = np.clip(1.0 - taken / self._servers, 0.0, 1.0)
        self._probability = np.minimum(after, 1.0)


def asymptotic_bounds(
    demands_s: Sequence[float], clients: int, think_s: float, latency_s: float
) -> tuple[float, float]:
    """Returns (lower, upper) bounds of the rate per second. For the lower bound, all clients wait
    in one queue; for the upper bound, no client ever waits.

    `demands_s` are per server. The lower bound assumes that every station serves one client at a
    time.
    """
    total, largest = float(sum(demands_s)), max(demands_s, default=0.0)
    lower = clients / (think_s + latency_s + (clients - 1) * max(total, largest))
    upper = clients / (think_s + latency_s)
    if largest:
        upper = min(upper, 1.0 / largest)
    # Background work can saturate a station without any client, so the lower bound must not exceed
    # the upper one.
    return min(lower, upper), upper
