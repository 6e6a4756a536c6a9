"""Converts dfslab's own results to evidence, which the plausibility rules judge. There is one piece
of evidence on each measured run, one on each phase of a run, and one on all repetitions of a
configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from dfslab import discover
from dfslab.documents import metrics
from dfslab.documents.evidence import (
    Cache,
    Caches,
    Coverage,
    Data,
    Evidence,
    Generator,
    Hardware,
    Operation,
    Repetitions,
    Speed,
    Work,
)
from dfslab.documents.load_report import Second, Steady
from dfslab.documents.measured_load import (
    READS,
    CacheState,
    MeasuredLoad,
    MeasuredPhase,
    OperationCounts,
)
from dfslab.documents.table import labels_text
from dfslab.method import MEASURE
from dfslab.result import Result
from dfslab.spec.deployment import Disk, NodeGroup
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.studies.runs import completeness

# LEAST_OF_HALF: the halves of a run are compared only if each half has at least this number of
# operations. HALVES_DIFFER: largest relative difference between the halves of a steady run. This
# difference is the random error of a count of 100 operations (twice the standard deviation).
LEAST_OF_HALF = 100
HALVES_DIFFER = 0.2
WRITES = frozenset({"write", "pwrite", "append", "overwrite"})
# Whether a disk reads or writes the bytes of an operation.
ReadOrWrite = Literal["read", "write"]


def of_results(results: Sequence[Result]) -> list[Evidence]:
    """Returns the evidence about all measured results, in the order of the results, and then the
    evidence about the repetitions of each configuration."""
    measured = [one for one in results if one.method == MEASURE]
    found = [evidence for one in measured for evidence in _of_one(one)]
    return [*found, *_repeated(measured)]


def _of_one(result: Result) -> Iterator[Evidence]:
    name = labels_text(dict(result.labels)) or result.point.scenario.name
    subject = f"{name}, run {result.repetition + 1}"
    on = hardware(result.point.scenario)
    load = result.load
    if load is None:
        yield Evidence(subject=subject, speed=_speed(result), hardware=on)
        return
    generator = _generator(load)
    if load.phases:
        clients = result.point.scenario.workload.clients
        coverage = Coverage(
            phases_planned=len(load.phases),
            phases_finished=sum(bool(_started(phase.operations)) for phase in load.phases),
            **_clients_covered(load, clients),
        )
        yield Evidence(subject=subject, coverage=coverage, generator=generator, data=_data(result))
        for phase in load.phases:
            yield _of_phase(subject, result, phase, on)
        return
    yield Evidence(
        subject=subject,
        speed=_speed(result),
        work=_work(result, load.operations, load.window_s, _failed(result, load)),
        hardware=on,
        caches=_caches(load.cache, load.operations),
        generator=generator,
        data=_data(result),
        coverage=Coverage(
            settled=_settled(load.steady, load.seconds),
            **_clients_covered(load, result.point.scenario.workload.clients),
        ),
    )


def _data(result: Result) -> Data:
    """Returns evidence on the check of files' content. The evidence states that the content was not
    compared with what was written. The evidence is empty if the content was compared, or if another
    program made the result."""
    return Data(is_compared=False) if completeness.is_unverified(result) else Data()


def _of_phase(subject: str, result: Result, phase: MeasuredPhase, on: Hardware) -> Evidence:
    times = [(one.count, one.mean_s) for one in phase.latency.values()]
    speed = Speed.model_construct(
        rate=phase.rate_per_s,
        throughput=phase.throughput_bytes_per_s if phase.bytes else None,
        latency_mean=_weighted(times),
    )
    return Evidence(
        subject=f"{subject}, phase {phase.name}",
        speed=speed,
        work=_work(result, phase.operations, phase.window_s, 0),
        hardware=on,
        caches=_caches(phase.cache, phase.operations),
        coverage=Coverage(settled=_settled(phase.steady, phase.seconds)),
    )


def _speed(result: Result) -> Speed:
    """Returns the rate, throughput and times of a whole run. The mean latency is over all
    operations, weighted by their counts."""
    values = {name: metric.value for name, metric in result.metrics.items()}
    counts = result.load.operations if result.load is not None else {}
    means = {
        name: values[metrics.key(metrics.LATENCY, metrics.MEAN, name)]
        for name in metrics.operations_with(values, metrics.LATENCY)
    }
    has_counts = bool(means) and all(name in counts for name in means)
    times = [(counts[name].count, mean_s) for name, mean_s in means.items()] if has_counts else []
    only = next(iter(means)) if len(means) == 1 else ""
    return Speed.model_construct(
        rate=values.get(metrics.RATE),
        throughput=values.get(metrics.THROUGHPUT),
        latency_mean=_weighted(times) if times else means.get(only),
        latency_p50=values.get(metrics.key(metrics.LATENCY, "p50", only)) if only else None,
        latency_p99=values.get(metrics.key(metrics.LATENCY, "p99", only)) if only else None,
    )


def _weighted(times: Sequence[tuple[int, float]]) -> float | None:
    total = sum(count for count, _ in times)
    return sum(count * mean_s for count, mean_s in times) / total if total else None


def _work(
    result: Result, operations: Mapping[str, OperationCounts], window_s: float, errors: int
) -> Work:
    """Returns the work done in one run or phase. `window_s`: length of the measured time in
    seconds; 0 if it is not known, as for an imported table of runs."""
    workload = result.point.scenario.workload
    cache: Cache = workload.cache
    moved = sum(one.bytes for one in operations.values())
    return Work.model_construct(
        operation=_operation(operations),
        operations=sum(one.count for one in operations.values()) if window_s else None,
        bytes_moved=float(moved) if moved and window_s else None,
        errors=errors,
        duration=window_s or None,
        clients=workload.clients,
        queue_depth=1,
        cache=cache,
        forced=bool(workload.fsync) or workload.sync_io != "none",
        from_schedule=True if workload.arrival != "closed" else None,
    )


def _operation(operations: Mapping[str, OperationCounts]) -> Operation:
    done = {name for name, one in operations.items() if one.count}
    if not done:
        return ""
    if done <= READS:
        return "read"
    if done <= WRITES:
        return "write"
    return "mixed" if done & (READS | WRITES) else "metadata"


def _started(operations: Mapping[str, OperationCounts]) -> int:
    return sum(one.count + one.errors for one in operations.values())


def _settled(steady: Steady | None, seconds: Sequence[Second]) -> bool | None:
    """Returns whether the rate reached a steady state. If the numbers of operations in the two
    halves of the run differ by at most HALVES_DIFFER, the rate counts as steady. Otherwise the
    warm-up test decides. Returns None if the warm-up test was not made (`steady` is None), or if
    one half has fewer than LEAST_OF_HALF operations."""
    if steady is None:
        return None
    middle = len(seconds) // 2
    first, last = (sum(one.count for one in part) for part in (seconds[:middle], seconds[-middle:]))
    if min(first, last) < LEAST_OF_HALF:
        return None
    return steady.reached or abs(last / first - 1) <= HALVES_DIFFER


def _failed(result: Result, load: MeasuredLoad) -> int:
    """Returns the number of failed operations; 0 if the scenario makes operations fail on purpose.

    The rules need the number of failed operations, because rates do not count them.
    """
    run = result.point.scenario.run
    if run.fault or any(layer.fails for layer in run.layer):
        return 0
    return sum(one.count for one in load.errors)


def _clients_covered(load: MeasuredLoad, planned: int) -> Mapping[str, int]:
    """Returns two numbers as fields of `Coverage`: the clients that were planned, and the clients
    that finished an operation. The result is empty if single clients were not recorded."""
    if not load.per_client:
        return {}
    finished = sum(bool(one.count) for one in load.per_client)
    return {"clients_planned": planned, "clients_finished": finished}


def _caches(state: CacheState | None, operations: Mapping[str, OperationCounts]) -> Caches:
    """Returns the evidence on caches. The evidence has the fraction of the data in page caches at
    the start, the bytes read from disks, and how often the files were read. The evidence is empty
    if the state of the caches was not recorded.

    The evidence does not state how many bytes are read for the first time. For dfslab's own
    results, no rule needs this number, because the instrument rejects cold runs that read too
    little from disks.
    """
    if state is None:
        return Caches()
    proof, disks = state.proof, state.disks
    share = passes = None
    if proof is not None and proof.prepared_bytes:
        share = proof.resident_bytes / proof.prepared_bytes
        read_bytes = sum(operations[name].bytes for name in READS & operations.keys())
        passes = read_bytes / proof.prepared_bytes
    return Caches.model_construct(
        resident=share,
        disk_reads=float(disks.read_bytes) if disks is not None else None,
        passes=passes,
    )


def _generator(load: MeasuredLoad) -> Generator:
    known, machine = load.generator, load.machine
    return Generator.model_construct(
        own_share=known.share_of_latency if known is not None else None,
        is_late=not known.on_time if known is not None else None,
        others=machine.others_share if machine is not None else None,
        stolen=machine.stolen_share if machine is not None else None,
        throttled=machine.throttled_share if machine is not None else None,
        clock_step=machine.clock_step_s if machine is not None else None,
    )


def hardware(scenario: Scenario, is_known: bool = False) -> Hardware:
    """Returns the known properties of the deployment's hardware. `is_known`: whether the user
    confirms the declared hardware. The result is empty if the file system is unknown, or if no node
    group has clients or none has data servers.

    - If the user confirms the hardware, all of it is known.
    - On a testbed, everything except the memory sizes is known, because the testbed enforces the
      rates and the round trip.
    - Otherwise only the line rate is known, and only if it is not the default. The user may not
      have checked a default.
    """
    try:
        system = discover.file_system(scenario.file_system.name)
    except (InputError, discover.DiscoveryError):
        return Hardware()
    kinds = {role.name: role.kind for role in system.roles}
    groups = scenario.deployment.node
    clients = [one for one in groups if _plays(one, kinds, "client")]
    servers = [one for one in groups if _plays(one, kinds, "data")]
    if not servers or not clients:
        return Hardware()
    is_enforced = is_known or scenario.file_system.access.testbed
    is_shared = any(one in servers for one in clients)
    memory_bytes = max(one.memory for one in clients) if is_known else None
    is_remote = system.has_servers and not is_shared
    network = scenario.deployment.network
    return Hardware.model_construct(
        client_nodes=sum(one.count for one in clients),
        server_nodes=sum(one.count for one in servers),
        is_remote=is_remote,
        client_line=_line(clients, is_enforced) if is_remote else None,
        server_line=_line(servers, is_enforced) if is_remote else None,
        round_trip=2 * network.latency if is_remote and is_enforced else None,
        disks_read=_disks(servers, "read", is_enforced),
        disks_write=_disks(servers, "write", is_enforced),
        client_memory=memory_bytes,
        server_memory=max(one.memory for one in servers) if is_known else None,
    )


def _plays(group: NodeGroup, kinds: Mapping[str, str], kind: str) -> bool:
    return any(count and kinds.get(role) == kind for role, count in group.roles.items())


def _line(groups: Sequence[NodeGroup], is_enforced: bool) -> float | None:
    """Returns the line rate of a node in bytes per second. The rate is the mean over all nodes of
    the groups. Returns None if a node's line rate is unknown."""
    usual = NodeGroup().adapter.bandwidth
    if not is_enforced and any(one.adapter.bandwidth == usual for one in groups):
        return None
    nodes = sum(one.count for one in groups)
    return sum(one.adapter.bandwidth * one.count for one in groups) / nodes


def _disks(groups: Sequence[NodeGroup], way: ReadOrWrite, is_enforced: bool) -> float | None:
    """Returns the sum of all disks' rates in bytes per second. Returns None if the rates are not
    enforced, because disks are often shared or exceed their nominal rate for some time."""
    if not is_enforced:
        return None
    return sum(_rate(one.disk, way) * one.disk.count * one.count for one in groups)


def _rate(disk: Disk, way: ReadOrWrite) -> float:
    return disk.read_rate if way == "read" else disk.write_rate


def _repeated(results: Sequence[Result]) -> Iterator[Evidence]:
    """Yields the evidence about each configuration's repetitions: their rates in the order of
    time."""
    groups: dict[str, list[Result]] = {}
    for one in results:
        if one.complete and metrics.RATE in one.metrics:
            groups.setdefault(one.point_id, []).append(one)
    for members in groups.values():
        if len(members) < 2:
            continue
        ordered = sorted(members, key=lambda one: (one.provenance.started, one.repetition))
        name = labels_text(dict(ordered[0].labels)) or ordered[0].point.scenario.name
        rates = [one.value(metrics.RATE) for one in ordered]
        yield Evidence(
            subject=f"{name}, {len(rates)} repetitions",
            repetitions=Repetitions.model_construct(rates=rates),
        )
