"""Computes the terms of step functions at one configuration: values of parameters, network waits,
and the queue lengths that arriving operations find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from dfslab.models.queue.queueing import mean_value_analysis
from dfslab.models.tree.prediction import Situation, situation_of
from dfslab.models.tree.reader import TreeReader
from dfslab.spec.environment import network_effects, payload_share
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps.node import Node
from dfslab.spec.steps.step_path import StepPath

# The terms of a step's time, each with the unit of its coefficient ("" for a pure number).
TERMS = {"1": "s", "network latency": "", "bytes / adapter rate": ""}
TERMS |= {"bytes of the last block / adapter rate": "", "bytes / disk rate": ""}
TERMS |= {"further blocks": "s", "further blocks * network latency": ""}
TERMS |= {"clients met": "s", "clients met * bytes / adapter rate": ""}
TERMS |= {"clients met * bytes of the last block / adapter rate": ""}
TERMS |= {"clients met * crossings": "s"}
SERVER, ADAPTER, LAST_BLOCK, CROSSINGS = range(len(TERMS) - 4, len(TERMS))
# Indices in TERMS of the terms of each resource where clients queue: first the terms of the server,
# then the terms of the adapter.
MET = ((SERVER, CROSSINGS), (ADAPTER, LAST_BLOCK))
# A rate in bytes/s that is so high that its service time is negligible.
UNLIMITED = 1e15
# A step counts as a step that carries file data if it takes at least LEAST_SHARE of the time that a
# block of BLOCK_BYTES needs at the adapter.
BLOCK_BYTES, LEAST_SHARE = 2.0**26, 0.05
BY_BYTES = np.array(["bytes" in name for name in TERMS])
BY_LATENCY = np.array(["network latency" in name for name in TERMS])
# Step names with a special meaning: the whole operation, and a step's self time (without its inner
# calls).
WHOLE, REST = "whole", "rest"


class TermValues:
    """The values of all terms at one configuration, for the functions of one operation.

    `kept` has one entry for each term: 1 if the term may be used, else 0.
    """

    def __init__(self, scenario: Scenario, operation: str, kept: np.ndarray | float = 1.0) -> None:
        self._scenario, self._operation = scenario, operation
        self.terms = kept * terms_of(scenario)

    @cached_property
    def _waits(self) -> Mapping[str, float]:
        return _waits(self._scenario, self._operation)

    @cached_property
    def _carries(self) -> Mapping[str, bool]:
        return _carries(self._scenario, self._operation)

    @cached_property
    def _latency_s(self) -> float:
        return float(situation_of(self._scenario).environment["network_latency"])

    def of_step(
        self, terms: np.ndarray, step: str, calls: Sequence[str]
    ) -> tuple[np.ndarray, float]:
        """Returns the term values of a step, and the network wait of the step in seconds. `calls`
        are inner calls of the step; their waits are not part of the returned wait."""
        waited = _waited_s(self._waits, step, calls)
        crossings = waited / self._latency_s if self._latency_s else 0.0
        terms = np.where(np.arange(len(terms)) == CROSSINGS, crossings * terms, terms)
        if not self._carries.get(_without_rest(step), True):
            terms = np.where(BY_BYTES, 0.0, terms)
        # The latency terms are 0 if the step's network wait is computed from the operation tree. If
        # the latency terms were fitted as well, they would absorb other differences between
        # deployments.
        return (np.where(BY_LATENCY, 0.0, terms) if waited else terms), waited

    def met(self, outer: Mapping[str, np.ndarray]) -> np.ndarray:
        """Returns the term values with the number of clients replaced by a queue length. This queue
        length is the mean that an arriving operation finds, including the operation itself.

        `outer` has the coefficients of the operation's outermost steps. If it is empty, or if no
        term on clients is used, the term values are returned unchanged.

        The queue lengths are computed by MVA of a closed network. All clients share its two
        stations, a server and an adapter. Time elsewhere, such as waiting for the network, is think
        time. All nodes share the processors, so processor time for network crossings counts as time
        of the server.
        """
        count = self.terms[SERVER]
        if not count or not outer:
            return self.terms
        one = self.terms.copy()
        for terms in MET:
            one[list(terms)] /= count
        seconds = np.sum(
            [self.of_step(one, step, ())[0] * values for step, values in outer.items()], axis=0
        )
        demands = np.array([seconds[list(terms)].sum() for terms in MET])
        elsewhere_s = _waited_s(self._waits, WHOLE) + float(seconds.sum() - demands.sum())
        closed = mean_value_analysis(demands.tolist(), round(count), elsewhere_s)
        ahead = np.divide(closed.waiting_s, demands, out=np.full(2, count - 1.0), where=demands > 0)
        for terms, others in zip(MET, ahead, strict=True):
            one[list(terms)] *= 1.0 + others
        return one


def terms_of(scenario: Scenario) -> np.ndarray:
    """Returns the value of every term at one configuration, in the order of TERMS."""
    situation = situation_of(scenario)
    values = situation.environment
    data = [role.name for role in situation.system.roles if role.kind == "data"]
    clients = values["clients"]
    size = values["file_size"]
    rate = _adapter_rate(situation)
    disks = [values[f"{role}.disk_{way}_rate"] for role in data for way in ("read", "write")]
    block = situation.parameters.get("block_size", size) or 1.0
    # Without servers, no message crosses the network.
    latency = values["network_latency"] if situation.system.has_servers else 0.0
    moved = size / rate
    crossing = clients if network_effects(scenario).is_crossing_work else 0.0
    further = max(0.0, np.ceil(size / block) - 1)
    last = (size - further * block) / rate
    return np.array(
        [
            1.0,
            latency,
            moved,
            last,
            size / min(disks, default=np.inf),
            further,
            further * latency,
            clients,
            clients * moved,
            clients * last,
            crossing,
        ]
    )


def _adapter_rate(situation: Situation) -> float:
    """Returns the rate of the slowest network adapter on the path of a file's bytes, in bytes/s
    including frame headers."""
    data = [role.name for role in situation.system.roles if role.kind == "data"]
    streams = (situation.environment[f"{role}.nic_bandwidth"] for role in (situation.client, *data))
    return min(streams) / payload_share(situation.scenario)


def _waited_s(waits: Mapping[str, float], step: str, calls: Sequence[str] = ()) -> float:
    """Returns the network wait of a step in seconds, without the waits of its inner calls `calls`.
    The wait is 0 for a step that `waits` does not name."""
    return max(
        0.0, waits.get(_without_rest(step), 0.0) - sum(waits.get(call, 0.0) for call in calls)
    )


def _without_rest(step: str) -> str:
    """Returns the path of a step as text, without the last part that marks a self time."""
    path = StepPath.read(step)
    named = path.parent if path.names[-1] == REST else None
    return str(named or path)


def _waits(scenario: Scenario, operation: str) -> Mapping[str, float]:
    """Returns the network wait in seconds of each step of an operation and of the whole operation,
    computed from the operation tree. Returns an empty mapping if the file system has no tree of the
    operation.

    The wait is a difference of two times of the step: with the network's latency, and without
    latency. In both, all work and all disks take no time. The wait includes propagation and slow
    start, in which a new connection's window doubles until it holds the data or the bandwidth-delay
    product.
    """
    situation = situation_of(scenario)
    tree = situation.system.operations.get(operation)
    if tree is None:
        return {}
    latency_s = situation.environment["network_latency"]
    idle = _idle(situation, network_effects(scenario).burst_bytes, latency_s)
    here, nowhere = (
        _times_s(situation, tree, {**idle, "network_latency": one}) for one in (latency_s, 0.0)
    )
    return {name: time - nowhere.get(name, 0.0) for name, time in here.items()}


def _carries(scenario: Scenario, operation: str) -> dict[str, bool]:
    """Returns for each step of an operation whether the step waits for file data. Returns an empty
    mapping if the operation has no tree.

    The tree is evaluated for a file of two blocks. Two are needed because a write waits for the
    first block, and the close of the file for the second.
    """
    situation = situation_of(scenario)
    tree = situation.system.operations.get(operation)
    if tree is None:
        return {}
    size = float(situation.parameters.get("block_size", 0.0) or BLOCK_BYTES)
    environment = {**_idle(situation), "network_latency": 0.0, "file_size": 2 * size}
    least_s = LEAST_SHARE * size / _adapter_rate(situation)
    times = _times_s(situation, tree, environment)
    return {name: time > least_s for name, time in times.items()}


def _idle(
    situation: Situation, burst_bytes: float = 0.0, latency_s: float = 0.0
) -> dict[str, float]:
    """Returns the symbol values of a configuration in which calibrated constants are zero and disks
    take no time.

    `latency_s` is the network's one-way latency, and `burst_bytes` the bytes that an adapter passes
    without delay. If the latency is above 0, the rate of an adapter is taken as at least
    `burst_bytes` per round-trip time.
    """
    values = {**situation.environment, **dict.fromkeys(situation.constants, 0.0)}
    for key in values:
        if key.endswith((".disk_read_rate", ".disk_write_rate")):
            values[key] = UNLIMITED
        elif key.endswith(".disk_latency"):
            values[key] = 0.0
        elif key.endswith(".nic_bandwidth") and latency_s:
            values[key] = max(values[key], burst_bytes / (2 * latency_s))
    return values


def _times_s(
    situation: Situation, tree: Node, environment: Mapping[str, float]
) -> dict[str, float]:
    """Returns the seconds of each named step and of the whole operation for the symbol values
    `environment`.
    """
    cost = TreeReader(situation.placement, environment, situation.client).read(tree)
    times = {str(path): float(one.latency_s) for path, one in cost.steps.items()}
    return {**times, WHOLE: float(cost.latency_s)}
