"""Free ports of an address, found by binding and reserved until daemons listen on them."""

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

    A reservation is a socket in Linux' abstract namespace, named after the address and the port:
    one process of this machine's network can have it, and the kernel removes it with the process.
    A context manager; its end releases every reservation.
    """

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Reservations:
        return self

    def __exit__(self, *_: object) -> None:
        for reservation in self._sockets:
            reservation.close()

    def take(self, port: int, address: str = LOOPBACK) -> bool:
        """Reserve a port; False when it is reserved already, here or by another process."""
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
    """`count` ports that can be bound now, are not in `taken` and are now reserved.

    The search covers a range outside the ephemeral ports, so that no outgoing connection takes a
    port before the daemon binds it. A reservation keeps it from other searches until then. The
    search starts at a random port. TestbedError when there are too few free ports.
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
    """Reserve a port and then try it: another testbed's daemon may listen since its release."""
    return reservations.take(port, address) and can_listen(port, address)


def _window() -> list[int]:
    """The ports to try, in their order from a random one on."""
    first_ephemeral = int(_EPHEMERAL.read_text().split()[0])
    window = list(range(max(1024, first_ephemeral - WINDOW), first_ephemeral))
    start = random.randrange(len(window))
    return window[start:] + window[:start]


def can_listen(port: int, address: str = LOOPBACK) -> bool:
    """Whether a server could listen on the port now."""
    with socket.socket() as probe:
        # Bind as servers do (SO_REUSEADDR), so that a lingering closed connection does not block
        # the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError:
            return False
    return True
