"""Finds the keys of a scenario that have no effect on a prediction from operation trees.

Only keys that the scenario sets to a value other than the default are considered. A hardware key
has no effect if no operation uses the hardware. A parameter has no effect if no operation depends
on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from dfslab.models.tree.prediction import Situation
from dfslab.models.tree.reader import OF_PATHS
from dfslab.spec.deployment import Network, NodeGroup
from dfslab.spec.model import CheckedModel
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps.lossy_path import tcp_path
from dfslab.spec.steps.node import Later, walk, writes_back
from dfslab.spec.systems.local_files import OF_DISK_KEYS
from dfslab.spec.systems.memory_writes import memory_writes, replaced_rates

# Keys that affect only a testbed or the load generator, not a prediction.
OF_WORKLOADS = ("nodes", "processes", "mmap")
OF_DISKS = ("iops", "file_system", "capacity", "medium")
OF_PROCESSORS = ("processors", "cores", "frequency", "share")
# For each key of a scenario: the symbols in the operation trees whose values depend on the key.
SYMBOLS = {
    "cache": ("cold", "direct", "kept"),
    "fsync": ("fsync", "forced"),
    "sync_io": ("forced",),
    "window": ("stream_window",),
    "latency": ("network_latency",),
    "loopback_latency": ("loopback_latency",),
}
# Symbols for the times and rates that were measured on a node's local file system. In a tree, such
# a symbol is used together with the name of a role.
LOCAL_SYMBOLS = (
    *("request_read_time", "request_read_rate", "request_write_time", "request_write_rate"),
    *("requests", "request_rate", "creates", "deletes", "commits", "commit_rate", "commits_rate"),
    *("touch_rate", "write_call", "overwrite_call", "overwrite_rate"),
    *("request_read_least", "request_write_least"),
)
# Largest relative difference of two rates that are equal but for rounding.
ROUNDING = 1e-9
# Keys of the network, with their default values. Each of these keys has an effect only in
# combination with other keys. For example, the congestion control has an effect only if packets are
# lost.
TOGETHER: dict[str, float | str] = {"jitter": 0.0, "loss": 0.0, "congestion": "cubic"}


def ignored(situation: Situation, constants: Mapping[str, float]) -> list[str]:
    """Returns the dotted keys that the scenario sets and that have no effect, in the order of the
    scenario's tables."""
    read, used = _symbols(situation, constants), _stations(situation, constants)
    deployment, scenario = situation.scenario.deployment, situation.scenario
    found = [
        key
        for group in deployment.node
        for key in _of_group(situation, constants, group, read, used)
    ]
    found += [
        f"deployment.network.{key}"
        for key in _given(deployment.network)
        if not _acts_on_network(deployment.network, key, read)
    ]
    found += [f"file_system.{key}" for key in scenario.file_system.parameters if key not in read]
    workload = {key: True for key in OF_WORKLOADS}
    workload |= {
        key: not read.intersection(_symbols_of_value(situation, key))
        for key in ("cache", "fsync", "sync_io")
    }
    for key in {"fsync", "sync_io"}.intersection(_given(scenario.workload)):
        workload[key] |= not _changes_costs(situation, constants, key)
    return found + [f"workload.{key}" for key in _given(scenario.workload) if workload.get(key)]


def disks_behind_memory(situation: Situation, constants: Mapping[str, float]) -> list[str]:
    """Returns the sentences on the write rates of disks that the scenario sets and that have no
    effect: because measured values replace them, or because all writes are assumed to end in the
    memory of the servers."""
    if not _writes_back(situation):
        return []
    data = {role.name for role in situation.system.roles if role.kind == "data"}
    places = [one.name for one in situation.scenario.deployment.node if data & set(one.roles)]
    keys = {f"deployment.node.{name}.disk.write_rate" for name in places}
    unused = [key for key in ignored(situation, constants) if key in keys]
    workload = situation.scenario.workload
    is_forced = bool(workload.fsync) or workload.sync_io != "none"
    measured = {
        f"deployment.node.{group.name}.disk.write_rate": _measured_writes(group)
        if is_forced
        else []
        for group in situation.scenario.deployment.node
    }
    behind = memory_writes([key for key in unused if not measured[key]])
    return behind + replaced_rates({key: measured[key] for key in unused if measured[key]})


def _measured_writes(group: NodeGroup) -> list[str]:
    """Returns the keys of the values that were measured on a group's local file system and that
    replace the write rate of its disk."""
    values = dict(group.local_files)
    keys = [key for key in OF_DISK_KEYS["write_rate"] if values[key]]
    return [f"deployment.node.{group.name}.local_files.{key}" for key in keys]


def _acts_on_network(network: Network, key: str, read: set[str]) -> bool:
    """Returns whether a key of the network has an effect on the prediction. `read` has the symbols
    that have an effect.
    """
    if key not in TOGETHER:
        return bool(read.intersection(SYMBOLS[key]))
    usual = network.model_copy(update={key: TOGETHER[key]})
    return tcp_path(network) != tcp_path(usual) and bool(read & OF_PATHS)


def _symbols_of_value(situation: Situation, key: str) -> tuple[str, ...]:
    """Returns the symbols of operation trees whose values depend on the workload's key `key`."""
    workload = situation.scenario.workload
    if key == "cache":
        return (workload.cache,)
    if key == "fsync":
        return ("forced",) if workload.fsync == "write" else ("fsync",)
    return SYMBOLS[key]


def _changes_costs(situation: Situation, constants: Mapping[str, float], key: str) -> bool:
    """Returns whether the workload's key `key` changes the cost of an operation. For example,
    `fsync` changes no cost if the file system forces data to disk anyway."""
    without = {**constants, **dict.fromkeys(_symbols_of_value(situation, key), 0.0)}
    return any(
        situation.costs(constants, phase) != situation.costs(without, phase)
        for phase in situation.phases
    )


def _given(table: CheckedModel) -> list[str]:
    """Returns the keys of a table whose values differ from the defaults."""
    fields = type(table).model_fields
    own = {key: value for key, value in table if key in fields}
    needed = {key: value for key, value in own.items() if fields[key].is_required()}
    defaults = dict(type(table).model_validate(needed))
    return [key for key, value in own.items() if key not in needed and value != defaults[key]]


def _of_group(
    situation: Situation,
    constants: Mapping[str, float],
    group: NodeGroup,
    read: set[str],
    used: set[tuple[str, str]],
) -> Iterator[str]:
    """Yields the keys of one group of nodes that have no effect. `read` has the symbols that have
    an effect. `used` has the place (node group or role) and the kind of each station with work."""
    place = f"deployment.node.{group.name}"
    has_work = {kind for where, kind in used if where == group.name}
    if situation.scenario.deployment.shared_cores:
        has_work.add("cpu")
    for key in _given(group):
        if key in OF_PROCESSORS and "cpu" not in has_work:
            yield f"{place}.{key}"
        symbols = {f"{role}.{key}" for role in group.roles}
        if key in ("copy_rate", "call_time") and not read & symbols:
            yield f"{place}.{key}"
        if key == "local_files" and not _uses_local_files(situation, group, read):
            yield f"{place}.{key}"
        if key == "memory" and not _has_cache(situation, group, read):
            yield f"{place}.{key}"
        if key.startswith("dirty_") and not _throttles(situation, constants, group, key):
            yield f"{place}.{key}"
    for key in _given(group.disk):
        if key in OF_DISKS or "disk" not in has_work or _replaced(situation, constants, group, key):
            yield f"{place}.disk.{key}"
    for key in _given(group.adapter):
        if not {"nic.in", "nic.out"} & has_work:
            yield f"{place}.adapter.{key}"


def _replaced(
    situation: Situation, constants: Mapping[str, float], group: NodeGroup, key: str
) -> bool:
    """Returns whether a disk's key has no effect because values that were measured on the node's
    local file system, such as the rate of fsync, replace the key. The key has no effect if neither
    half nor twice its value changes the predicted rate."""
    measured = dict(group.local_files)
    if not any(measured[one] for one in OF_DISK_KEYS.get(key, ())):
        return False
    value = float(dict(group.disk)[key])
    changed = [
        {**constants, **{f"{role}.disk_{key}": factor * value for role in group.roles}}
        for factor in (1.0, 0.5, 2.0)
    ]
    usual, *others = (situation.predict(one).rate_per_s for one in changed)
    return all(math.isclose(one, usual, rel_tol=ROUNDING) for one in others)


def _uses_local_files(situation: Situation, group: NodeGroup, read: set[str]) -> bool:
    """Returns whether a measured time or rate of the group's local file system has an effect. Such
    a value may be a constant of the description, or a symbol of a role."""
    if situation.system.measured(group.local_files):
        return True
    return bool(read & {f"{role}.{key}" for role in group.roles for key in LOCAL_SYMBOLS})


def _has_cache(situation: Situation, group: NodeGroup, read: set[str]) -> bool:
    """Returns whether a group's memory acts as a cache for written data, or for data that its
    clients read again."""
    if situation.client in group.roles and "kept" in read:
        return True
    data = {role.name for role in situation.system.roles if role.kind == "data"}
    return bool(data & set(group.roles)) and _writes_back(situation)


def _throttles(
    situation: Situation, constants: Mapping[str, float], group: NodeGroup, key: str
) -> bool:
    """Returns whether a threshold of dirty pages (`key`) has an effect.

    The limit has an effect if servers defer writes. The background threshold has an effect only if
    all of these hold: there are several phases, writers reach the limit, and the default threshold
    would give another rate.
    """
    data = {role.name for role in situation.system.roles if role.kind == "data"}
    if not data & set(group.roles) or not _writes_back(situation):
        return False
    if key == "dirty_limit":
        return True
    reached = situation.caches is not None and situation.caches.throttles
    if not reached or len(situation.phases) < 2:
        return False
    usual = Situation(_with_usual(situation.scenario, group, key)).at(constants)
    own = situation.at(constants)
    return usual.predict(constants).rate_per_s != own.predict(constants).rate_per_s


def _with_usual(scenario: Scenario, group: NodeGroup, key: str) -> Scenario:
    """Returns the scenario with the default value of one key of a group of nodes."""
    changed = group.model_copy(update={key: NodeGroup.model_fields[key].default})
    node = [changed if one is group else one for one in scenario.deployment.node]
    deployment = scenario.deployment.model_copy(update={"node": node})
    return scenario.model_copy(update={"deployment": deployment})


def _writes_back(situation: Situation) -> bool:
    """Returns whether a page cache of the servers defers any write of the workload."""
    if situation.scenario.workload.cache == "direct":
        return False
    trees = (situation.system.trees[name] for name in situation.mix)
    return any(
        isinstance(node, Later) and writes_back(node) for tree in trees for node in walk(tree)
    )


def _symbols(situation: Situation, constants: Mapping[str, float]) -> set[str]:
    """Returns the symbols whose values affect the cost of an operation of the workload."""
    reader = situation.reader(constants)
    for name in situation.mix:
        reader.read(situation.system.trees[name])
    return reader.symbols


def _stations(situation: Situation, constants: Mapping[str, float]) -> set[tuple[str, str]]:
    """Returns the place and kind of every station at which the workload's operations have work."""
    return {
        (station.place, station.kind)
        for cost in situation.costs(constants).values()
        for demands in (cost.demands, cost.background)
        for station, demand in demands.items()
        if demand
    }
