"""Keys of a scenario that a prediction from operation trees does not depend on.

A key counts where the scenario gives another value than the default. A key of hardware is ignored
where no operation works there, and a parameter where no operation reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dfslab.models.tree.prediction import Situation
from dfslab.spec.deployment import NodeGroup
from dfslab.spec.model import CheckedModel
from dfslab.spec.steps.node import Later, walk, writes_back

# Keys that only a testbed or the load generator can act on.
OF_WORKLOADS = ("nodes", "processes", "mmap")
OF_NETWORKS = ("jitter", "loss", "congestion")
OF_DISKS = ("iops", "file_system", "capacity", "medium")
OF_PROCESSORS = ("processors", "cores", "frequency", "share")
# Keys that trees know as symbols of another name.
SYMBOLS = {
    "cache": ("cold", "direct", "kept"),
    "fsync": ("fsync", "forced"),
    "sync_io": ("forced",),
    "window": ("stream_window",),
    "latency": ("network_latency",),
    "loopback_latency": ("loopback_latency",),
}


def ignored(situation: Situation, constants: Mapping[str, float]) -> list[str]:
    """Dotted keys that were given and do not act, in the order of the scenario's tables."""
    read, used = _symbols(situation, constants), _stations(situation, constants)
    deployment, scenario = situation.scenario.deployment, situation.scenario
    found = [key for group in deployment.node for key in _of_group(situation, group, read, used)]
    found += [
        f"deployment.network.{key}"
        for key in _given(deployment.network)
        if key in OF_NETWORKS or not read.intersection(SYMBOLS[key])
    ]
    found += [f"file_system.{key}" for key in scenario.file_system.parameters if key not in read]
    workload = {key: True for key in OF_WORKLOADS}
    workload |= {
        key: not read.intersection(_symbols_of_value(situation, key))
        for key in ("cache", "fsync", "sync_io")
    }
    return found + [f"workload.{key}" for key in _given(scenario.workload) if workload.get(key)]


def note(method: str, situation: Situation, constants: Mapping[str, float]) -> list[str]:
    """The note about ignored keys, if there are any."""
    keys = ignored(situation, constants)
    return [f"ignored by {method}: {', '.join(keys)}"] if keys else []


def _symbols_of_value(situation: Situation, key: str) -> tuple[str, ...]:
    """The symbols that carry the given value of a workload's key."""
    workload = situation.scenario.workload
    if key == "cache":
        return (workload.cache,)
    if key == "fsync":
        return ("forced",) if workload.fsync == "write" else ("fsync",)
    return SYMBOLS[key]


def _given(table: CheckedModel) -> list[str]:
    """Keys of a table whose values are not the defaults."""
    fields = type(table).model_fields
    own = {key: value for key, value in table if key in fields}
    needed = {key: value for key, value in own.items() if fields[key].is_required()}
    defaults = dict(type(table).model_validate(needed))
    return [key for key, value in own.items() if key not in needed and value != defaults[key]]


def _of_group(
    situation: Situation, group: NodeGroup, read: set[str], used: set[tuple[str, str]]
) -> Iterator[str]:
    """Ignored keys of one group of nodes."""
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
        if key == "memory" and not _has_cache(situation, group, read):
            yield f"{place}.{key}"
    for key in _given(group.disk):
        if key in OF_DISKS or "disk" not in has_work:
            yield f"{place}.disk.{key}"
    for key in _given(group.adapter):
        if not {"nic.in", "nic.out"} & has_work:
            yield f"{place}.adapter.{key}"


def _has_cache(situation: Situation, group: NodeGroup, read: set[str]) -> bool:
    """Whether a group's memory caches what is written, or what its clients read again."""
    if situation.client in group.roles and "kept" in read:
        return True
    data = {role.name for role in situation.system.roles if role.kind == "data"}
    return bool(data & set(group.roles)) and _writes_back(situation)


def _writes_back(situation: Situation) -> bool:
    """Whether a page cache of the servers defers any of the mix's writes."""
    if situation.scenario.workload.cache == "direct":
        return False
    trees = (situation.system.trees[name] for name in situation.mix)
    return any(
        isinstance(node, Later) and writes_back(node) for tree in trees for node in walk(tree)
    )


def _symbols(situation: Situation, constants: Mapping[str, float]) -> set[str]:
    """The symbols whose values act on the cost of an operation of the mix."""
    reader = situation.reader(constants)
    for name in situation.mix:
        reader.read(situation.system.trees[name])
    return reader.symbols


def _stations(situation: Situation, constants: Mapping[str, float]) -> set[tuple[str, str]]:
    """(place, kind) of all stations at which the mix has work to do."""
    return {
        (station.place, station.kind)
        for cost in situation.costs(constants).values()
        for demands in (cost.demands, cost.background)
        for station, demand in demands.items()
        if demand
    }
