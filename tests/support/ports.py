"""Functions that give tests addresses and ports of this machine. No other process can take them
before the test uses them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

# A port below the range for outgoing connections. Outgoing connections may use any loopback address
# as their source, so they could otherwise occupy the port.
PORT = 9_099


@contextmanager
def silent_port() -> Iterator[int]:
    """Yields a port of 127.0.0.1 that refuses connections. The port stays bound, so no process can
    listen on it."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])


def own_address() -> str:
    """Returns a loopback address that no other process of this machine gets, because it contains
    the PID.

    A PID has at most 22 bits, and 127.64.0.0/10 has an address for each 22-bit number.
    """
    number = os.getpid()
    return f"127.{64 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
