"""Predicts three limits of a metadata server: the number of files, the requests per second, and the
size of a burst of requests.

- Files: the memory per file and block is taken from published figures of each system.
- Requests per second: the capacity follows from the file system's description. The capacity is the
  smallest of the capacities of processors, lock and threads.
- Burst: the largest burst that the server absorbs is computed by models/queue/burst.py.

The three limits follow Wu 2013, section 4.2, with its misprints corrected. Several metadata servers
are modelled as one server with their total memory and capacity, as in section 4.3 of Wu 2013. This
assumes that the servers share names and requests evenly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dfslab.documents.metrics import counted
from dfslab.models.fit.demand import NOT_CALIBRATED, Calibration, uncalibrated
from dfslab.models.queue import burst
from dfslab.models.queue.lock import Locks
from dfslab.models.tree.costs import Cost
from dfslab.models.tree.placement import Station
from dfslab.models.tree.prediction import Situation
from dfslab.quantiles import CONFIDENCE_SDS
from dfslab.spec import units
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps.node import Hold, walk
from dfslab.spec.systems.filesystem import Role
from dfslab.spec.systems.memory import blocks_of

BURSTS_S = (1.0, 10.0, 60.0)
QUANTILES = {"mean": 0.5, "p95": 0.95, "p99": 0.99, "all": 1.0}
# Assumed utilisation of the server outside bursts, as a share of its capacity. It determines how
# long the queue of a burst takes to drain.
USUAL_SHARE = 0.5


@dataclass(frozen=True)
class FilesInMemory:
    """The number of files that fit in the servers' memory. The memory per file comes from one
    source.

    `bytes_per_file` is the memory in bytes for a file with its blocks. `blocks` is the number of
    blocks of a file; None if the source's figure does not depend on blocks.
    """

    files: float
    bytes_per_file: float
    blocks: int | None
    usable: float
    source: str
    cached: bool


@dataclass(frozen=True)
class Capacity:
    """The largest rate of one operation type, its 90 % interval, and the bottleneck. `unit` says
    what the rate counts, such as "files created"."""

    operation: str
    unit: str
    rate_per_s: float
    low_per_s: float
    high_per_s: float
    bottleneck: str


@dataclass(frozen=True)
class Peak:
    """The largest rate of a peak of `length_s` seconds, under two conditions. The response time
    stays within a bound, and the call queue refuses no request.

    - `within_per_s`: the largest rate within the bound, for the mean response time and for
      quantiles.
    - `queue_per_s`: the largest rate at which the call queue refuses no request; None if the queue
      has no known limit.
    - `unit`: what the rates count, such as "files created".
    - `limit`: the condition with the lower rate: the bound on the mean, or the call queue.
    - `drain_s`: the time in seconds to drain the queue after a peak at this lower rate, while
      requests arrive at half of the capacity.

    `within_interval_per_s`, `queue_interval_per_s` and `drain_interval_s` are the 90 % intervals
    that follow from the uncertain capacity.
    """

    operation: str
    unit: str
    length_s: float
    within_per_s: Mapping[str, float]
    within_interval_per_s: Mapping[str, tuple[float, float]]
    queue_per_s: float | None
    queue_interval_per_s: tuple[float, float] | None
    drain_s: float
    drain_interval_s: tuple[float, float]
    limit: str

    @property
    def largest_per_s(self) -> float:
        """The largest rate at which the mean response time stays within the bound and the call
        queue refuses no request."""
        return _least(self.within_per_s["mean"], self.queue_per_s)

    @property
    def interval_per_s(self) -> tuple[float, float]:
        """The 90 % interval of `largest_per_s`."""
        queue = self.queue_interval_per_s or (None, None)
        low, high = self.within_interval_per_s["mean"]
        return _least(low, queue[0]), _least(high, queue[1])


@dataclass(frozen=True)
class ServerLimits:
    """The limits of the metadata servers, which one or several configurations have in common. All
    values are finite.

    - `configurations`: the names of the configurations with these limits.
    - `configuration`: a text with the keys and values that these configurations have in common.
    - `labels`: the varied keys of each of these configurations, with their values.
    - `servers`: the number of metadata servers.
    - `memory_bytes`: the memory of each server.
    - `file_bytes`: the mean size of a file.
    - `places`: the number of calls that the queues of all servers hold; None if no limit is known.
    - `assumptions`: the assumptions behind the figures, as sentences.
    """

    configuration: str
    configurations: tuple[str, ...]
    system: str
    role: str
    servers: int
    memory_bytes: float
    file_bytes: float
    bound_s: float
    network_s: float
    places: float | None
    files: tuple[FilesInMemory, ...]
    capacity: tuple[Capacity, ...]
    peaks: tuple[Peak, ...]
    assumptions: tuple[str, ...]
    notes: tuple[str, ...] = ()
    labels: tuple[Mapping[str, str | int | float | bool | None], ...] = ()


def limits(
    scenario: Scenario,
    bound_s: float = 1.0,
    calibration: Calibration | None = None,
    bursts_s: Sequence[float] = BURSTS_S,
    servers: int | None = None,
) -> ServerLimits:
    """Returns the limits of a scenario's metadata servers.

    `bound_s` is the largest accepted response time of requests in a burst, in seconds, including
    network and service. `bursts_s` are the lengths of the bursts in seconds. `servers` is the
    number of metadata servers; None means the deployed number. Raises InputError if the file system
    has no metadata server, or if `servers` is above 1 and the file system supports only one.
    """
    situation = Situation(scenario)
    role = _metadata_role(situation)
    count = _servers(situation, role, servers)
    known = calibration or uncalibrated(situation)
    declared = situation.system.parameters.of_origin("calibrated")
    priors = {key: float(one.default or 0.0) for key, one in declared.items()}
    constants = {**priors, **known.values}
    values = situation.environment
    network_s = 2 * (values["network_latency"] + values[f"{role.name}.nic_latency"])
    capacity = tuple(
        found
        for name in situation.system.operations
        if (found := _capacity(situation, role, name, constants, known, count)) is not None
    )
    places = _places(situation, role, constants)
    queued = None if places is None else places * count
    memory_bytes = min(group.memory for group in scenario.deployment.groups_of(role.name))
    return ServerLimits(
        scenario.name,
        (scenario.name,),
        situation.system.name,
        role.name,
        count,
        memory_bytes,
        values["file_size"],
        bound_s,
        network_s,
        queued,
        _files(situation, role, memory_bytes, count),
        capacity,
        tuple(
            _peak(one, length, bound_s, network_s, queued, count)
            for one in capacity
            for length in bursts_s
        ),
        tuple(_assumptions(situation, count)),
        tuple(_notes(situation, role, calibration)),
    )


def widest_uncalibrated(scenarios: Sequence[Scenario]) -> Calibration:
    """Returns the calibration without measurements that has the largest residual error of all
    `scenarios`, the configurations of one sweep; at least one.

    The limits of a metadata server are properties of the server. With one calibration for all
    configurations, limits that do not depend on the configuration have the same interval.
    """
    return max(
        (uncalibrated(Situation(one)) for one in scenarios), key=lambda one: one.residual_sd["*"]
    )


def _servers(situation: Situation, role: Role, servers: int | None) -> int:
    """Returns the number of metadata servers: `servers`, or the deployed number if `servers` is
    None. Raises InputError if the number is above 1 and the file system supports only one."""
    count = servers or situation.scenario.deployment.instances(role.name)
    if count > 1 and not situation.system.several_servers:
        allowed = f"1: {situation.system.name} has exactly one {role.name}"
        raise InputError("--servers", count, allowed)
    return count


def _files(
    situation: Situation, role: Role, memory_bytes: float, servers: int
) -> tuple[FilesInMemory, ...]:
    """Returns how many files fit in the memory of all servers. The memory per file has several
    published figures; the result has one entry for each of them."""
    found = []
    for one in situation.system.memory:
        if one.role != role.name:
            continue
        blocks = None
        if one.block_size:
            values = situation.environment
            blocks = blocks_of(values["file_size"], values[one.block_size])
        each = one.bytes_of(blocks or 0)
        if each:  # 0: the source has no figure for files without blocks
            files = servers * one.files(memory_bytes, blocks or 0)
            found.append(FilesInMemory(files, each, blocks, one.usable, one.source, one.cached))
    return tuple(found)


def _assumptions(situation: Situation, servers: int) -> Iterator[str]:
    """Yields the assumptions behind the limits, as sentences."""
    values, memory = situation.environment, situation.system.memory
    size = units.text(values["file_size"], "B") if values["file_size"] else ""
    for key in dict.fromkeys(one.block_size for one in memory if one.block_size):
        blocks = blocks_of(values["file_size"], values[key])
        each = f"{key} {units.text(values[key], 'B')}"
        if not size:
            yield "files of metadata operations are empty"
        elif blocks == 1:
            yield f"a file that is not larger than {each} has 1 block"
        else:
            yield f"a file of {size} has {blocks} blocks of {each}"
    yield f"outside bursts, {USUAL_SHARE:.0%} of the capacity is in use"
    if servers > 1:
        yield situation.system.several_servers
        yield (
            f"the {servers} servers divide names and requests evenly; if one of them has half, all "
            "serve twice what one serves"
        )


def _notes(situation: Situation, role: Role, calibration: Calibration | None) -> Iterator[str]:
    """Yields notes on the sources of the limits, as sentences."""
    if not any(one.role == role.name for one in situation.system.memory):
        yield f"nothing is known of the memory of a file of {situation.system.name}"
    if calibration is None or not calibration.is_measured:
        yield NOT_CALIBRATED
    if _shared(situation.scenario, role):
        yield f"{role.name} shares its node with other roles; capacity is without their work"


def _metadata_role(situation: Situation) -> Role:
    """Returns the last metadata role in the file system's description. Raises InputError if there
    is none."""
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
    servers: int,
) -> Capacity | None:
    """Returns the capacity of all servers for one operation. Returns None if the operation does not
    use the metadata server.
    """
    cost = situation.reader(constants).read(situation.system.operations[operation])
    demands = _at_role(situation, role, cost)
    if not demands:
        return None
    station = max(demands, key=lambda one: demands[one])
    deployed = situation.scenario.deployment.instances(role.name)
    rate = servers / deployed / demands[station]
    factor = math.exp(
        CONFIDENCE_SDS * math.hypot(_spread(calibration), calibration.residual_sd["*"])
    )
    return Capacity(operation, counted(operation), rate, rate / factor, rate * factor, str(station))


def _at_role(situation: Situation, role: Role, cost: Cost) -> dict[Station, float]:
    """Returns the demand of one operation at each station of the role, in seconds. Background work
    is included. The demand is per server: it is divided by the number of the station's copies and
    by the servers of each copy."""
    groups = {group.name for group in situation.scenario.deployment.groups_of(role.name)}
    alone = all(
        sum(1 for count in group.roles.values() if count) == 1
        for group in situation.scenario.deployment.groups_of(role.name)
    )
    locks = Locks(cost.visits)
    demands: dict[Station, float] = {}
    for part in (cost.demands, cost.background):
        for station, demand in locks.merged(part).items():
            # On a host with only this role, the demands at all stations of the host are included.
            # On a host with several roles, only the demands at this role's locks and threads are
            # included.
            if station.place == role.name or (station.place in groups and alone):
                each = demand / (station.copies * station.servers)
                demands[station] = demands.get(station, 0.0) + each
    return {station: demand for station, demand in demands.items() if demand > 0}


def _spread(calibration: Calibration) -> float:
    """Returns the median of the constants' standard errors, which are those of natural logarithms;
    0 without constants."""
    errors = sorted(constant.log_standard_error for constant in calibration.constants)
    return errors[len(errors) // 2] if errors else 0.0


def _places(situation: Situation, role: Role, constants: Mapping[str, float]) -> float | None:
    """Returns the size of the role's call queue in requests. Returns None if the description has no
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
    one: Capacity,
    length_s: float,
    bound_s: float,
    network_s: float,
    places: float | None,
    servers: int,
) -> Peak:
    """Returns the largest peak at the capacity `one`, with intervals that follow from the interval
    of `one`."""
    rates = (one.rate_per_s, one.low_per_s, one.high_per_s)
    best, low, high = (_burst(q, length_s, bound_s, network_s, places, servers) for q in rates)
    drained = (low.drain_s, best.drain_s, high.drain_s)
    return Peak(
        one.operation,
        one.unit,
        length_s,
        best.within_per_s,
        {name: (low.within_per_s[name], high.within_per_s[name]) for name in QUANTILES},
        best.queue_per_s,
        None
        if low.queue_per_s is None or high.queue_per_s is None
        else (low.queue_per_s, high.queue_per_s),
        best.drain_s,
        (min(drained), max(drained)),
        best.limit,
    )


@dataclass(frozen=True)
class _Burst:
    """The figures of a peak for one value of the capacity. The fields have the names of the fields
    of `Peak`."""

    within_per_s: Mapping[str, float]
    queue_per_s: float | None
    drain_s: float
    limit: str


def _burst(
    q: float, length_s: float, bound_s: float, network_s: float, places: float | None, servers: int
) -> _Burst:
    """Returns the figures of a peak of `length_s` seconds at the capacity `q` per second."""
    within = {
        name: burst.largest_peak_per_s(q, bound_s, network_s, length_s, quantile, servers / q)
        for name, quantile in QUANTILES.items()
    }
    queue = None if places is None else burst.largest_peak_of_queue_per_s(q, places, length_s)
    largest = _least(within["mean"], queue)
    limit = "the bound on the response" if largest == within["mean"] else "the call queue"
    return _Burst(within, queue, burst.drain_s(largest, q, length_s, USUAL_SHARE * q), limit)


def _least(rate: float, other: float | None) -> float:
    return rate if other is None else min(rate, other)
