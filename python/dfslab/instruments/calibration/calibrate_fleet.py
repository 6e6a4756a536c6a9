"""Measures the hosts of a cluster that the user provides. The cluster is a running Dask cluster, or
the scenario starts one on hosts that it reaches over SSH or a batch system.

All hosts measure their own hardware at the same time. Then each host measures the network to the
next host in the list, one host after the other.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

from dfslab.fleet.client_hosts import Nodes
from dfslab.fleet.each_host import HostCalls, WorkerHost, hosts_of
from dfslab.instruments import access
from dfslab.instruments.calibration import calibrate
from dfslab.instruments.calibration.calibrate_testbed import HostsDocument, MeasuredHosts
from dfslab.instruments.calibration.quantities import (
    HardwareProbe,
    Quantity,
    Report,
    check_repeats,
    line,
    remark,
    repeated,
    single,
)
from dfslab.method import RunFailed
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.testbeds.hosts import hardware


def of_scenario(
    scenario: Scenario, directory: Path, repeats: int, report: Report = lambda *_: None
) -> MeasuredHosts:
    """Measures the hosts of the Dask cluster that a scenario names or starts (`run.fleet`).
    `directory` is a folder on the disk to measure, by its path on each host.
    """
    with access.session() as session:
        nodes = session.client_hosts(scenario)
        assert isinstance(nodes, Nodes), "a fleet that is not of agents has Dask workers"
        return measure(nodes.scheduler, nodes.expected, directory, repeats, report)


def measure(
    scheduler: str,
    expected: int,
    directory: Path,
    repeats: int = calibrate.REPEATS,
    report: Report = lambda *_: None,
) -> MeasuredHosts:
    """Measures the hosts of a Dask cluster once `expected` workers have joined. Returns the
    measured quantities of each host by the host's address. If there are several hosts, the network
    from each host to the next host is also measured.

    `directory` is a folder on the disk to measure, by its path on every host. Raises InputError if
    the folder is missing on a host, and RunFailed if a host does not answer.
    """
    check_repeats(repeats)
    with hosts_of(scheduler, expected) as calls:
        total = 2 * len(calls.hosts)
        working = {
            host: calls.client.submit(
                calibrate.measure, directory, repeats, workers=[host.worker], pure=False
            )
            for host in calls.hosts
        }
        found: MeasuredHosts = {}
        for at, (host, future) in enumerate(working.items()):
            report(at, total, f"hardware of {host.address}")
            try:
                found[host.address] = future.result()
            except InputError as error:
                raise error.of(host.address) from error
        following = (*calls.hosts[1:], *calls.hosts[:1])
        for at, (host, peer) in enumerate(zip(calls.hosts, following, strict=True)):
            if peer is host:
                break
            report(len(found) + at, total, f"network of {host.address}")
            found[host.address] += repeated(
                _network_probes(calls, host, peer), repeats, _silent, f"on {host.address}"
            )
    return found


def _silent(*_: object) -> None:
    pass


def _network_probes(calls: HostCalls, host: WorkerHost, peer: WorkerHost) -> list[HardwareProbe]:
    """Returns the probes of the network path from `peer` to `host`. The probes measure the rate of
    one stream and the round trip. The peer listens, and the host connects.
    """

    def rate() -> float:
        port = calls.call(peer, send_to_next, peer.address)
        return calls.call(host, received_rate, peer.address, port)

    def trip() -> float:
        port = calls.call(peer, echo_next, peer.address)
        return calls.call(host, hardware.median_trip, peer.address, port)

    return [single("network_rate", "B/s", rate), single("network_round_trip", "s", trip)]


def send_to_next(address: str) -> int:
    """Starts a thread that listens at an address of this machine, and returns the port at once. The
    thread sends zeros to the first process that connects, until that process closes the connection.
    """
    return _serve(address, hardware.send_zeros)


def echo_next(address: str) -> int:
    """Starts a thread that listens at an address of this machine, and returns the port at once. The
    thread sends everything that it receives from the first connection back to the sender.
    """
    return _serve(address, hardware.echo)


def _serve(address: str, serve: Callable[[socket.socket], None]) -> int:
    """Starts a thread that accepts one connection and calls `serve` with it. Returns the port. The
    thread ends if nothing connects within hardware.TIMEOUT_S seconds."""
    server = socket.create_server((address, 0))
    server.settimeout(hardware.TIMEOUT_S)
    bound: Future[int] = Future()

    def work() -> None:
        with server:
            bound.set_result(server.getsockname()[1])
            try:
                connection, _ = server.accept()
            except TimeoutError:
                return
            with connection:
                serve(connection)

    threading.Thread(target=work, daemon=True).start()
    return bound.result(hardware.TIMEOUT_S)


def received_rate(address: str, port: int) -> float:
    """Connects to a process that sends (`send_to_next`). Returns the rate of the stream in bytes
    per second on the wire."""
    with socket.create_connection((address, port), hardware.TIMEOUT_S) as connection:
        return hardware.received_rate(connection)


def document(found: Mapping[str, Sequence[Quantity]]) -> HostsDocument:
    """Returns the measured quantities of each host as a JSON profile."""
    groups = {
        name: {one.name: one.document() for one in quantities} for name, quantities in found.items()
    }
    return HostsDocument("", groups)


def toml(found: MeasuredHosts) -> str:
    """Returns a deployment in TOML with one node for each host. Comments give the intervals.

    Raises RunFailed if no host was measured.
    """
    if not found:
        raise RunFailed("the cluster has no host")
    count = len(next(iter(found.values()))[0].values)
    lines = [f"# Measured on the hosts of a cluster; {count} times each."]
    trips = []
    for name, quantities in found.items():
        by_name = {one.name: one for one in quantities}
        rate = by_name.get("network_rate", by_name["loopback_rate"])
        lines += [
            "[[deployment.node]]",
            f"name = {json.dumps(name)}",
            line("copy_rate", by_name["kept_read_rate"]),
            line("call_time", by_name["kept_read_call"]),
            *calibrate.processor_remarks(by_name),
            "[deployment.node.disk]",
            line("read_rate", by_name["disk_read_rate"]),
            line("write_rate", by_name["disk_write_rate"]),
            line("latency", by_name["disk_access"]),
            *calibrate.disk_remarks(by_name),
            "[deployment.node.adapter]",
            line("bandwidth", rate),
        ]
        trips += [by_name[key] for key in ("network_round_trip",) if key in by_name]
    first = {one.name: one for one in next(iter(found.values()))}
    lines.append("[deployment.network]")
    if trips:
        lines.append(line("latency", min(trips, key=lambda one: one.mean), 0.5))
    lines += [
        line("loopback_latency", first["loopback_round_trip"], 0.5),
        remark("Loopback round trip while a stream runs", first["loopback_round_trip_loaded"]),
        "",
    ]
    return "\n".join(lines)
