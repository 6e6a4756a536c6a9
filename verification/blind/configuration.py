"""Turns a drawn configuration into a scenario, and reports why a configuration cannot be carried
out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dfslab import discover
from dfslab.models.tree.prediction import situation_of
from dfslab.spec.changes.change import DISK, DOUBLING, Change
from dfslab.spec.check import check
from dfslab.spec.design import LevelValue
from dfslab.spec.environment import parameters
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Judge, Scenario, read
from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.studies.trials.feasible import why_not
from dfslab.testbeds.hosts.network import LEAST_DELAY_S

from verification.blind.machine import MachineProfile
from verification.blind.space import LAYOUTS, METADATA, MIB, MIXED, Hardware, Layout, Work
from verification.recordings import SCENARIOS

MODEL = "sequence"
# Largest accepted deviation of a measured rate from the declared rate, as a share of the declared
# rate. A testbed measures the rates of its links and disks when it starts.
TOLERANCE = 0.15
# Durations of a run in seconds. A run should take TARGET_S by prediction. A point is left out if
# the smallest number of operations of its run is predicted to take more than LONGEST_S. A run is
# ended after LIMIT_S.
TARGET_S, LONGEST_S, LIMIT_S = 3.0, 10.0, 20.0
# Limits for all files of a run. MOST_BYTES: total size. MOST_WRITING_S: seconds in which the links
# and disks can write these bytes. MOST_CREATING_S: predicted seconds in which the files are
# created.
MOST_BYTES, MOST_WRITING_S, MOST_CREATING_S = 512 * MIB, 8.0, 4.0
MOST_OPERATIONS = 50_000
# Smallest number of operations of a workload that mixes reads and writes. With fewer operations,
# all of them could be reads, or all could be writes.
LEAST_MIXED = 10
CREATION = "create"


@dataclass(frozen=True)
class BlindPoint:
    """A drawn configuration. `system` is a key of LAYOUTS. All points with the same value of
    `testbed` are measured on the same testbed. `operations` is the number of operations of each
    client."""

    name: str
    system: str
    testbed: str
    hardware: Hardware
    work: Work
    operations: int = 1


def scenario_of(point: BlindPoint, machine: MachineProfile) -> Scenario:
    """Returns the scenario of a point. Hardware that the testbed limits, such as disks, has the
    rates of the point's testbed. Other hardware, such as processors, is taken from the profile of
    the machine. Raises InputError if the point is illegal."""
    layout = LAYOUTS[point.system]
    scenario = _on_testbed(layout, point.hardware, machine) if layout.scenario else _local(machine)
    work = point.work
    workload: dict[str, LevelValue] = {
        "name": METADATA if work.kind == METADATA else work.operation,
        "clients": work.clients,
        "cache": work.cache,
        "fsync": work.fsync,
        "transfer_size": work.transfer_bytes,
        "operations_per_client": point.operations,
    }
    if work.kind == METADATA:
        workload["operation"] = work.operation
    else:
        workload["file_size"] = work.size_bytes
    chosen = build(type(scenario.workload), workload, "workload")
    run = scenario.run.model_copy(
        update={"time_limit": LIMIT_S, "timed": True, "verify": "none", "repetitions": 1}
    )
    names = {"name": point.name, "title": "", "judge": Judge(), "workload": chosen, "run": run}
    return scenario.model_copy(update=names)


def _on_testbed(layout: Layout, hardware: Hardware, machine: MachineProfile) -> Scenario:
    scenario = read(SCENARIOS / f"{layout.scenario}.toml").with_sweep([])
    network = machine.deployment.network
    # Latencies below LEAST_DELAY_S are not emulated. The latency between two hosts is then the
    # latency of the machine without an added delay.
    is_made = hardware.latency_s >= LEAST_DELAY_S
    latency_s = hardware.latency_s if is_made else machine.undelayed_s
    values: dict[str, LevelValue] = {
        "deployment.network.latency": f"{latency_s:.6g} s",
        "deployment.network.loopback_latency": f"{network.loopback_latency:.6g} s",
        "deployment.network.window": int(network.window),
        "deployment.shared_cores": machine.node.cores,
        "deployment.tolerance": TOLERANCE,
        **layout.values,
    }
    for group in scenario.deployment.node:
        key = f"deployment.node.{group.name}"
        values[f"{key}.cores"] = machine.node.cores
        values[f"{key}.copy_rate"] = f"{machine.node.copy_rate:.6g} B/s"
        values[f"{key}.call_time"] = f"{machine.node.call_time:.6g} s"
        values[f"{key}.adapter.bandwidth"] = f"{hardware.link_bytes_per_s:.6g} B/s"
        for rate in ("read_rate", "write_rate"):
            values[f"{key}.disk.{rate}"] = f"{hardware.disk_bytes_per_s:.6g} B/s"
        values[f"{key}.disk.latency"] = "0 s"
        if group.name == "server":
            values[f"{key}.count"] = layout.servers
            values |= _dirty(key, group.memory * layout.servers, machine)
        if group.name == "client":
            values[f"{key}.count"] = hardware.client_hosts
    return scenario.replace(values)


def _dirty(key: str, memory_bytes: float, machine: MachineProfile) -> Mapping[str, LevelValue]:
    """Returns the dirty-page thresholds of a group of hosts, as shares of the group's memory
    (`memory_bytes`). Each threshold equals the machine's threshold in bytes, because the kernel
    counts the dirty pages of all hosts of the machine together."""
    own = machine.node
    shares = {"dirty_background": own.dirty_background, "dirty_limit": own.dirty_limit}
    return {
        f"{key}.{name}": min(1.0, round(share * own.memory / memory_bytes, 4))
        for name, share in shares.items()
    }


def _local(machine: MachineProfile) -> Scenario:
    node = machine.node.model_dump(mode="json")
    deployment = machine.deployment.model_dump(mode="json")
    table = {
        "name": "local",
        "deployment": {**deployment, "node": [{**node, "roles": {"client": 1, "storage": 1}}]},
        "file_system": {"name": "local"},
        "workload": {"name": "sequential_read"},
    }
    found: Scenario = build(Scenario, table, "")
    return found


def hardware_refusal(point: BlindPoint, machine: MachineProfile) -> str:
    """Returns the reason why a testbed cannot emulate the hardware of a point, or "" if it can."""
    hardware = point.hardware
    if not LAYOUTS[point.system].scenario:
        return ""
    if hardware.seek_s:
        key = "deployment.node.server.disk.latency"
        change = Change("seeks", {key: f"{hardware.seek_s} s"}, DISK, DOUBLING)
        return why_not(scenario_of(point, machine).replace(change.values), (change,))
    # A testbed checks the rate of each link with one TCP stream, and refuses to start if the
    # stream's window is too small to fill the link.
    if hardware.link_bytes_per_s * 2 * hardware.latency_s > machine.deployment.network.window:
        return "a testbed checks a link by one stream, whose window does not fill this link"
    return ""


def sized(point: BlindPoint, machine: MachineProfile) -> tuple[BlindPoint, str]:
    """Chooses the number of operations of a point so that its run is predicted to take TARGET_S
    seconds. Returns (point with this number, reason). The reason says why the point is left out; it
    is "" if the point can be measured."""
    try:
        scenario = scenario_of(point, machine).with_methods(["measure", MODEL])
        check(scenario)
    except InputError as error:
        return point, f"{error.key}: {error.allowed}"
    if point.work.cache == "direct" and not _bypasses_caches(scenario):
        return point, "clients that are not mounted have no direct I/O"
    situation = situation_of(scenario)
    rate_per_s = situation.predict(situation.constants).rate_per_s
    work = point.work
    least = LEAST_MIXED if work.kind == MIXED else work.clients
    if least / rate_per_s > LONGEST_S:
        return point, f"{least} operations take more than {LONGEST_S:g} s"
    most = min(_most_files(point, machine, scenario), MOST_OPERATIONS)
    if least > most:
        return point, "the files cannot be written in the time of a point"
    wanted = max(least, min(most, TARGET_S * rate_per_s))
    return replace(point, operations=max(1, round(wanted / work.clients))), ""


def _bypasses_caches(scenario: Scenario) -> bool:
    """Returns whether clients can call the file system with direct I/O. Only clients of a mounted
    file system can use direct I/O."""
    system = discover.file_system(scenario.file_system.name)
    reached = Endpoint(uri="dfslab://host", directory="/", server="host", export="/")
    return isinstance(system.target(reached, parameters(scenario, system)), PosixTarget)


def _most_files(point: BlindPoint, machine: MachineProfile, scenario: Scenario) -> float:
    """Returns the largest number of files that can be written before a run, within MOST_BYTES,
    MOST_WRITING_S and MOST_CREATING_S."""
    work = point.work
    rate = min(point.hardware.disk_bytes_per_s, point.hardware.link_bytes_per_s)
    room = min(MOST_BYTES, MOST_WRITING_S * rate) / _copies(scenario)
    creation = Work(METADATA, CREATION, work.clients, 0, work.transfer_bytes, "warm", False)
    creating = situation_of(scenario_of(replace(point, work=creation), machine))
    creations_per_s = creating.predict(creating.constants).rate_per_s
    return min(room / max(1, work.size_bytes), MOST_CREATING_S * creations_per_s)


def _copies(scenario: Scenario) -> float:
    situation = situation_of(scenario)
    return max(1.0, situation.system.stored_copies(situation.parameters))
