"""Predicts one configuration from its operation trees and values of the calibrated constants."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Generic, TypeVar, cast

import numpy as np

from dfslab import discover
from dfslab.arrays import Floats
from dfslab.models.queue.lock import Locks, alone
from dfslab.models.queue.open_queue import finite_queue, open_network, quantile_s
from dfslab.models.queue.queueing import (
    Closed,
    Hidden,
    Many,
    asymptotic_bounds,
    many_values,
    mean_value_analysis,
)
from dfslab.models.tree.costs import Cost, Demands, largest, share_of
from dfslab.models.tree.dirty_pages import written_back_share
from dfslab.models.tree.phases import WorkPhase, many_together, phases_of, together
from dfslab.models.tree.placement import Placement, Station
from dfslab.models.tree.predicted import OpenPrediction, Prediction, Predictions, stacked
from dfslab.models.tree.reader import TreeReader, Varies
from dfslab.models.tree.traced import ReplayedOperations
from dfslab.spec.environment import distinct_bytes, environment, parameters, workload_parameters
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps import calls
from dfslab.spec.steps.node import Hold, walk
from dfslab.spec.streams.workload import stream_mix
from dfslab.spec.systems.filesystem import FileSystem

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


class Situation:
    """A configuration prepared for predictions with different sets of calibrated constants."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.system: FileSystem = discover.file_system(scenario.file_system.name)
        workload = discover.workload(scenario.workload.name)
        own = workload_parameters(scenario, workload)
        stream = workload.stream_of(own, scenario.workload.clients)
        self.mix = stream_mix(stream)
        self.environment = environment(scenario, self.system, workload)
        self.trace = ReplayedOperations(stream) if stream.given else None
        self.parameters = parameters(scenario, self.system)
        self.placement = Placement(scenario.deployment)
        self.client = next(r.name for r in self.system.roles if r.kind == "client")
        self.operations = len(stream.given) or own.operations() * scenario.workload.clients
        if self.trace is not None:
            self.environment.update(self.trace.environment())
            moved = self.environment["file_size"]
            self.phases = [WorkPhase("", 1.0, self.mix, moved)]
            volume = float(self.trace.written_bytes)
        else:
            groups = scenario.deployment.groups_of(self.client)
            nodes = sum(group.count for group in groups)
            self.phases = phases_of(scenario, stream, self.environment, nodes)
            volume = self.operations * sum(one.weight * one.written_bytes for one in self.phases)
            if stream.moves_parts:
                # Transfers write the same bytes of their files again and again, so at most the
                # distinct bytes count as written.
                volume = min(volume, distinct_bytes(scenario, own, stream))
        self.written_back = written_back_share(scenario, self.system, volume)

    @cached_property
    def constants(self) -> dict[str, float]:
        """The prior medians of the calibrated constants in this configuration's trees."""
        calibrated = self.system.parameters.of_origin("calibrated")
        acting = {key for operation in self.mix for key in self.system.acting(operation)}
        return {k: float(p.default or 0.0) for k, p in calibrated.items() if k in acting}

    def is_clients(self, station: Station) -> bool:
        """Returns whether a station is on nodes that host clients only."""
        groups = self.placement.deployment.groups_of(self.client)
        return any(
            group.name == station.place and set(group.roles) == {self.client} for group in groups
        )

    def reader(self, constants: Mapping[str, float]) -> TreeReader:
        """Returns the reader that evaluates this configuration's trees with these constants."""
        values = {**self.environment, **constants}
        return TreeReader(
            self.placement, values, self.client, self.written_back, self.operations or math.inf
        )

    @property
    def whole(self) -> WorkPhase:
        """All phases combined into one, with the mix of all operations."""
        if len(self.phases) == 1:
            return self.phases[0]
        moved = sum(one.weight * one.moved_bytes for one in self.phases)
        symbols = {name: own for one in self.phases for name, own in one.symbols.items()}
        return WorkPhase("", 1.0, self.mix, moved, 0.0, symbols)

    @property
    def symbols(self) -> dict[str, float]:
        """The symbols that have other values in the only phase of the workload, for all its
        operations. Empty if there are several phases."""
        merged: dict[str, float] = {}
        for own in self.whole.symbols.values() if len(self.phases) == 1 else ():
            merged.update(own)
        return merged

    def alone(self, index: int) -> Situation:
        """Returns a copy of this configuration whose only phase is the one with number `index`."""
        found = copy(self)
        found.__dict__.pop("constants", None)
        found.phases = [replace(self.phases[index], weight=1.0)]
        found.mix = dict(self.phases[index].mix)
        return found

    def costs(
        self, constants: Mapping[str, float], phase: WorkPhase | None = None
    ) -> dict[str, Cost]:
        """Returns the cost of each operation with these constants, in one phase or in the whole
        workload."""
        phase = phase or self.whole
        trees = {name: self.system.trees[name] for name in phase.mix}
        if self.trace is None:
            return {
                name: self.reader({**constants, **phase.symbols.get(name, {})}).read(tree)
                for name, tree in trees.items()
            }
        values = {**self.environment, **constants}
        return {
            name: self.trace.cost(
                name, tree, self.placement, values, self.client, self.written_back
            )
            for name, tree in trees.items()
        }

    @property
    def notes(self) -> list[str]:
        """Returns caveats about the operations, which are shown with a prediction."""
        stood = calls.taken_as(self.system.operations, self.mix)
        return [stood] if stood else []

    def predict_open(self, constants: Mapping[str, float], rate_per_s: float) -> OpenPrediction:
        """Solves this configuration as an open network with arrivals at `rate_per_s`."""
        solver = _Solver(self, self.whole, self.costs(constants))
        return solver.open(rate_per_s, self.call_queue(constants))

    def call_queue(self, constants: Mapping[str, float]) -> tuple[frozenset[str], float] | None:
        """Returns which role and groups serve the smallest call queue, and the size of the queue in
        calls. Returns None if no call queue has a limit."""
        reader, found = self.reader(constants), []
        for name in self.mix:
            for node in walk(self.system.trees[name]):
                if isinstance(node, Hold) and node.resource.places is not None:
                    role = node.resource.role
                    nodes = {group.name for group in self.scenario.deployment.groups_of(role)}
                    size = reader.value(node.resource.places)
                    found.append((frozenset({role, *nodes}), float(size)))
        return min(found, key=lambda one: one[1], default=None)

    def predict(self, constants: Mapping[str, float]) -> Prediction:
        """Solves the closed networks of this configuration's phases with these constants."""
        found = [_Solver(self, one, self.costs(constants, one)).prediction() for one in self.phases]
        return together(self.phases, found)

    def rate_with_load(
        self, constants: Mapping[str, float], station: Station, factor: float
    ) -> float:
        """Returns the rate in operations per second if operations held `station` (threads or a
        lock) for `factor` times as long."""
        time_s = 0.0
        for phase in self.phases:
            costs = self.costs(constants, phase)
            for cost in costs.values():
                for loaded in cost.demands:
                    if (loaded.place, loaded.kind) == (station.place, station.kind):
                        cost.demands[loaded] *= factor
            time_s += phase.weight / float(_Solver(self, phase, costs).closed.rate_per_s)
        return 1.0 / time_s

    def predict_many(self, sets: Sequence[Mapping[str, float]]) -> Predictions:
        """Predicts for several sets of the same constants at once, as `predict` does for one
        set.
        """
        columns = {key: np.array([one[key] for one in sets]) for key in sets[0]}
        # Operation trees are evaluated with arrays in the same way as with numbers.
        constants = cast(Mapping[str, float], columns)
        try:
            costs = [self.costs(constants, one) for one in self.phases]
        except Varies:
            # Counts differ between the sets of constants, so each set is solved alone.
            return stacked([self.predict(one) for one in sets])
        each = zip(self.phases, costs, strict=True)
        found = [_ManySolver(self, one, cost, len(sets)).predictions() for one, cost in each]
        return many_together(self.phases, found)


@lru_cache(maxsize=2048)
def situation_of(scenario: Scenario) -> Situation:
    """Returns the prepared configuration of a scenario, cached for equal scenarios."""
    return Situation(scenario)


# The solution of a closed network: for one set of constants (`Closed`), or for several sets
# (`Many`).
Solution = TypeVar("Solution", bound=Closed | Many)


class _Stations(ABC, Generic[Solution]):
    """The stations that a phase's operations use; `closed` is the solution of their network."""

    def __init__(self, situation: Situation, phase: WorkPhase, costs: Mapping[str, Cost]) -> None:
        self.situation, self.phase, self.costs = situation, phase, costs
        mean = Cost()
        for name, share in phase.mix.items():
            mean = mean.then(costs[name].times(share))
        self.mean = mean
        self.locks = Locks(mean.visits)
        stations = sorted({alone(station) for station in (*mean.demands, *mean.background)})
        # Nodes with equal hardware share the work evenly, so one row of the closed network
        # represents all of them.
        self.stations = stations
        self.expanded = [s for s in stations for _ in range(s.copies)]
        self.closed = self._solve()

    def _vector(self, demands: Demands) -> list[float]:
        """Returns the demands in seconds at each copy of every station."""
        each = self._of_stations(demands)
        return [d for d, s in zip(each, self.stations, strict=True) for _ in range(s.copies)]

    def _of_stations(self, demands: Demands) -> list[float]:
        """Returns the demands in seconds at one copy of every station."""
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

    def _hidden(self) -> list[Hidden]:
        """Returns the waits for token buckets, because they overlap with an operation's other work.

        Clients stay on the node to which they are evenly assigned, so a client's bucket is shared
        only with the clients of that node."""
        found: list[Hidden] = []
        for station, alone_s in self.mean.limited.items():
            places = [
                i
                for i, one in enumerate(self.stations)
                if (one.place, one.kind) == (station.place, station.kind)
            ]
            all_s = sum(
                d
                for s, d in self.mean.demands.items()
                if s.place == station.place and s.kind == station.kind
            )
            if places and np.any(all_s):
                own = self.situation.is_clients(station)
                waiting_alone_s = math.inf if own else largest((0.0, self.mean.latency_s - alone_s))
                found.append((places, np.minimum(1.0, share_of(alone_s, all_s)), waiting_alone_s))
        return found


class _Solver(_Stations[Closed]):
    """Computes rate, latency and step times from the operations' costs, for one set of
    constants.
    """

    def _solve(self) -> Closed:
        workload = self.situation.scenario.workload
        found = mean_value_analysis(
            self._of_stations(self.mean.demands),
            workload.clients,
            workload.think_time,
            [station.servers for station in self.stations],
            self.mean.latency_s,
            self._of_stations(self.mean.background),
            self._hidden(),
            [station.copies for station in self.stations],
            self.situation.system.service_variability,
        )
        return self._expanded(found)

    def open(
        self, rate_per_s: float, queue: tuple[frozenset[str], float] | None = None
    ) -> OpenPrediction:
        """Solves an open network of M/M/c stations, background work included.

        `queue` has the names of the role and groups that serve a call queue, and its size in calls.
        If the bottleneck is among them, its queue is M/M/1/K with its service time (Kleinrock
        1975)."""
        fore, back = self._vector(self.mean.demands), self._vector(self.mean.background)
        demands = [d + b for d, b in zip(fore, back, strict=True)]
        servers = [station.servers for station in self.expanded]
        each: list[float] = [d / s for d, s in zip(demands, servers, strict=True)]
        fullest = max(each, default=0.0)
        largest = 1.0 / fullest if fullest else math.inf
        found = open_network(rate_per_s, demands, servers, self.mean.latency_s)
        limit = self.expanded[int(np.argmax(each))] if each else None
        binding = "nothing" if limit is None else str(limit)
        behind = queue is not None and limit is not None and limit.place in queue[0]
        places = queue[1] if queue is not None and behind else None
        bounded = None
        if places is not None:
            bounded = finite_queue(rate_per_s, fullest, 1, round(places))
        refused = bounded.refused if bounded else 0.0
        if found.response_s is None:
            if bounded is None:
                return OpenPrediction(
                    rate_per_s, min(rate_per_s, largest), largest, None, {}, {}, binding
                )
            # Calls are admitted at the service rate, so they wait only in the full call queue.
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
                binding,
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
            binding,
            places,
            refused,
        )

    def _loaded_s(self, cost: Cost) -> float:
        """Returns an operation's latency in seconds including its waits at stations. The operation
        has a part of each station's wait, in proportion to its share of the station's demand."""
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
        # At a saturated station, the number of clients determines the response time, not the number
        # of visits to the station.
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
            rate_per_s=self.closed.rate_per_s,
            latency_s={name: latency * scale for name, latency in loaded.items()},
            unloaded_s={name: cost.latency_s for name, cost in self.costs.items()},
            steps=steps,
            utilisation=dict(zip(self.expanded, map(float, self.closed.utilisation), strict=True)),
            bounds_per_s=asymptotic_bounds(
                both, workload.clients, workload.think_time, self.mean.latency_s
            ),
            moved_bytes=self.phase.moved_bytes,
            quantiles_s=self._quantiles(scale),
        )

    def _quantiles(self, scale: float) -> dict[tuple[str, str], float]:
        """Returns percentiles of each operation's response time in seconds. Only waits and server
        processor times are random. `scale` is the factor by which the latencies were multiplied."""
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


class _ManySolver(_Stations[Many]):
    """The solver for several sets of constants at once. Demands are arrays of shape (sets of
    constants,)."""

    def __init__(
        self, situation: Situation, phase: WorkPhase, costs: Mapping[str, Cost], count: int
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
            workload.think_time,
            np.array([station.servers for station in self.stations], dtype=int),
            np.broadcast_to(self.mean.latency_s, self._count),
            self._rows(self._of_stations(self.mean.background)),
            self._hidden(),
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
        """Returns rates, latencies and step times, computed by the rules for a single
        prediction."""
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
        return Predictions(self.closed.rate_per_s, latency, steps)
