"""Finds free ports of an address by binding them, and reserves them until daemons listen on
them."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection
from pathlib import Path

from dfslab.testbeds.errors import TestbedError

LOOPBACK = "127.0.0.1"
WINDOW = 10_000
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


class Reservations:
    """Ports that this process has chosen and on which its daemons may not listen yet.

    A reservation is a socket in the abstract socket namespace of Linux, named after the address and
    the port. Only one process of a network namespace can have a socket of this name. The kernel
    removes the socket when the process ends. The class is a context manager, whose end releases
    every reservation.
    """

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Reservations:
        return self

    def __exit__(self, *_: object) -> None:
        for reservation in self._sockets:
            reservation.close()

    def take(self, port: int, address: str = LOOPBACK) -> bool:
        """Reserves a port. Returns False if this or another process has reserved it already."""
        reservation = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            reservation.bind(f"\0dfslab {address}:{port}")
        except OSError:
            reservation.close()
            return False
        self._sockets.append(reservation)
        return True


def free_ports(
    count: int, reservations: Reservations, taken: Collection[int] = (), address: str = LOOPBACK
) -> list[int]:
    """Finds `count` free ports that are not in `taken`, reserves them for this process, and returns
    them.

    The search begins at a random port. Its range is outside the ephemeral ports, so that no
    outgoing connection takes a port before the daemon binds it. Until then, the reservation
    prevents other processes from choosing the port. Raises TestbedError if there are too few free
    ports.
    """
    found: list[int] = []
    for port in _window():
        if len(found) == count:
            break
        if port not in taken and _is_free(port, address, reservations):
            found.append(port)
    if len(found) < count:
        raise TestbedError("state", "choosing ports", f"only {len(found)} of {count} are free")
    return found


def _is_free(port: int, address: str, reservations: Reservations) -> bool:
    """Reserves a port, and returns whether a daemon can listen on it.

    A daemon of another testbed may listen on a port that is no longer reserved. After the
    reservation, the function therefore also tries to bind the port.
    """
    return reservations.take(port, address) and can_listen(port, address)


def _window() -> list[int]:
    """Returns the ports to try, in their order. The ports ascend from a random port to the last
    port of the range, and continue with the first port of the range."""
    first_ephemeral = int(_EPHEMERAL.read_text().split()[0])
    window = list(range(max(1024, first_ephemeral - WINDOW), first_ephemeral))
    start = random.randrange(len(window))
    return window[start:] + window[:start]


def can_listen(port: int, address: str = LOOPBACK) -> bool:
    """Returns whether a server could listen on a port of `address` now."""
    with socket.socket() as probe:
        # Servers set SO_REUSEADDR when they bind. With it, a closed connection that lingers does
        # not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError:
            return False
    return True
