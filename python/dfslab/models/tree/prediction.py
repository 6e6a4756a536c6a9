"""Predicts one configuration from its operation trees and values of the calibrated constants."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TypeAlias, cast

import numpy as np

from dfslab import discover
from dfslab.models.queue.phase_solver import ManySolver, PhaseSolver
from dfslab.models.tree.costs import Cost, Demands
from dfslab.models.tree.dirty_pages import written_back_share
from dfslab.models.tree.phase_caches import CacheWalk, PhaseTimes
from dfslab.models.tree.phases import WorkPhase, in_sequence, many_in_sequence, phases_of
from dfslab.models.tree.placement import Placement, Station
from dfslab.models.tree.predicted import OpenPrediction, Prediction, Predictions, stacked
from dfslab.models.tree.reader import TreeReader, Varies
from dfslab.models.tree.traced import ReplayedOperations
from dfslab.spec.environment import environment, parameters, workload_parameters
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps import calls
from dfslab.spec.steps.node import Hold, walk
from dfslab.spec.streams.vocabulary import Stream
from dfslab.spec.streams.workload import stream_mix
from dfslab.spec.systems.filesystem import FileSystem

# Standard deviation of the natural logarithm of a constant that was measured for the profile of a
# machine. The value is estimated from pairs of profiles that were measured on one busy machine
# (tests/oracle/test_measured_spread.py).
MEASURED_SPREAD = 0.2
# Largest number of entries in a configuration's cache of costs. An entry has the costs for one
# phase and one set of constants.
KEPT_COSTS = 4
# The values of all calibrated constants, as (key, value).
Constants: TypeAlias = tuple[tuple[str, float], ...]


class Situation:
    """A configuration as the models that read operation trees need it: prepared once, and then
    predicted with many sets of calibrated constants.

    A situation is not the same as a `Point`. A `Point` is the configuration as a scenario states
    it, with its labels. A situation is made of the scenario of a point, without labels, and adds
    what follows from the descriptions of file system and workload: the values of symbols
    (`environment`), the mix of operations, the placement of roles on nodes, and the phases with the
    states of their caches.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.system: FileSystem = discover.file_system(scenario.file_system.name)
        workload = discover.workload(scenario.workload.name)
        own = workload_parameters(scenario, workload)
        stream = workload.stream_of(own, scenario.workload.clients)
        self.mix = stream_mix(stream)
        self.environment = environment(scenario, self.system, workload)
        self.trace = ReplayedOperations(stream) if stream.given else None
        self.caches: CacheWalk | None = None
        # The costs of operations by (work of a phase, values of the constants). Copies of this
        # configuration that `at` and `alone` return have the same trees, so they share this cache.
        self._last_costs: dict[tuple[str, Constants], dict[str, Cost]] = {}
        self.parameters = parameters(scenario, self.system)
        self.placement = Placement(scenario.deployment)
        self.client = next(r.name for r in self.system.roles if r.kind == "client")
        self.constants = self.prior_medians()
        self.operations = len(stream.given) or own.operations() * scenario.workload.clients
        self.phases = (
            self._phases_of_trace(self.trace)
            if self.trace is not None
            else self._phases_in_caches(stream)
        )

    def _phases_of_trace(self, trace: ReplayedOperations) -> list[WorkPhase]:
        """Returns the only phase of a replayed trace. The trace gives some symbols their values."""
        self.environment.update(trace.environment())
        stored = float(trace.written_bytes) * max(1.0, self.system.stored_copies(self.parameters))
        return [
            WorkPhase(
                "",
                1.0,
                self.mix,
                self.environment["file_size"],
                think_time_s=self.scenario.workload.think_time,
                written_back=written_back_share(self.scenario, self.system, stored),
            )
        ]

    def _phases_in_caches(self, stream: Stream) -> list[WorkPhase]:
        """Returns the phases of a workload with the states of their caches. A state depends on the
        time of the phase before, which is predicted from the state of that phase."""
        groups = self.scenario.deployment.groups_of(self.client)
        nodes = sum(group.count for group in groups)
        phases = phases_of(self.scenario, stream, self.environment, nodes)
        self.caches = CacheWalk(self.scenario, self.system, stream, self.parameters, phases)
        return self.caches.phases(self._times(self.constants))

    def prior_medians(self) -> dict[str, float]:
        """Returns the prior median of each calibrated constant on which the operations in `mix`
        depend. The prior median is the value in the profile of the clients' machine. If the profile
        lacks the constant, it is the default value of the description."""
        calibrated = self.system.parameters.of_origin("calibrated")
        acting = {key for operation in self.mix for key in self.system.acting(operation)}
        usual = {k: float(p.default or 0.0) for k, p in calibrated.items() if k in acting}
        return {k: self.measured.get(k, value) for k, value in usual.items()}

    @cached_property
    def measured(self) -> Mapping[str, float]:
        """The values of calibrated constants in the profile of the clients' machine, by key, in SI
        units. Empty if clients have machines of several kinds."""
        groups = self.scenario.deployment.groups_of(self.client)
        return self.system.measured(groups[0].local_files) if len(groups) == 1 else {}

    def spread(self, key: str) -> float:
        """Returns the standard deviation of the natural logarithm of a calibrated constant before
        any workload was measured."""
        declared = self.system.parameters.of_origin("calibrated")[key].spread
        if key not in self.measured:
            return declared
        of_calls = self.scenario.deployment.uncertainty.log_sds().get("calls", 0.0)
        return max(min(declared, MEASURED_SPREAD), of_calls)

    def is_clients(self, station: Station) -> bool:
        """Returns whether a station is on nodes that host clients only."""
        groups = self.placement.deployment.groups_of(self.client)
        return any(
            group.name == station.place and set(group.roles) == {self.client} for group in groups
        )

    def reader(
        self, constants: Mapping[str, float], written_back: float | None = None
    ) -> TreeReader:
        """Returns the reader that evaluates this configuration's trees with these constants.

        `written_back` is the share of deferred writes that disks must complete before the workload
        can end. None means the mean share over the phases.
        """
        values = {**self.environment, **constants}
        share = self.written_back if written_back is None else written_back
        return TreeReader(self.placement, values, self.client, share, self.operations or math.inf)

    @property
    def written_back(self) -> float:
        """The share of deferred writes that disks must complete before the workload can end. The
        share is the mean over the workload's phases, weighted by written bytes."""
        written = [one.weight * one.written_bytes for one in self.phases]
        if not any(written):
            return self.phases[0].written_back
        parts = zip(written, self.phases, strict=True)
        return sum(bytes_ * one.written_back for bytes_, one in parts) / sum(written)

    def at(self, constants: Mapping[str, float]) -> Situation:
        """Returns a copy of this configuration in which the cache states of the phases are those
        for these values of the calibrated constants.

        The constants affect the cache states only if writers wait for disks: the longer a phase
        takes, the more the disks write meanwhile.
        """
        if self.caches is None or not self.caches.throttles:
            return self
        found = copy(self)
        found.phases = self.caches.phases(self._times(constants))
        return found

    def with_clients(self, clients: int) -> Situation:
        """Returns this configuration with another number of clients. Each client does the same work
        in the same cache states."""
        workload = self.scenario.workload.model_copy(update={"clients": clients})
        found = copy(self)
        found.scenario = self.scenario.model_copy(update={"workload": workload})
        return found

    def _times(self, constants: Mapping[str, float]) -> PhaseTimes:
        """Returns the functions that compute the times of a phase with these constants."""
        return PhaseTimes(
            lambda phase: self._seconds(constants, phase),
            lambda phase: self._deferred_s(constants, phase),
        )

    def _seconds(self, constants: Mapping[str, float], phase: WorkPhase) -> float:
        """Returns the seconds of a phase without its pause."""
        solver = PhaseSolver(self, phase, self.costs(constants, phase))
        return self.operations * phase.weight / float(solver.closed.rate_per_s)

    def _deferred_s(self, constants: Mapping[str, float], phase: WorkPhase) -> float:
        """Returns the seconds for which the deferred writes of a phase occupy the busiest disks."""
        costs = self.costs(constants, replace(phase, written_back=1.0))
        each: dict[Station, float] = {}
        for name, share in phase.mix.items():
            for station, demand_s in costs[name].background.items():
                if station.kind == "disk":
                    own_s = share * demand_s / (station.copies * station.servers)
                    each[station] = each.get(station, 0.0) + own_s
        return self.operations * phase.weight * max(each.values(), default=0.0)

    @property
    def whole(self) -> WorkPhase:
        """All phases combined into one, with the mix of all operations."""
        if len(self.phases) == 1:
            return self.phases[0]
        moved = sum(one.weight * one.moved_bytes for one in self.phases)
        symbols = {name: own for one in self.phases for name, own in one.symbols.items()}
        share = self.written_back
        return WorkPhase("", 1.0, self.mix, moved, 0.0, symbols, written_back=share)

    @property
    def symbols(self) -> dict[str, float]:
        """The symbols whose values in the workload's only phase differ from those in `environment`,
        for all operations together. Empty if there are several phases."""
        merged: dict[str, float] = {}
        for own in self.whole.symbols.values() if len(self.phases) == 1 else ():
            merged.update(own)
        return merged

    def alone(self, index: int) -> Situation:
        """Returns a copy of this configuration whose only phase is the one with number `index`."""
        found = copy(self)
        found.phases, found.caches = [replace(self.phases[index], weight=1.0)], None
        found.mix = dict(self.phases[index].mix)
        found.constants = found.prior_medians()
        return found

    def costs(
        self, constants: Mapping[str, float], phase: WorkPhase | None = None
    ) -> Mapping[str, Cost]:
        """Returns the cost of each operation with these constants in one phase. If `phase` is None,
        returns the cost in the whole workload.

        At most KEPT_COSTS results are cached, because a prediction and the notes on it need the
        same costs. Callers must not change the returned costs.
        """
        phase = phase or self.whole
        if any(isinstance(value, np.ndarray) for value in constants.values()):
            return self._read(constants, phase)
        key = phase.work, tuple(constants.items())
        if key not in self._last_costs:
            if len(self._last_costs) >= KEPT_COSTS:
                self._last_costs.clear()
            self._last_costs[key] = self._read(constants, phase)
        return self._last_costs[key]

    def _read(self, constants: Mapping[str, float], phase: WorkPhase) -> dict[str, Cost]:
        """Evaluates the tree of each operation of a phase and returns the operations' costs."""
        trees = {name: self.system.trees[name] for name in phase.mix}
        if self.trace is None:
            return {
                name: self.reader(
                    {**phase.symbols.get(name, {}), **constants}, phase.written_back
                ).read(tree)
                for name, tree in trees.items()
            }
        values = {**self.environment, **constants}
        return {
            name: self.trace.cost(
                name, tree, self.placement, values, self.client, phase.written_back
            )
            for name, tree in trees.items()
        }

    @property
    def notes(self) -> list[str]:
        """Returns caveats about the operations, which are shown with a prediction."""
        stood = calls.taken_as(self.system.operations, self.mix)
        uncertain = self.scenario.deployment.uncertainty.note()
        return [one for one in (stood, uncertain) if one]

    def predict_open(self, constants: Mapping[str, float], rate_per_s: float) -> OpenPrediction:
        """Solves this configuration as an open network with arrivals at `rate_per_s`."""
        solver = PhaseSolver(self, self.whole, self.costs(constants))
        return solver.open(rate_per_s, self.call_queue(constants))

    def call_queue(self, constants: Mapping[str, float]) -> tuple[frozenset[str], float] | None:
        """Returns two facts on the smallest call queue: the names of the role and of the node
        groups that serve it, and its size in calls. Returns None if no call queue has a limit."""
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
        found = [
            PhaseSolver(self, one, self.costs(constants, one)).prediction() for one in self.phases
        ]
        return in_sequence(self.phases, found)

    def rate_with_load(
        self, constants: Mapping[str, float], station: Station, factor: float
    ) -> float:
        """Returns the rate in operations per second if operations held `station` (threads or a
        lock) for `factor` times as long."""
        time_s = 0.0
        for phase in self.phases:
            costs = {
                name: replace(cost, demands=_loaded(cost.demands, station, factor))
                for name, cost in self.costs(constants, phase).items()
            }
            rate_per_s = float(PhaseSolver(self, phase, costs).closed.rate_per_s)
            time_s += phase.weight / phase.paused(rate_per_s, self.scenario.workload.clients)
        return 1.0 / time_s

    def predict_many(self, sets: Sequence[Mapping[str, float]]) -> Predictions:
        """Predicts for several sets of values of the constants in one evaluation. The values are
        equal to those that `predict` returns for each set."""
        if self.caches is not None and self.caches.throttles:
            # Writers wait for disks in this case. The constants then affect the state of the caches
            # after each phase, so each set of constants is solved separately.
            return stacked([self.at(one).predict(one) for one in sets])
        columns = {key: np.array([one[key] for one in sets]) for key in sets[0]}
        # Operation trees are evaluated with arrays in the same way as with numbers.
        constants = cast(Mapping[str, float], columns)
        try:
            costs = [self.costs(constants, one) for one in self.phases]
        except Varies:
            # The number of repetitions, units or copies differs between the sets of constants, so
            # each set is solved separately.
            return stacked([self.predict(one) for one in sets])
        each = zip(self.phases, costs, strict=True)
        found = [ManySolver(self, one, cost, len(sets)).predictions() for one, cost in each]
        return many_in_sequence(self.phases, found)


def _loaded(demands: Demands, station: Station, factor: float) -> Demands:
    """Returns a copy of the demands in seconds. The demands at stations of the place and kind of
    `station` are multiplied by `factor`."""
    place = station.place, station.kind
    return {
        one: seconds * factor if (one.place, one.kind) == place else seconds
        for one, seconds in demands.items()
    }


@lru_cache(maxsize=2048)
def situation_of(scenario: Scenario) -> Situation:
    """Returns the prepared configuration of a scenario, cached for equal scenarios."""
    return Situation(scenario)
