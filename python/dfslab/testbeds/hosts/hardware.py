"""Measures a testbed's emulated links and disks and compares them with the declared hardware.

The measurements are made before daemons start. The measurements take well under a second for each
kind of link or disk. All links are measured concurrently if the sum of their rates is at most what
this machine can carry (TOGETHER_BYTES_PER_S).
"""

from __future__ import annotations

import math
import mmap
import os
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from dfslab.spec.deployment import NodeGroup
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts.cluster import Cluster
from dfslab.testbeds.hosts.host import Host
from dfslab.testbeds.hosts.machine import ROUND_TRIP, Check, busy_words, load_per_core
from dfslab.testbeds.hosts.network import PAYLOAD_SHARE, EmulatedLink
from dfslab.testbeds.hosts.threads import threads

Answer = TypeVar("Answer")
STREAM_S = 0.5
STREAM_SKIP_S = 0.15
ROUND_TRIPS = 40
DISK_S = 1.3
# Seconds that are ignored at the start of a disk measurement. A rate-limited disk exceeds its rate
# until its burst credit is used up.
DISK_SKIP_S = 0.35
DISK_REQUEST_BYTES = 1 << 18
DISK_FILE_BYTES = 256 << 20
LEAST_CUT_BYTES = 1 << 17
CHUNK_BYTES = 1 << 18
TIMEOUT_S = 10.0
# Links are measured concurrently if the sum of their rates, in bytes per second, is at most this
# number. Otherwise the links are measured one after the other.
TOGETHER_BYTES_PER_S = 1.5e9
ATTEMPTS = 6
# After its n-th failure, a measurement is repeated after a pause of n * PAUSE_S seconds. Other work
# on the machine may disturb measurements for seconds.
PAUSE_S = 0.5
DELAY_SLACK_S = 3e-4
DELAY_SHARE = 0.10


class Networked(Protocol):
    """A machine, or an emulated host, that can be one end of a network connection."""

    @property
    def address(self) -> str:
        """The IP address at which other hosts reach this host."""
        ...

    def in_network(self, work: Callable[[], Answer]) -> Answer:
        """Runs `work` in the host's network and returns its result."""
        ...


@dataclass(frozen=True)
class DirectLine:
    """A straight line that is fitted to the bytes that a disk has moved over time, after the disk's
    burst credit is used up.

    `rate`: slope of the line in bytes per second. `ahead_bytes`: value of the line at time 0. This
    is the number of bytes that the burst moved in addition to rate × time.
    """

    rate: float
    ahead_bytes: float


def measure(
    cluster: Cluster, storing: frozenset[str], known: set[str] | None = None
) -> list[Check]:
    """Measures the link rate and round trip of every host, and the disk rates of hosts with a role
    in `storing`.

    Failed checks are repeated. Raises TestbedError if a quantity still differs from its declared
    value after ATTEMPTS attempts. Links and disks of a kind in `known` are not measured again. The
    kinds that were measured are added to `known`.
    """
    known = set() if known is None else known
    links, disks = _kinds(cluster, storing)
    with threads(2) as pool:
        # Network and disk measurements run concurrently, because they take little processor time.
        later = pool.submit(_retried, lambda: _disks(cluster, storing, known))
        checks = []
        if not links <= known:
            checks = [*_retried(lambda: check_links(cluster)), *_retried(lambda: _trips(cluster))]
        checks += later.result()
    for check in checks:
        if not check.holds:
            what = f"checking the {check.quantity} of {check.host}"
            raise TestbedError(
                "failed",
                what,
                f"{check.difference()}; {busy_words(load_per_core())}declare what the machine can "
                "give, or raise deployment.tolerance",
            )
    known |= links | disks
    return checks


def _kinds(cluster: Cluster, storing: frozenset[str]) -> tuple[set[str], set[str]]:
    """Returns the kinds of the links of a cluster, and the kinds of its rate-limited disks. A kind
    is a text that describes the hardware and the tolerance, so that hardware of equal kind need not
    be measured again."""
    tolerance = cluster.deployment.tolerance
    links = {f"{link} {tolerance}" for link in cluster.links}
    limited = [group for _, group in cluster.deployment.nodes() if _is_limited(group, storing)]
    return links, {_disk_kind(group, tolerance) for group in limited}


def _is_limited(group: NodeGroup, storing: frozenset[str]) -> bool:
    """Returns whether a node has a role that stores data (a role in `storing`) and a rate-limited
    disk."""
    stores = storing & {role for role, count in group.roles.items() if count}
    return bool(stores) and not (
        math.isinf(group.disk.write_rate) and math.isinf(group.disk.read_rate)
    )


def _disk_kind(group: NodeGroup, tolerance: float) -> str:
    return f"{group.disk} {tolerance}"


def _retried(work: Callable[[], list[Check]]) -> list[Check]:
    """Runs a measurement and returns its checks.

    Other work on the machine may disturb an attempt. While a check fails, the measurement is
    therefore repeated, up to ATTEMPTS attempts in total. For each check, the result is from the
    last attempt in which the check held. If the check held in no attempt, the result is from the
    last attempt.
    """
    best = _checked(work)
    for attempt in range(1, ATTEMPTS):
        if all(check.holds for check in best):
            break
        time.sleep(attempt * PAUSE_S)
        again = _checked(work)
        best = [
            new if new.holds or not old.holds else old for old, new in zip(best, again, strict=True)
        ]
    return best


def _checked(work: Callable[[], list[Check]]) -> list[Check]:
    """Runs `work`. Errors of sockets and disks are converted into TestbedError."""
    try:
        return work()
    except OSError as error:
        raise TestbedError(
            "failed", "measuring links and disks", str(error) or "timed out"
        ) from error


def check_links(cluster: Cluster) -> list[Check]:
    """Measures the rate of every link in both directions. A stream runs from each host to the next,
    and from the last host to the first. If there is only one host, nothing is measured.

    A stream uses two links and runs at the rate of the slower one. Its rate is therefore compared
    with the smaller of the two declared rates.
    """
    hosts = cluster.hosts
    if len(hosts) < 2:
        return []
    pairs = list(zip(hosts, [*hosts[1:], hosts[0]], strict=True))
    rates = [link.rate_bytes_per_s for link in cluster.links]
    total = sum(math.inf if rate is None else rate for rate in rates)
    if total <= TOGETHER_BYTES_PER_S:
        with threads(len(pairs)) as pool:
            measured = list(pool.map(lambda pair: stream(*pair), pairs))
    else:
        measured = [stream(*pair) for pair in pairs]
    paths = [_slower(out, into) for out, into in zip(rates, [*rates[1:], rates[0]], strict=True)]
    return [
        Check(source.name, "link rate", rate, observed, (rate or 0) * cluster.deployment.tolerance)
        for (source, _), rate, observed in zip(pairs, paths, measured, strict=True)
    ]


def _slower(one: float | None, other: float | None) -> float | None:
    """Returns the smaller of two declared rates. None stands for an unlimited rate."""
    declared = [rate for rate in (one, other) if rate is not None]
    return min(declared, default=None)


@contextmanager
def filled(source: Networked, sink: Networked) -> Iterator[None]:
    """Returns a context in which a TCP stream from `source` to `sink` fills the path.

    Raises OSError if the hosts cannot be connected. If the stream fails or ends before the end of
    the context, OSError is raised at the end of the context.
    """
    with _sending(source, sink) as (connection, pool):
        over = threading.Event()
        receiving = pool.submit(_drain, connection, over)
        try:
            yield
        finally:
            over.set()
            wait([receiving])
        receiving.result()


@contextmanager
def _sending(
    source: Networked, sink: Networked
) -> Iterator[tuple[socket.socket, ThreadPoolExecutor]]:
    """Returns a context in which a thread sends zeros from `source` to `sink`. The context yields
    the connection of the receiver, and a pool in which one thread is free to receive.

    At its end, the context closes the connection, which ends the sender without an error. Raises
    OSError if the sender fails for any other reason, or if `source` does not connect to `sink`.
    """
    with (
        sink.in_network(lambda: socket.create_server((sink.address, 0))) as server,
        threads(2) as pool,
    ):
        server.settimeout(TIMEOUT_S)
        port = server.getsockname()[1]
        sending = pool.submit(lambda: source.in_network(lambda: _send(sink.address, port)))
        try:
            connection, _ = server.accept()
        except TimeoutError:
            # The error of the sender, if it has one, says why no connection arrived.
            if sending.done():
                sending.result()
            raise
        try:
            with connection:
                yield connection, pool
        except OSError:
            # The error of the sender, if it has one, says why the stream failed.
            sending.result()
            raise
        sending.result()


def _drain(connection: socket.socket, over: threading.Event) -> None:
    """Receives until `over` is set. Raises OSError if the stream stalls, fails or ends before
    `over` is set."""
    connection.settimeout(TIMEOUT_S)
    buffer = bytearray(CHUNK_BYTES)
    _received(connection, buffer)
    while not over.is_set():
        _received(connection, buffer)


def _received(connection: socket.socket, buffer: bytearray) -> int:
    """Receives into `buffer` and returns the number of bytes.

    Raises ConnectionError if the sender has ended the stream. The measured time would otherwise
    include time without a stream, and the measured rate would be too low.
    """
    count = connection.recv_into(buffer)
    if not count:
        raise ConnectionError("the sender ended the stream during the measurement")
    return count


def stream(source: Networked, sink: Networked) -> float:
    """Returns the rate of one TCP stream from `source` to `sink` in steady state, in bytes per
    second on the wire. Raises OSError if the hosts cannot be connected, or if the stream fails."""
    with _sending(source, sink) as (connection, _):
        return received_rate(connection)


def _send(address: str, port: int) -> None:
    with socket.create_connection((address, port), TIMEOUT_S) as connection:
        send_zeros(connection)


def send_zeros(connection: socket.socket) -> None:
    """Sends zeros until the other end closes the connection."""
    data = bytes(CHUNK_BYTES)
    try:
        while True:
            connection.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        return


def received_rate(connection: socket.socket) -> float:
    """Receives for STREAM_S seconds. Returns the rate in bytes per second on the wire. The first
    STREAM_SKIP_S seconds do not count."""
    return _receive(connection) / PAYLOAD_SHARE


def _receive(connection: socket.socket) -> float:
    connection.settimeout(TIMEOUT_S)
    buffer = bytearray(CHUNK_BYTES)
    began = time.monotonic()
    first = count = 0
    mark = began
    while (now := time.monotonic()) < began + STREAM_S:
        received = _received(connection, buffer)
        if now >= began + STREAM_SKIP_S:
            if not first:
                first, mark = 1, time.monotonic()
                continue
            count += received
    return count / (time.monotonic() - mark)


def _trips(cluster: Cluster) -> list[Check]:
    """Returns one check for each host: the measured round-trip time from the host to the next one,
    compared with the declared delays. The list is empty if there is only one host."""
    hosts, links = cluster.hosts, cluster.links
    if len(hosts) < 2:
        return []
    around: Sequence[tuple[Host, Host, EmulatedLink, EmulatedLink]] = list(
        zip(hosts, [*hosts[1:], hosts[0]], links, [*links[1:], links[0]], strict=True)
    )
    checks = []
    for source, sink, there, back in around:
        declared = there.delay_s + back.delay_s
        allowed = DELAY_SLACK_S + DELAY_SHARE * declared
        # Packets have a delay on this machine even without emulation. A shorter declared delay
        # cannot be emulated, so it is not checked.
        promised = declared if there.delayed or declared > DELAY_SLACK_S else None
        measured = least_round_trip(source, sink)
        checks.append(Check(source.name, ROUND_TRIP, promised, measured, allowed))
    return checks


def round_trip(source: Networked, sink: Networked) -> float:
    """Returns the median time in seconds of the round trip of one byte from `source` to `sink` and
    back, between user-space sockets."""
    return statistics.median(_round_trips(source, sink))


def least_round_trip(source: Networked, sink: Networked) -> float:
    """Returns the 10 % quantile of the round-trip times in seconds. The quantile estimates the
    delay of the link alone.

    Slower round trips also include time in which other work on the machine occupies the processors.
    """
    return statistics.quantiles(_round_trips(source, sink), n=10)[0]


def _round_trips(source: Networked, sink: Networked) -> list[float]:
    """Returns the times in seconds of ROUND_TRIPS round trips of one byte between two hosts."""
    with sink.in_network(lambda: socket.create_server((sink.address, 0))) as server:
        server.settimeout(TIMEOUT_S)
        port = server.getsockname()[1]
        echo = threading.Thread(target=_echo, args=(server,), daemon=True)
        echo.start()
        seconds = source.in_network(lambda: _ask(sink.address, port))
        echo.join(TIMEOUT_S)
    return seconds


def _echo(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        echo(connection)


def echo(connection: socket.socket) -> None:
    """Sends back what the other end sends, until the other end closes the connection."""
    connection.settimeout(TIMEOUT_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while data := connection.recv(64):
        connection.sendall(data)


def median_trip(address: str, port: int) -> float:
    """Connects to a process that echoes. Returns the median round trip of one byte in seconds."""
    return statistics.median(_ask(address, port))


def _ask(address: str, port: int) -> list[float]:
    seconds = []
    with socket.create_connection((address, port), TIMEOUT_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(ROUND_TRIPS):
            began = time.perf_counter()
            connection.sendall(b"x")
            if not connection.recv(1):
                raise ConnectionError("the echoing host closed the connection")
            seconds.append(time.perf_counter() - began)
    return seconds


def _disks(cluster: Cluster, storing: frozenset[str], known: set[str]) -> list[Check]:
    """Measures all rate-limited disks whose kind is not in `known`, concurrently: first direct
    writes, then direct reads."""
    tolerance = cluster.deployment.tolerance
    groups = [group for _, group in cluster.deployment.nodes()]
    chosen = [
        (host, group)
        for host, group in zip(cluster.hosts, groups, strict=True)
        if _is_limited(group, storing) and _disk_kind(group, tolerance) not in known
    ]
    if not chosen:
        return []
    checks = []
    with threads(len(chosen)) as pool:
        for kind, work in (("write", direct_write), ("read", direct_read)):
            paths = [host.path(host.disk) / ".dfslab-check" for host, _ in chosen]
            for (host, group), measured in zip(chosen, pool.map(work, paths), strict=True):
                each = group.disk.write_rate if kind == "write" else group.disk.read_rate
                rate = each * group.disk.count
                # The kernel splits large requests into parts, and each part counts as a request. If
                # the limit of requests per second is low, it is reached before the limit of bytes
                # per second. The byte rate is therefore not checked.
                is_unknown = 0 < group.disk.iops * LEAST_CUT_BYTES < rate
                allowed = rate * tolerance
                checks.append(
                    Check(
                        host.name,
                        f"disk {kind} rate",
                        None if is_unknown else rate,
                        measured,
                        allowed,
                    )
                )
        for path in paths:
            path.unlink()
    return checks


def direct_write(path: Path) -> float:
    """Returns the write rate in bytes per second with direct I/O. The file is created if it is
    missing."""
    return write_line(path).rate


def write_line(path: Path) -> DirectLine:
    """Writes with direct I/O, and returns the straight line that is fitted to the written bytes
    over time. The file is created if it is missing."""
    return _direct(path, os.O_WRONLY | os.O_CREAT, lambda f, b, at: os.pwrite(f, b, at))


def direct_read(path: Path) -> float:
    """Returns the read rate in bytes per second with direct I/O."""
    return _direct(path, os.O_RDONLY, lambda f, b, at: os.preadv(f, [b], at)).rate


def _direct(path: Path, flags: int, move: Callable[[int, mmap.mmap, int], int]) -> DirectLine:
    """Returns a straight line that is fitted to the moved bytes over time. `move` is the function
    that reads or writes one block at an offset.

    The line is fitted by regression. A rate limiter may refill its tokens only ten times a second,
    so the moved bytes grow in steps. The slope between two single points could be far from the mean
    rate.
    """
    file = os.open(path, flags | os.O_DIRECT, 0o600)
    try:
        end = DISK_FILE_BYTES if flags & os.O_CREAT else os.fstat(file).st_size
        times_s, moved_bytes = [], []
        with mmap.mmap(-1, DISK_REQUEST_BYTES) as buffer:
            began = time.monotonic()
            at = count = 0
            while (now := time.monotonic() - began) < DISK_S:
                moved = move(file, buffer, at)
                at = (at + moved) % end
                count += moved
                if now > DISK_SKIP_S:
                    times_s.append(time.monotonic() - began)
                    moved_bytes.append(count)
    finally:
        os.close(file)
    if len(times_s) < 2:
        return DirectLine(count / DISK_S, 0.0)
    slope, intercept = statistics.linear_regression(times_s, moved_bytes)
    return DirectLine(slope, intercept)
