"""Finds the factors that limit a configuration. A factor is a resource, a latency or a wait. A
factor limits the configuration if a small change of the factor changes the predicted rate.

Each factor has a share, which is an elasticity. If the factor takes one per cent more time, the
time per operation grows by this per cent. A station that is busy but does not affect the rate has
the share 0.

A limit is either saturated or latency-bound. A saturated resource is busy nearly all the time. A
latency-bound configuration has too few clients to keep any resource busy, so more clients raise its
rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dfslab.documents.answers import Limit
from dfslab.models.tree.predicted import Prediction, Predictions
from dfslab.models.tree.prediction import Situation
from dfslab.spec.deployment import NodeGroup
from dfslab.spec.environment import hardware, of_role
from dfslab.spec.steps.node import Delay, walk
from dfslab.spec.systems.local_files import OF_DISKS, LocalFiles

# Relative change of the time that a resource takes. For a central difference, the time is once
# multiplied and once divided by 1 + STEP.
STEP = 0.01
# Smallest share of a factor that is reported. A smaller share is a rounding error of the solvers,
# or too small to act on.
LEAST_SHARE = 0.02
NETWORK, LOOPBACK, THINK = "network latency", "latency inside a node", "think time"
# Smallest utilisation of a saturated resource. Below this utilisation, the resource has idle units.
# The value is a choice.
IDLE = 0.9
# More clients help if twice as many clients raise the rate by more than this fraction. The value is
# a choice.
CLIENTS_HELP = 0.05
MACHINE = "machine"
POOLS = ("threads", "lock")
# Resources that are about equally slow are tied, such as equally fast adapters at both ends of a
# transfer. Let gain be the time saved if a resource is faster, and loss the time added if it is
# slower. A resource is tied if gain < TIED * loss. Tied resources become one limit if gain >=
# JOINED * loss for a change of all of them together.
TIED, JOINED = 0.25, 0.75
HARDWARE = ("cpu", "disk", "nic")
EQUAL = "equally slow, so that only a change of both helps"


@dataclass(frozen=True)
class _ResourceChange:
    """A change of the time that work takes at one resource.

    `symbols` maps each factor of the time to the changed symbols with their new values. If several
    resources change together, `parts` has the change of each resource.
    """

    name: str
    kind: str
    meaning: str = ""
    symbols: Mapping[float, Mapping[str, float]] = field(default_factory=dict)
    parts: tuple[_ResourceChange, ...] = ()


def limits_of(
    situation: Situation, constants: Mapping[str, float], prediction: Prediction | None = None
) -> list[Limit]:
    """Returns every factor whose small change affects the rate of a closed workload, the largest
    share first. Factors with a share below LEAST_SHARE are left out. Tied resources (see TIED) are
    combined into one factor.

    `constants` has the values of all calibrated constants of the situation, in SI units.
    `prediction` is the prediction with these constants; if it is None, it is computed.
    """
    changes = list(_changes(situation, constants))
    effects = _effects(situation, constants, changes)
    tied = _tied(changes, effects)
    if len(tied) > 1:
        joint = _joint(situation, constants, tied)
        others = [*(one for one in changes if one not in tied), joint]
        joined = _effects(situation, constants, others)
        if joined.gains[-1] >= JOINED * joined.losses[-1]:
            changes, effects = others, joined
    alone = situation.predict(constants) if prediction is None else prediction
    limits = []
    for index, change in enumerate(changes):
        share = effects.share(index)
        if share >= LEAST_SHARE:
            trips = {}
            if change.name == NETWORK:
                trips = _round_trips(situation, constants)
            limits.append(
                Limit(
                    name=_named(alone, change),
                    share=min(1.0, share),
                    meaning=change.meaning,
                    round_trips=trips,
                    step=_slowest_step(situation, effects.found, index),
                )
            )
    limits += _of_pools(situation, constants, alone)
    think_s = sum(one.weight * (one.think_time_s + one.pause_s) for one in situation.phases)
    if think_s:
        share = think_s / effects.time_s
        limits.append(Limit(name=THINK, share=min(1.0, share)))
    helped = bool(limits) and _more_clients_help(situation, constants, alone)
    judged = [_with_bound(one, alone, helped) for one in limits]
    return sorted(judged, key=lambda one: -one.share)


def _more_clients_help(
    situation: Situation, constants: Mapping[str, float], alone: Prediction
) -> bool:
    """Returns whether twice as many clients raise the rate by more than CLIENTS_HELP. Each client
    does the same work as before. `alone` is the prediction with the present number of clients."""
    more = situation.with_clients(2 * situation.scenario.workload.clients)
    return more.predict(constants).rate_per_s > (1 + CLIENTS_HELP) * alone.rate_per_s


def _with_bound(limit: Limit, alone: Prediction, helped: bool) -> Limit:
    """Returns a copy of the limit with two more facts: the utilisation of its resource, and whether
    it is saturated or latency-bound. `helped`: whether more clients raise the rate."""
    used: dict[str, float] = {}
    for station, share in alone.utilisation.items():
        used[str(station)] = max(share, used.get(str(station), 0.0))
    known = [used[name] for name in limit.name.split(" and ") if name in used]
    busy = min(1.0, max(known)) if known else None
    if busy is not None and busy >= IDLE:
        return limit.model_copy(update={"busy": busy, "bound": "saturated"})
    return limit.model_copy(update={"busy": busy, "bound": "latency" if helped else ""})


def _slowest_step(situation: Situation, found: Predictions, index: int) -> str:
    """Returns the name of the outermost step that depends most on the resource with number `index`.
    This is the step whose time per operation of the workload changes most if the resource takes
    more or less time. Returns "" if no step depends on the resource. If the workload has several
    operations, the name of the step's operation precedes the step.

    `found` has the unchanged prediction, followed by two predictions for each resource: one in
    which the resource takes more time, and one in which it takes less time.
    """
    longer = {
        (operation, path): situation.mix.get(operation, 0.0)
        * float(times[1 + 2 * index] - times[2 + 2 * index])
        for (operation, path), times in found.steps.items()
        if path.is_outermost
    }
    operation, path = max(longer, key=lambda key: longer[key], default=("", None))
    if path is None or longer[operation, path] <= 0:
        return ""
    return f"{operation}: {path}" if len(situation.mix) > 1 else str(path)


@dataclass(frozen=True)
class _Effects:
    """The effects of changes on the time per operation, as elasticities, with one value for each
    change.

    - `losses`: per cent by which the time grows for each per cent that a resource takes longer.
    - `gains`: per cent by which the time falls for each per cent that a resource takes less time.
    - `found`: the unchanged prediction, then two predictions for each change: one in which the
      resource takes more time, and one in which it takes less time.
    - `time_s`: the unchanged time per operation in seconds.
    """

    found: Predictions
    time_s: float
    losses: list[float]
    gains: list[float]

    def share(self, index: int) -> float:
        """Returns the elasticity of the time with respect to the change with number `index`: the
        mean of its loss and its gain.
        """
        return (self.losses[index] + self.gains[index]) / 2


def _effects(
    situation: Situation, constants: Mapping[str, float], changes: Sequence[_ResourceChange]
) -> _Effects:
    """Returns the effects of `changes`, from predictions in which the resource of each change takes
    more and less time."""
    sets: list[dict[str, float]] = [dict(constants)]
    sets += [{**constants, **one.symbols[factor]} for one in changes for factor in _factors()]
    every = {key for one in sets for key in one}
    base = {**situation.environment, **constants}
    found = situation.predict_many(
        [
            {key: one[key] if key in one else _as_declared(base, key) for key in every}
            for one in sets
        ]
    )
    times_s = situation.scenario.workload.clients / found.rate_per_s
    losses = np.log(times_s[1::2] / times_s[0]) / np.log1p(STEP)
    gains = np.log(times_s[0] / times_s[2::2]) / np.log1p(STEP)
    return _Effects(found, float(times_s[0]), losses.tolist(), gains.tolist())


def _tied(changes: Sequence[_ResourceChange], effects: _Effects) -> list[_ResourceChange]:
    """Returns the changes of tied hardware (see TIED). The time per operation grows if one tied
    resource becomes slower. The time hardly falls if only that resource becomes faster, because
    other resources are as slow."""
    found = []
    for index, change in enumerate(changes):
        loss, gain = effects.losses[index], effects.gains[index]
        if change.kind in HARDWARE and loss >= LEAST_SHARE and gain < TIED * loss:
            found.append(change)
    return found


def _joint(
    situation: Situation, constants: Mapping[str, float], tied: Sequence[_ResourceChange]
) -> _ResourceChange:
    """Returns one change that makes all changes in `tied` at the same time."""
    base = {**situation.environment, **constants}
    symbols: dict[float, dict[str, float]] = {}
    for factor in _factors():
        merged: dict[str, float] = {}
        for one in tied:
            for key, value in one.symbols[factor].items():
                # A change of one group of nodes also lists the symbols of other groups, with their
                # unchanged values. An unchanged value must not replace a value that another change
                # has set.
                if key not in merged or value != _as_declared(base, key):
                    merged[key] = value
        symbols[factor] = merged
    return _ResourceChange("", "joint", EQUAL, symbols, tuple(tied))


def limits_of_phases(situation: Situation, constants: Mapping[str, float]) -> list[list[Limit]]:
    """Returns the factors that limit each phase of a workload, in the order of the phases. The list
    is empty if there is only one phase."""
    if len(situation.phases) == 1:
        return []
    known: dict[str, list[Limit]] = {}
    for index, phase in enumerate(situation.phases):
        if phase.work not in known:
            known[phase.work] = limits_of(situation.alone(index), constants)
    return [known[phase.work] for phase in situation.phases]


def _as_declared(base: Mapping[str, float], key: str) -> float:
    """Returns the unchanged value of a symbol.

    If node groups have equal hardware, all of them have one symbol, the symbol of the role. A
    change of one group introduces a separate symbol for each group. The unchanged value of such a
    symbol is the value of the role's symbol.
    """
    return base[key] if key in base else base[of_role(key)]


def _round_trips(situation: Situation, constants: Mapping[str, float]) -> dict[str, float]:
    """Returns the number of round trips on the critical path of each operation. The result is empty
    if the network has no latency.

    The number is the derivative of the operation's latency with respect to twice the network
    latency. The latency of adapters is held constant, because messages pass different adapters.
    """
    if not _network_s(situation):
        return {}
    change = _of_symbols(situation, NETWORK, "latency", ("network_latency",))
    found = _effects(situation, constants, [change]).found
    between_s = 2 * _network_s(situation) * (1 + STEP - 1 / (1 + STEP))
    return {
        name: max(0.0, float(times[1] - times[2]) / between_s)
        for name, times in found.latency_s.items()
    }


def _network_s(situation: Situation) -> float:
    """Returns the one-way latency in seconds between two nodes, without the latency of their
    adapters."""
    return float(situation.environment["network_latency"])


def _changes(situation: Situation, constants: Mapping[str, float]) -> Iterator[_ResourceChange]:
    """Yields one change for every resource, latency and wait whose time can change."""
    deployment = situation.scenario.deployment
    for group in deployment.node:
        for kind in ("cpu", "disk", "nic"):
            if kind == "cpu" and deployment.shared_cores:
                continue
            yield _hardware(situation, f"{group.name}.{kind}", kind, (group.name,))
    if deployment.shared_cores:
        every = tuple(group.name for group in deployment.node)
        yield _hardware(situation, f"{MACHINE}.cpu", "cpu", every)
    latencies = [key for key in situation.environment if key.endswith(".nic_latency")]
    yield _of_symbols(situation, NETWORK, "latency", ("network_latency", *latencies))
    yield _of_symbols(situation, LOOPBACK, "latency", ("loopback_latency",))
    for key in _waited(situation):
        parameter = situation.system.parameter(key)
        meaning = parameter.meaning[:1].lower() + parameter.meaning[1:]
        base = constants.get(key, situation.environment.get(key, 0.0))
        yield _ResourceChange(key, "wait", meaning, {f: {key: base * f} for f in _factors()})


def _factors() -> tuple[float, float]:
    return 1 + STEP, 1 / (1 + STEP)


def _of_symbols(
    situation: Situation, name: str, kind: str, keys: tuple[str, ...]
) -> _ResourceChange:
    values = {f: {key: situation.environment[key] * f for key in keys} for f in _factors()}
    return _ResourceChange(name, kind, symbols=values)


def _hardware(
    situation: Situation, name: str, kind: str, groups: tuple[str, ...]
) -> _ResourceChange:
    """Returns the change of the time that one kind of hardware takes in some node groups."""
    return _ResourceChange(
        name, kind, symbols={f: hardware_symbols(situation, kind, groups, f) for f in _factors()}
    )


def hardware_symbols(
    situation: Situation, kind: str, groups: tuple[str, ...], factor: float
) -> dict[str, float]:
    """Returns the changed symbols for one kind of hardware that takes `factor` times as long."""
    deployment = situation.scenario.deployment
    nodes = [_slower(one, kind, factor) if one.name in groups else one for one in deployment.node]
    changed = deployment.model_copy(update={"node": nodes})
    scenario = situation.scenario.model_copy(update={"deployment": changed})
    found = hardware(scenario, situation.system)
    return {key: value for key, value in found.items() if value != situation.environment.get(key)}


def _slower(group: NodeGroup, kind: str, factor: float) -> NodeGroup:
    """Returns a node group whose processors, disks or adapters take `factor` times as long."""
    if kind == "cpu":
        return group.model_copy(update={"frequency": group.frequency / factor})
    if kind == "disk":
        disk = group.disk.model_copy(
            update={
                "read_rate": group.disk.read_rate / factor,
                "write_rate": group.disk.write_rate / factor,
                "latency": group.disk.latency * factor,
            }
        )
        files = _slower_files(group.local_files, factor)
        return group.model_copy(update={"disk": disk, "local_files": files})
    adapter = group.adapter.model_copy(update={"bandwidth": group.adapter.bandwidth / factor})
    return group.model_copy(update={"adapter": adapter})


def _slower_files(files: LocalFiles, factor: float) -> LocalFiles:
    """Returns measured times of a local file system whose disk takes `factor` times as long."""
    scaled = {
        key: value * factor if key.endswith("_time") else value / factor
        for key, value in files
        if key in OF_DISKS
    }
    return files.model_copy(update=scaled)


def _waited(situation: Situation) -> list[str]:
    """Returns the parameters in seconds that are pure waits, during which no resource is used, such
    as the interval of a commit."""
    found: dict[str, None] = {}
    for operation in situation.mix:
        for node in walk(situation.system.trees[operation]):
            if isinstance(node, Delay):
                found.update(dict.fromkeys(sorted(map(str, node.seconds.free_symbols))))
    return [key for key in found if "." not in key and _is_time(situation, key)]


def _is_time(situation: Situation, key: str) -> bool:
    parameter = situation.system.parameter(key)
    return parameter.unit == "s" and parameter.origin in ("calibrated", "filesystem")


def _named(alone: Prediction, change: _ResourceChange) -> str:
    """Returns the name of a change. For a network adapter, the name includes the direction that is
    busier. The name of a change of several resources consists of the names of its parts."""
    if change.parts:
        return " and ".join(_named(alone, one) for one in change.parts)
    if change.kind != "nic":
        return change.name
    place = change.name.partition(".")[0]
    busy = {
        station.kind: used
        for station, used in alone.utilisation.items()
        if station.place == place and station.kind.startswith("nic")
    }
    direction = max(busy, key=lambda kind: busy[kind], default="nic")
    return f"{place}.{direction}"


def _of_pools(
    situation: Situation, constants: Mapping[str, float], alone: Prediction
) -> list[Limit]:
    """Returns the limits by the number of threads in a pool, or by a lock. The work that is done
    while a thread or a lock is held is not included, because it has separate limits."""
    found = []
    for station in sorted({one for one in alone.utilisation if one.kind in POOLS}):
        slow, fast = (situation.rate_with_load(constants, station, factor) for factor in _factors())
        share = float(np.log(fast / slow) / (2 * np.log1p(STEP)))
        if share >= LEAST_SHARE:
            found.append(Limit(name=str(station), share=min(1.0, share)))
    return found
