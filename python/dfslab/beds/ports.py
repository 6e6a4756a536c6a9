"""Free ports of an address, found by binding, outside the range that outgoing connections use."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection
from pathlib import Path

from dfslab.beds.errors import BedError

LOOPBACK = "127.0.0.1"
WINDOW = 10_000
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int, taken: Collection[int] = (), address: str = LOOPBACK) -> list[int]:
    """`count` ports that can be listened on now and are not in `taken`.

    The search is in a window where no outgoing connection takes a port between now and the
    daemon's start, from a random place in it, so that two who search at the same time rarely meet.
    BedError when there are too few.
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
        raise BedError("state", "choosing ports", f"only {len(found)} of {count} are free")
    return found


def can_listen(port: int, address: str = LOOPBACK) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        # As servers do: a connection that lingers after its end does not keep the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError:
            return False
    return True
