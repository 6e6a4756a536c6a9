"""Free ports of an address, found by binding, outside the range that outgoing connections use."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection
from pathlib import Path

from dfslab.testbeds.errors import TestbedError

LOOPBACK = "127.0.0.1"
WINDOW = 10_000
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int, taken: Collection[int] = (), address: str = LOOPBACK) -> list[int]:
    """`count` ports that can be bound now and are not in `taken`.

    The search covers a range outside the ephemeral ports, so that no outgoing connection takes a
    port before the daemon binds it. It starts at a random port, so that concurrent searches rarely
    collide. TestbedError if there are too few free ports.
    """
    first_ephemeral = int(_EPHEMERAL.read_text().split()[0])
    window = list(range(max(1024, first_ephemeral - WINDOW), first_ephemeral))
    start = random.randrange(len(window))
    found: list[int] = []
    for port in window[start:] + window[:start]:
        if len(found) == count:
            break
        if port not in taken and can_listen(port, address):
            found.append(port)
    if len(found) < count:
        raise TestbedError("state", "choosing ports", f"only {len(found)} of {count} are free")
    return found


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
