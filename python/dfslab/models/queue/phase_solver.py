"""Solves the closed or open queueing network of one phase of a configuration. The network has the
stations that the phase's operations use. The network is solved for one set of calibrated constants,
or for several sets at once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

import numpy as np

from dfslab.arrays import Floats
from dfslab.models.queue.lock import Locks, alone
from dfslab.models.queue.open_queue import finite_queue, open_network, quantile_s
from dfslab.models.queue.queueing import (
    Closed,
    Many,
    Overlapped,
    asymptotic_bounds,
    many_values,
    mean_value_analysis,
)
from dfslab.models.tree.costs import Cost, Demands, largest, share_of
from dfslab.models.tree.phases import WorkPhase
from dfslab.models.tree.placement import Placement, Station
from dfslab.models.tree.predicted import OpenPrediction, Prediction, Predictions
from dfslab.spec.scenario import Scenario
from dfslab.spec.systems.filesystem import FileSystem

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


class SolvableSituation(Protocol):
    """The attributes of a configuration that a solver uses
    (models/tree/prediction.py:Situation).
    """

    scenario: Scenario
    system: FileSystem
    placement: Placement
    client: str

    def is_clients(self, station: Station) -> bool:
        """Returns whether a station is on nodes that host clients only."""


# The solution of a closed network: for one set of constants (`Closed`), or for several sets
# (`Many`).
Solution = TypeVar("Solution", bound=Closed | Many)


class PhaseStations(ABC, Generic[Solution]):
    """The stations that a phase's operations use; `closed` is the solution of their network."""

    def __init__(
        self, situation: SolvableSituation, phase: WorkPhase, costs: Mapping[str, Cost]
    ) -> None:
        self.situation, self.phase, self.costs = situation, phase, costs
        mean = Cost()
        for name, share in phase.mix.items():
            mean = mean.then(costs[name].times(share))
        self.mean = mean
        self.locks = Locks(mean.visits)
        stations = sorted({alone(station) for station in (*mean.demands, *mean.background)})
        # Nodes with equal hardware share the work evenly. The closed network therefore has only one
        # row for a station that occurs on each of these nodes.
        self.stations = stations
        self.expanded = [s for s in stations for _ in range(s.copies)]
        self.closed = self._solve()

    def _vector(self, demands: Demands) -> list[float]:
        """Returns the demands in seconds at every station, with one entry for each copy of a
        station.
        """
        each = self._of_stations(demands)
        return [d for d, s in zip(each, self.stations, strict=True) for _ in range(s.copies)]

    def _of_stations(self, demands: Demands) -> list[float]:
        """Returns the demands in seconds at one copy of every station, with one entry for each
        station.
        """
        merged = self.locks.merged(demands)
        return [merged.get(station, 0.0) / station.copies for station in self.stations]

    def _expanded(self, closed: Solution) -> Solution:
        """Returns the solution with one row for each copy of a station."""
        copies = [station.copies for station in self.stations]
        return replace(
            closed,
            queue=np.repeat(closed.queue, copies, axis=0),
            waiting_s=np.repeat(closed.waiting_s, copies, axis=0),
            utilisation=np.repeat(closed.utilisation, copies, axis=0),
        )

    @abstractmethod
    def _solve(self) -> Solution:
        """Returns the solution of the closed network for the workload's clients."""

    def _overlapped(self) -> list[Overlapped]:
        """Returns the waits for token buckets as `Overlapped` entries. These waits overlap with an
        operation's other work.

        Each client has a fixed node, and clients are evenly assigned to nodes. A client therefore
        shares a token bucket only with the clients of its node.
        """
        found: list[Overlapped] = []
        for stations in self._alike(self.mean.limited):
            names = {(station.place, station.kind) for station in stations}
            places = [i for i, one in enumerate(self.stations) if (one.place, one.kind) in names]
            each_s = {
                name: sum(d for s, d in self.mean.demands.items() if (s.place, s.kind) == name)
                for name in names
            }
            all_s = sum(each_s.values())
            if places and np.any(all_s):
                # An operation uses one of several node groups. The probability of a group is its
                # share of the demand.
                alone_s = sum(
                    share_of(each_s[one.place, one.kind], all_s) * self.mean.limited[one]
                    for one in stations
                )
                own = self.situation.is_clients(stations[0])
                waiting_alone_s = math.inf if own else largest((0.0, self.mean.latency_s - alone_s))
                found.append((places, np.minimum(1.0, share_of(alone_s, all_s)), waiting_alone_s))
        return found

    def _alike(self, limited: Iterable[Station]) -> list[list[Station]]:
        """Groups token buckets into lists. A list has the buckets of one kind (such as disks) on
        all node groups with equal roles. Such buckets are in one list because an operation may use
        any of these groups. Buckets of clients are in separate lists."""
        roles = {
            group.name: frozenset(group.roles) for group in self.situation.placement.deployment.node
        }
        found: dict[tuple[frozenset[str], str, bool], list[Station]] = {}
        for one in limited:
            key = roles[one.place], one.kind, self.situation.is_clients(one)
            found.setdefault(key, []).append(one)
        return list(found.values())


class PhaseSolver(PhaseStations[Closed]):
    """Computes rate, latency and step times from the operations' costs, for one set of
    constants.
    """

    def _solve(self) -> Closed:
        workload = self.situation.scenario.workload
        found = mean_value_analysis(
            self._of_stations(self.mean.demands),
            workload.clients,
            self.phase.think_time_s,
            [station.servers for station in self.stations],
            self.mean.latency_s,
            self._of_stations(self.mean.background),
            self._overlapped(),
            [station.copies for station in self.stations],
            self.situation.system.service_variability,
        )
        return self._expanded(found)

    def open(
        self, rate_per_s: float, queue: tuple[frozenset[str], float] | None = None
    ) -> OpenPrediction:
        """Solves an open network of M/M/c stations, background work included.

        `queue` is (role and groups that serve a call queue, size of the queue in calls). If one of
        their stations is the bottleneck, it is solved as M/M/1/K (Kleinrock 1975).
        """
        fore, back = self._vector(self.mean.demands), self._vector(self.mean.background)
        demands = [d + b for d, b in zip(fore, back, strict=True)]
        servers = [station.servers for station in self.expanded]
        each: list[float] = [d / s for d, s in zip(demands, servers, strict=True)]
        fullest = max(each, default=0.0)
        largest = 1.0 / fullest if fullest else math.inf
        found = open_network(rate_per_s, demands, servers, self.mean.latency_s)
        limit = self.expanded[int(np.argmax(each))] if each else None
        bottleneck = "nothing" if limit is None else str(limit)
        behind = queue is not None and limit is not None and limit.place in queue[0]
        places = queue[1] if queue is not None and behind else None
        bounded = None
        if places is not None:
            bounded = finite_queue(rate_per_s, fullest, 1, round(places))
        refused = bounded.refused if bounded else 0.0
        if found.response_s is None:
            if bounded is None:
                return OpenPrediction(
                    rate_per_s, min(rate_per_s, largest), largest, None, {}, {}, bottleneck
                )
            # Calls are admitted at the service rate and wait only in the call queue, which is full.
            response_s = self.mean.latency_s + bounded.wait_s
            operations = {
                name: cost.latency_s + bounded.wait_s for name, cost in self.costs.items()
            }
            return OpenPrediction(
                rate_per_s,
                bounded.rate_per_s,
                largest,
                response_s,
                operations,
                {},
                bottleneck,
                places,
                refused,
            )
        waits = [float(wait) for wait in found.waiting_s]
        operations = {
            name: cost.latency_s
            + sum(
                own / total * wait if total else 0.0
                for own, total, wait in zip(self._vector(cost.demands), fore, waits, strict=True)
            )
            for name, cost in self.costs.items()
        }
        quantiles = {
            label: quantile_s(
                self.mean.latency_s, [], waits, list(map(float, found.utilisation)), quantile
            )
            for label, quantile in QUANTILES.items()
        }
        return OpenPrediction(
            rate_per_s,
            rate_per_s * (1 - refused),
            largest,
            found.response_s,
            operations,
            quantiles,
            bottleneck,
            places,
            refused,
        )

    def _loaded_s(self, cost: Cost) -> float:
        """Returns an operation's latency in seconds, including its waits at stations.

        The wait at a station is w d / D seconds: w is the mean wait of all operations there, d the
        demand of this operation, and D the mean demand of all operations.
        """
        waiting = 0.0
        own_and_all = zip(
            self._vector(cost.demands),
            self._vector(self.mean.demands),
            self.closed.waiting_s,
            strict=True,
        )
        for own, total, wait in own_and_all:
            if total:
                waiting += own / total * wait
        return cost.latency_s + waiting

    def prediction(self) -> Prediction:
        workload = self.situation.scenario.workload
        loaded = {name: self._loaded_s(cost) for name, cost in self.costs.items()}
        # The latencies of the operations are scaled so that their mean is the response time of the
        # closed network. At a saturated station, this time follows from the number of clients, not
        # from the number of visits to the station.
        mean = sum(self.phase.mix[n] * latency for n, latency in loaded.items())
        scale = self.closed.response_s / mean if mean else 1.0
        steps = {
            (name, step): self._loaded_s(cost_of_step) * scale
            for name, cost in self.costs.items()
            for step, cost_of_step in cost.steps.items()
        }
        both = [
            (d + b) / s.servers
            for d, b, s in zip(
                self._vector(self.mean.demands),
                self._vector(self.mean.background),
                self.expanded,
                strict=True,
            )
        ]
        return Prediction(
            rate_per_s=self.phase.paused(self.closed.rate_per_s, workload.clients),
            latency_s={name: latency * scale for name, latency in loaded.items()},
            unloaded_s={name: cost.latency_s for name, cost in self.costs.items()},
            steps=steps,
            utilisation=dict(zip(self.expanded, map(float, self.closed.utilisation), strict=True)),
            bounds_per_s=asymptotic_bounds(
                both,
                workload.clients,
                self.phase.think_time_s + self.phase.pause_s,
                self.mean.latency_s,
            ),
            moved_bytes=self.phase.moved_bytes,
            quantiles_s=self._quantiles(scale),
        )

    def _quantiles(self, scale: float) -> dict[tuple[str, str], float]:
        """Returns the percentiles of response times in seconds, by (operation, name of the
        percentile).

        Only waits and the processor times of servers count as random. `scale` is the factor by
        which the mean latencies were multiplied.
        """
        shares = self._vector(self.mean.demands)
        busy = list(map(float, self.closed.utilisation))
        clients = {
            g.name for g in self.situation.placement.deployment.groups_of(self.situation.client)
        }
        found = {}
        for name, cost in self.costs.items():
            own = self._vector(cost.demands)
            parts = zip(own, shares, self.closed.waiting_s, strict=True)
            waits = [mine / total * wait if total else 0.0 for mine, total, wait in parts]
            varying = [
                demand
                for station, demand in self.locks.merged(cost.demands).items()
                if station.kind == "cpu" and station.place not in clients
            ]
            fixed = max(0.0, cost.latency_s - sum(varying))
            for label, quantile in QUANTILES.items():
                found[name, label] = scale * quantile_s(fixed, varying, waits, busy, quantile)
        return found


class ManySolver(PhaseStations[Many]):
    """The solver for several sets of constants at once. Demands are arrays of shape (sets of
    constants,)."""

    def __init__(
        self, situation: SolvableSituation, phase: WorkPhase, costs: Mapping[str, Cost], count: int
    ) -> None:
        self._count = count
        super().__init__(situation, phase, costs)

    def _matrix(self, demands: Demands) -> Floats:
        """Returns demands as an array of shape (stations, sets of constants)."""
        return self._rows(self._vector(demands))

    def _rows(self, rows: Sequence[float | Floats]) -> Floats:
        found = np.empty((len(rows), self._count))
        for index, values in enumerate(rows):
            found[index] = values
        return found

    def _solve(self) -> Many:
        workload = self.situation.scenario.workload
        self._all = self._matrix(self.mean.demands)
        found = many_values(
            self._rows(self._of_stations(self.mean.demands)),
            workload.clients,
            self.phase.think_time_s,
            np.array([station.servers for station in self.stations], dtype=int),
            np.broadcast_to(self.mean.latency_s, self._count),
            self._rows(self._of_stations(self.mean.background)),
            self._overlapped(),
            np.array([station.copies for station in self.stations], dtype=int),
            self.situation.system.service_variability,
        )
        return self._expanded(found)

    def _loaded_s(self, cost: Cost) -> Floats:
        own = self._matrix(cost.demands)
        share = np.divide(own, self._all, out=np.zeros_like(own), where=self._all > 0)
        waiting_s: Floats = (share * self.closed.waiting_s).sum(axis=0)
        return cost.latency_s + waiting_s

    def predictions(self) -> Predictions:
        """Returns rates, latencies and step times for each set of constants. PhaseSolver returns
        the same values for a single set."""
        loaded = {name: self._loaded_s(cost) for name, cost in self.costs.items()}
        mean = np.zeros(self._count)
        for name, share in self.phase.mix.items():
            mean = mean + share * loaded[name]
        scale = np.divide(self.closed.response_s, mean, out=np.ones_like(mean), where=mean != 0)
        steps = {
            (name, step): self._loaded_s(of_step) * scale
            for name, cost in self.costs.items()
            for step, of_step in cost.steps.items()
        }
        latency = {name: time * scale for name, time in loaded.items()}
        clients = self.situation.scenario.workload.clients
        return Predictions(self.phase.paused(self.closed.rate_per_s, clients), latency, steps)
