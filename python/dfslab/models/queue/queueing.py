"""Solves closed queueing networks: mean value analysis (MVA), its extension to overlapping work,
and bounds.

Sources: Reiser & Lavenberg 1980 (exact MVA); Reiser 1979 (service times that are not exponential);
Sakasegawa 1977 (several servers); Denning & Buzen 1978 (asymptotic bounds); Zahorjan et al. 1982
(balanced bounds).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dfslab.arrays import Floats

# A wait that overlaps with other work, as (stations, share, seconds). The wait is `share` times the
# wait at these stations. It overlaps with `seconds` of the operation's other work. Share and
# seconds may be arrays of shape (networks,).
Overlapped: TypeAlias = tuple[Sequence[int], float | Floats, float | Floats]


@dataclass(frozen=True)
class Closed:
    """The solution of a closed network for one number of clients: the rate and the response time of
    the network, and the queue length, wait and utilisation of each station."""

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
    overlapped: Sequence[Overlapped] = (),
    copies: Sequence[int] | None = None,
    variability: float = 1.0,
) -> Closed:
    """Solves a closed network of FIFO (or processor-sharing) stations with one or several servers
    by MVA.

    `demands_s` has the seconds at each station for one operation. `latency_s` is the latency of the
    operation without waits; None means the sum of the demands. If the latency is this sum, the
    solution is exact for stations with one server. If the latency is larger, it includes pure
    delays, which do not change the waits of MVA. If it is smaller, services within the operation
    overlap. Waits are then assumed to overlap in the same proportion.

    `background_s` is the asynchronous demand at each station. An entry of `overlapped` is
    (stations, share, seconds). The wait is `share` times the wait at these stations, and overlaps
    with `seconds` of other work. Only the part of the wait above `seconds` adds to the response
    time. `variability` is the squared coefficient of variation of the service times; the solution
    is exact for 1 only.
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
        overlapped,
        None if copies is None else np.asarray(copies, dtype=int),
        variability,
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
    overlapped: Sequence[Overlapped] = (),
    copies: NDArray[np.int64] | None = None,
    variability: float = 1.0,
) -> Many:
    """Solves several networks at once by the method of `mean_value_analysis`. `demand` and `extra`
    (asynchronous demand) have shape (stations, networks).

    A row may represent several equal stations. `copies` has the number of stations of each row;
    None means one station for each row. Each station of a row has the row's demand.
    """
    count = servers[:, None]
    several = np.ones(len(demand), dtype=int) if copies is None else copies
    weight = several[:, None]
    total: Floats = (weight * demand).sum(axis=0)
    service = total if latency_s is None else latency_s
    felt = np.ones((len(demand), 1))
    for rows, _, _ in overlapped:
        felt[list(rows)] = 0.0
    open_s: Floats = (weight * demand * felt).sum(axis=0)
    overlap = np.divide(service, open_s, out=np.ones_like(total), where=open_s > 0)
    overlap = np.minimum(1.0, overlap)
    limit: Floats = ((demand + extra) / count).max(axis=0, initial=0.0)
    # Background work can overload a station. The rate is therefore limited to the capacity of the
    # busiest station.
    most = np.divide(1.0, limit, out=np.full_like(limit, np.inf), where=limit > 0)
    queue, waiting = np.zeros_like(demand), np.zeros_like(demand)
    rate = np.zeros_like(total)
    stations = _StationStates(demand, extra, servers, variability)
    for population in range(1, clients + 1):
        waiting = stations.wait_s(population)
        spent = think_s + service + overlap * (weight * waiting * felt).sum(axis=0)
        for rows, share, waiting_alone_s in overlapped:
            spent = spent + np.maximum(
                0.0, share * (weight * waiting)[list(rows)].sum(axis=0) - waiting_alone_s
            )
        rate = np.minimum(
            np.divide(population, spent, out=np.full_like(spent, np.inf), where=spent > 0), most
        )
        queue = stations.step(rate, waiting, population)
    response = np.divide(clients, rate, out=np.zeros_like(rate), where=rate > 0) - think_s
    response = np.where(rate > 0, response, 0.0)
    return Many(rate, response, queue, overlap * waiting, rate * (demand + extra) / count)


class _StationStates:
    """The state of each station when a client arrives: the waiting customers, and the probability
    that no server is free.

    For a station with one server, the state is exact (Reiser & Lavenberg 1980). For m servers, the
    probability that all are busy is approximated by utilisation ** (sqrt(2 (m + 1)) - 1), as in
    Sakasegawa 1977 for M/M/m. If there are no more clients than servers, no client waits. The rates
    by this approximation are within 3 % of the exact recursion. The exact recursion is not used,
    because it is numerically unstable with many servers near saturation.

    If service times have the squared coefficient of variation v, the service in progress takes
    another (1 + v) / 2 of a service time on average (Reiser 1979).
    """

    def __init__(
        self, demand: Floats, extra: Floats, servers: NDArray[np.int64], variability: float
    ) -> None:
        self._remaining = (1.0 + variability) / 2.0
        self._demand, self._extra, self._servers = demand, extra, servers[:, None]
        self._power = np.sqrt(2.0 * (self._servers + 1)) - 1.0
        self._waiting = np.zeros_like(demand)
        self._busy = np.zeros_like(demand)

    def wait_s(self, population: int) -> Floats:
        """Returns the seconds for which an arriving client waits at each station. `population` is
        the number of clients, including the arriving one.
        """
        found: Floats = (
            self._demand / self._servers * (self._waiting + self._remaining * self._busy)
        )
        return np.where(population > self._servers, found, 0.0)

    def step(self, rate: Floats, wait_s: Floats, population: int) -> Floats:
        """Advances to the next population; returns the mean number of customers at each station."""
        used = rate * (self._demand + self._extra)
        queue: Floats = np.minimum(used + rate * wait_s, population)
        self._waiting = np.maximum(0.0, queue - used)
        self._busy = np.clip(used / self._servers, 0.0, 1.0) ** self._power
        return queue


def asymptotic_bounds(
    demands_s: Sequence[float], clients: int, think_s: float, latency_s: float
) -> tuple[float, float]:
    """Returns (lower bound, upper bound) of the rate per second.

    At the lower bound, every client waits for all others at every station, and each station serves
    one client at a time. At the upper bound, no client ever waits, but the rate does not exceed the
    capacity of the busiest station. `demands_s` are the demands in seconds per server.
    """
    total, largest = float(sum(demands_s)), max(demands_s, default=0.0)
    lower = clients / (think_s + latency_s + (clients - 1) * max(total, largest))
    upper = clients / (think_s + latency_s)
    if largest:
        upper = min(upper, 1.0 / largest)
    # Background work can saturate a station without any client, so the lower bound is limited to
    # the upper bound.
    return min(lower, upper), upper
