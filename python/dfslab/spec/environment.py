"""Computes the values of the symbols in a file system's description for one configuration.

Calibrated constants are symbols, too, but they get their values from the calibration and not from
this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from dfslab.spec.deployment import (
    SEGMENT_BYTES,
    SHAPED_BYTES,
    Deployment,
    NetworkEffects,
    NodeGroup,
)
from dfslab.spec.files.plain_number import PLAIN, is_odd_number
from dfslab.spec.input_error import InputError, unknown
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps.lossy_path import tcp_path
from dfslab.spec.streams.vocabulary import Stream
from dfslab.spec.streams.workload import FileParameters, Workload
from dfslab.spec.systems.filesystem import FileSystem
from dfslab.spec.systems.parameters import COMMON, Parameter
from dfslab.spec.units import bare_bytes, parse

PAGE_BYTES = 4096
# Assumed fraction of a client's memory that is available to its page cache.
CACHE_SHARE = 0.5
# The values of symbols of operation trees in SI units, by the symbol's name.
SymbolValues: TypeAlias = dict[str, float]


def workload_parameters(scenario: Scenario, workload: Workload) -> FileParameters:
    """Returns the parameters that belong to the workload, validated. Raises InputError, which names
    the first wrong key."""
    given, declared = scenario.workload.parameters, workload.parameters
    if declared.model_config.get("extra") != "allow":
        allowed = [*declared.model_fields, *type(scenario.workload).model_fields]
        for key, value in given.items():
            if key not in allowed:
                raise InputError(f"workload.{key}", value, unknown(key, allowed))
    return build(declared, given, "workload")


def parameters(scenario: Scenario, system: FileSystem) -> dict[str, float]:
    """Returns the file system's parameters in SI units: the scenario's values, or defaults where
    the scenario sets none. A testbed may have different defaults (`testbed_default`). Raises
    InputError for a key that the file system does not have."""
    declared = system.parameters.of_origin("filesystem")
    for key in scenario.file_system.parameters:
        if key not in declared:
            allowed = ["name", "access", *sorted(declared)]
            raise InputError(f"file_system.{key}", None, unknown(key, allowed))
    given, on_testbed = scenario.file_system.parameters, scenario.file_system.access.testbed
    return {
        key: number(parameter, given.get(key, parameter.testbed_default if on_testbed else None))
        for key, parameter in declared.items()
    }


def number(parameter: Parameter, written: Any) -> float:
    """Converts a parameter's value `written` in the scenario to SI units; None means the default.
    Raises InputError if the value is invalid."""
    key = f"file_system.{parameter.key}"
    if written is None:
        assert parameter.default is not None
        return float(parameter.default)
    try:
        if isinstance(written, str) and parameter.unit == "1" and is_odd_number(written):
            raise InputError(key, written, PLAIN)
        if isinstance(written, str):
            number = parse(written, parameter.unit) if parameter.unit != "1" else float(written)
        elif isinstance(written, bool) or (parameter.unit not in ("1", "B") and written):
            raise ValueError(f"needs a quantity in {parameter.unit}")
        else:
            number = bare_bytes(written) if parameter.unit == "B" else float(written)
    except ValueError as error:
        reason = str(error) if parameter.unit != "1" else "is not a number"
        raise InputError(key, written, reason) from error
    if parameter.choices and number not in parameter.choices:
        allowed = ", ".join(f"{choice:g}" for choice in parameter.choices)
        raise InputError(key, written, f"must be one of {allowed}")
    if parameter.minimum is not None and number < parameter.minimum:
        raise InputError(key, written, f"must be at least {parameter.minimum:g}")
    return number


def environment(scenario: Scenario, system: FileSystem, workload: Workload) -> SymbolValues:
    """Returns the value in SI units of every symbol that is not calibrated, by the name of the
    symbol."""
    own = workload_parameters(scenario, workload)
    stream = workload.stream(own)
    path = tcp_path(scenario.deployment.network)
    values: SymbolValues = {
        "file_size": _operation_bytes(stream),
        "transfer_size": float(own.transfer_size),
        "clients": float(scenario.workload.clients),
        "direct": float(scenario.workload.cache == "direct"),
        "cold": float(scenario.workload.cache == "cold"),
        "fsync": float(scenario.workload.fsync is True),
        "forced": float(_is_forced(scenario)),
        "forced_attributes": float(
            scenario.workload.fsync == "write" or scenario.workload.sync_io == "all"
        ),
        "scattered": float(_is_scattered(stream)),
        "entries": float(stream.files_per_client),
        "network_latency": path.latency_s,
        "loopback_latency": scenario.deployment.network.loopback_latency,
        "stream_window": path.window_bytes,
        "retransmission": path.retransmission_s,
    }
    values.update(_derived(COMMON.values()))
    values.update(_derived(system.parameters))
    values["first"] = _first(scenario, own)
    values["kept"] = _kept(scenario, own, stream, system)
    values.update(parameters(scenario, system))
    values.update(hardware(scenario, system))
    return values


def _operation_bytes(stream: Stream) -> float:
    """Returns the bytes that an operation moves: the mean size of a file, or the size of one
    transfer if each operation is a single transfer."""
    return float(stream.transfer_size_bytes) if stream.moves_parts else stream.file_size.mean_bytes


def distinct_bytes(scenario: Scenario, own: FileParameters, stream: Stream) -> float:
    """Returns the total size in bytes of the files that a workload reads or writes. Each byte
    counts once, although a stream of single transfers may move it several times."""
    files = stream.files_per_client if stream.moves_parts else own.operations()
    return files * scenario.workload.clients * stream.file_size.mean_bytes


def network_effects(scenario: Scenario) -> NetworkEffects:
    """Returns the effects of a configuration's network on messages, in addition to the network's
    latency and its adapters' rates."""
    emulation = scenario.emulation
    if emulation is None:
        return NetworkEffects()
    # The process that emulates latencies of at least `emulation.delay` uses the processors that all
    # nodes share.
    is_delayed = tcp_path(scenario.deployment.network).latency_s >= emulation.delay
    return NetworkEffects(
        frame_bytes=SHAPED_BYTES,
        burst_bytes=emulation.burst,
        is_crossing_work=is_delayed and bool(scenario.deployment.shared_cores),
    )


def payload_share(scenario: Scenario) -> float:
    """Returns the fraction of the bytes through an adapter that are payload of TCP streams, as
    opposed to headers."""
    return SEGMENT_BYTES / network_effects(scenario).frame_bytes


def hardware(scenario: Scenario, system: FileSystem) -> dict[str, float]:
    """Returns a dictionary from each role's hardware symbols to their values in SI units. If the
    node groups of a role differ in a value, the role's symbol has the mean over the role's
    processes. In this case, each group has a symbol, too (see `of_group`)."""
    payload = payload_share(scenario)
    values: dict[str, float] = {}
    for role in system.roles:
        values.update(_hardware(scenario.deployment, role.name, payload))
        values.update(_unequal(scenario.deployment, role.name, payload))
    return values


def of_group(key: str, group: str) -> str:
    """Returns the name of the hardware symbol `key` for the node group `group` alone: "group/key".
    Such a symbol exists where the values of a role's groups differ. The name of the group may
    contain "/", but `key` never does, so the last "/" separates the two."""
    return f"{group}/{key}"


def of_role(key: str) -> str:
    """Returns the hardware symbol of the whole role for `key`. If `key` is a symbol "group/key" of
    one node group, the result is the symbol without "group/"."""
    return key.rpartition("/")[2]


def group_of(key: str) -> str:
    """Returns the name of the node group in the hardware symbol `key`, or "" if `key` is a symbol
    of the whole role."""
    return key.rpartition("/")[0]


def is_of_group(key: str) -> bool:
    """Returns whether the symbol `key` is valid for one group of nodes only."""
    return "/" in key


def _derived(declared: Iterable[Parameter]) -> dict[str, float]:
    """Returns the default of each parameter in `declared` whose origin is "derived", by key. No
    scenario can set such a parameter."""
    return {p.key: float(p.default or 0.0) for p in declared if p.origin == "derived"}


def _is_scattered(stream: Stream) -> bool:
    """Returns whether a stream accesses files non-sequentially, so that read-ahead is useless."""
    return stream.access.order in ("random", "shuffled")


def _is_forced(scenario: Scenario) -> bool:
    """Returns whether every write call waits for the disk: because of an fsync after the call, or
    because of O_DSYNC or O_SYNC."""
    return scenario.workload.fsync == "write" or scenario.workload.sync_io != "none"


def _first(scenario: Scenario, own: FileParameters) -> float:
    """Returns the fraction of operations that are the first operation of their client. The fraction
    is 0 if all threads share one file system client, or if the number of operations is unknown."""
    operations = own.operations()
    shared = scenario.file_system.access.shared_client
    return 1.0 / operations if operations and not shared else 0.0


def _kept(scenario: Scenario, own: FileParameters, stream: Stream, system: FileSystem) -> float:
    """Returns the fraction of read bytes that the client's page cache provides, 0 to 1.

    For a warm cache, the fraction is min(1, CACHE_SHARE * memory of all client nodes / bytes of all
    distinct files). The reason is that the cache holds data that its client wrote before. The
    fraction is 0 in these cases:
    - The cache is not warm.
    - Clients share files.
    - Transfers are smaller than a page. A write of less than a page leaves no valid page in the
      cache.
    """
    shared = "shared" in (stream.files, *(phase.files for phase in stream.phases))
    if scenario.workload.cache != "warm" or shared or own.transfer_size < PAGE_BYTES:
        return 0.0
    client = next(role.name for role in system.roles if role.kind == "client")
    groups = scenario.deployment.groups_of(client)
    memory = sum(group.count * group.memory for group in groups)
    volume = distinct_bytes(scenario, own, stream)
    return min(1.0, CACHE_SHARE * memory / volume) if volume else 0.0


def _hardware(deployment: Deployment, role: str, payload: float) -> dict[str, float]:
    """Returns a role's hardware symbols with their values. A value is the mean over the role's
    processes. `payload`: the fraction of an adapter's bytes that are payload."""
    groups = deployment.groups_of(role)
    weights = [group.count * group.roles[role] for group in groups]
    columns: dict[str, list[float]] = {}
    for group in groups:
        for kind, value in _of_group(group, payload).items():
            columns.setdefault(kind, []).append(value)
    values = {
        f"{role}.{kind}": sum(w * v for w, v in zip(weights, column, strict=True)) / sum(weights)
        for kind, column in columns.items()
    }
    values[f"{role}.instances"] = float(sum(weights))
    return values


def _unequal(deployment: Deployment, role: str, payload: float) -> dict[str, float]:
    """Returns hardware symbols of single node groups that host a role, with their values. Only
    symbols whose values differ between the groups are included. `payload`: the fraction of an
    adapter's bytes that are payload."""
    groups = deployment.groups_of(role)
    each = [_of_group(group, payload) for group in groups]
    return {
        of_group(f"{role}.{kind}", group.name): value
        for group, own in zip(groups, each, strict=True)
        for kind, value in own.items()
        if any(other[kind] != value for other in each)
    }


def _of_group(group: NodeGroup, payload: float) -> dict[str, float]:
    """Returns a dictionary of a node group's hardware values. The keys are the last parts of the
    symbols' names, such as "disk_latency". `payload`: the fraction of an adapter's bytes that are
    payload."""
    files = group.local_files.completed(group.disk.read_rate, group.disk.write_rate)
    return {
        "nic_bandwidth": group.adapter.bandwidth * payload,
        "nic_latency": group.adapter.latency,
        "nic_burst": group.adapter.burst,
        "disk_read_rate": group.disk.read_rate,
        "disk_write_rate": group.disk.write_rate,
        "disk_latency": group.disk.latency,
        "disk_burst": group.disk.burst,
        "processors": group.processors,
        "cores": group.cores,
        "frequency": group.frequency * group.share,
        "memory": group.memory,
        "copy_rate": group.copy_rate,
        "call_time": group.call_time,
        "request_read_time": files.read_time,
        "request_read_rate": files.read_rate,
        "request_write_time": files.write_time,
        "request_write_rate": files.write_rate,
        "request_read_least": files.small_read_time,
        "request_write_least": files.small_write_time,
        "requests": files.requests,
        "creates": files.creates,
        "deletes": files.deletes,
        "commits": files.commits,
        "commit_rate": files.commit_rate,
        "commits_rate": files.commits_rate,
        "touch_rate": files.touch_rate,
        "write_call": files.write_call_time,
        "overwrite_call": files.overwrite_call_time,
        "overwrite_rate": files.cached_overwrite_rate,
        "request_rate": files.request_rate,
    }
