"""Predicts the limits of a metadata server: number of files, requests per second, size of a burst.

Memory per file is from published figures of each system. Capacity is from the description: the
bottleneck of processors, lock and threads. The largest burst that the server absorbs is from
models/queue/burst.py. All follow Wu 2013, section 4.2, with its misprints corrected.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dfslab.models.fit.demand import Calibration, uncalibrated
from dfslab.models.queue import burst
from dfslab.models.queue.lock import Locks
from dfslab.models.tree.costs import Cost
from dfslab.models.tree.placement import Station
from dfslab.models.tree.prediction import Situation
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps.node import Hold, walk
from dfslab.spec.systems.filesystem import Role

BURSTS_S = (1.0, 10.0, 60.0)
QUANTILES = {"mean": 0.5, "p95": 0.95, "p99": 0.99, "all": 1.0}
# Share of the capacity that is assumed to be in use outside bursts, for the time to drain a queue.
USUAL_SHARE = 0.5
# The quantile of the standard normal distribution that gives a 90 % interval.
Z90 = 1.645


@dataclass(frozen=True)
class FilesInMemory:
    """How many files fit in the server's memory, by the bytes per file of one source."""

    files: float
    bytes_per_file: float
    usable: float
    source: str
    cached: bool


@dataclass(frozen=True)
class Capacity:
    """The largest rate of one operation type, its 90 % interval, and the bottleneck (`binding`)."""

    operation: str
    rate_per_s: float
    low_per_s: float
    high_per_s: float
    binding: str


@dataclass(frozen=True)
class Peak:
    """The largest rate of a peak of `length_s` seconds at which the wait stays within a bound, by
    mean and by quantiles.

    `queue_per_s`: largest rate at which the call queue refuses no request (None: no known limit).
    `drain_s`: time in seconds to drain the queue that such a peak leaves, at half of the capacity.
    """

    operation: str
    length_s: float
    within_per_s: Mapping[str, float]
    queue_per_s: float | None
    drain_s: float
    binding: str


@dataclass(frozen=True)
class ServerLimits:
    """The limits of a configuration's metadata server. All values are finite."""

    system: str
    role: str
    memory_bytes: float
    bound_s: float
    network_s: float
    places: float | None
    files: tuple[FilesInMemory, ...]
    capacity: tuple[Capacity, ...]
    peaks: tuple[Peak, ...]
    notes: tuple[str, ...] = ()


def limits(
    scenario: Scenario,
    bound_s: float = 1.0,
    calibration: Calibration | None = None,
    bursts_s: Sequence[float] = BURSTS_S,
) -> ServerLimits:
    """Returns the limits of a scenario's metadata server. `bound_s` is the wait that requests may
    have in a peak. InputError where the file system has no metadata server.
    """
    situation = Situation(scenario)
    role = _metadata_role(situation)
    known = calibration or uncalibrated(situation)
    declared = situation.system.parameters.of_origin("calibrated")
    priors = {key: float(one.default or 0.0) for key, one in declared.items()}
    constants = {**priors, **known.values}
    values = situation.environment
    network_s = 2 * (values["network_latency"] + values[f"{role.name}.nic_latency"])
    capacity = tuple(
        found
        for name in situation.system.operations
        if (found := _capacity(situation, role, name, constants, known)) is not None
    )
    places = _places(situation, role, constants)
    memory = min(group.memory for group in scenario.deployment.groups_of(role.name))
    files = tuple(
        FilesInMemory(one.files(memory), one.bytes_per_file, one.usable, one.source, one.cached)
        for one in situation.system.memory
        if one.role == role.name
    )
    notes = (
        [] if files else [f"nothing is known of the memory of a file of {situation.system.name}"]
    )
    if calibration is None:
        notes.append("not calibrated: nothing was measured")
    if _shared(scenario, role):
        notes.append(
            f"{role.name} shares its node with other roles; capacity is without their work"
        )
    peaks = tuple(
        _peak(one, length, bound_s, network_s, places) for one in capacity for length in bursts_s
    )
    return ServerLimits(
        situation.system.name,
        role.name,
        memory,
        bound_s,
        network_s,
        places,
        files,
        capacity,
        peaks,
        tuple(notes),
    )


def _metadata_role(situation: Situation) -> Role:
    """Returns the metadata role that operations call most. InputError if there is none."""
    roles = [role for role in situation.system.roles if role.kind == "metadata"]
    if not roles:
        allowed = "has no metadata server; its data servers share that work"
        raise InputError("file_system.name", situation.system.name, allowed)
    return roles[-1]


def _shared(scenario: Scenario, role: Role) -> bool:
    groups = scenario.deployment.groups_of(role.name)
    return any(
        other != role.name and count for group in groups for other, count in group.roles.items()
    )


def _capacity(
    situation: Situation,
    role: Role,
    operation: str,
    constants: Mapping[str, float],
    calibration: Calibration,
) -> Capacity | None:
    """Returns the server's capacity for one operation. None if the operation does not use the
    metadata server.
    """
    cost = situation.reader(constants).read(situation.system.operations[operation])
    demands = _at_role(situation, role, cost)
    if not demands:
        return None
    station = max(demands, key=lambda one: demands[one])
    rate = 1.0 / demands[station]
    reach = math.exp(Z90 * math.hypot(_spread(calibration), calibration.residual_sd["*"]))
    return Capacity(operation, rate, rate / reach, rate * reach, str(station))


def _at_role(situation: Situation, role: Role, cost: Cost) -> dict[Station, float]:
    """Returns the seconds at each of the role's stations for one operation and one server,
    background work included.
    """
    groups = {group.name for group in situation.scenario.deployment.groups_of(role.name)}
    alone = all(
        sum(1 for count in group.roles.values() if count) == 1
        for group in situation.scenario.deployment.groups_of(role.name)
    )
    locks = Locks(cost.visits)
    demands: dict[Station, float] = {}
    for part in (cost.demands, cost.background):
        for station, demand in locks.merged(part).items():
            # On a host of this role only, all stations of the host count. On a shared host, only
            # the role's software counts.
            if station.place == role.name or (station.place in groups and alone):
                each = demand / (station.copies * station.servers)
                demands[station] = demands.get(station, 0.0) + each
    return {station: demand for station, demand in demands.items() if demand > 0}


def _spread(calibration: Calibration) -> float:
    """Returns the median standard error of the constants' natural logarithms; 0 without
    constants.
    """
    errors = sorted(constant.log_standard_error for constant in calibration.constants)
    return errors[len(errors) // 2] if errors else 0.0


def _places(situation: Situation, role: Role, constants: Mapping[str, float]) -> float | None:
    """Returns the size of the role's call queue in requests. None when the description has no
    limit.
    """
    reader = situation.reader(constants)
    found = [
        reader.value(node.resource.places)
        for tree in situation.system.operations.values()
        for node in walk(tree)
        if isinstance(node, Hold)
        and node.resource.role == role.name
        and node.resource.places is not None
    ]
    return min(found, default=None)


def _peak(
    one: Capacity, length_s: float, bound_s: float, network_s: float, places: float | None
) -> Peak:
    q = one.rate_per_s
    within = {
        name: burst.largest_peak_per_s(q, bound_s, network_s, length_s, quantile, 1 / q)
        for name, quantile in QUANTILES.items()
    }
    queue = None if places is None else burst.largest_peak_of_queue_per_s(q, places, length_s)
    largest = within["mean"]
    binding = "the bound on the response"
    if queue is not None and queue < largest:
        largest, binding = queue, "the call queue"
    drained = burst.drain_s(largest, q, length_s, USUAL_SHARE * q)
    return Peak(one.operation, length_s, within, queue, drained, binding)
