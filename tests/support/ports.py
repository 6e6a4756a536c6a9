"""Addresses of this machine that no other process takes between a choice and its use."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

# Below the range of outgoing connections, which may have any loopback address as their source.
PORT = 9_099


@contextmanager
def silent_port() -> Iterator[int]:
    """A port of 127.0.0.1 that refuses connections: it is bound, and nobody can listen on it."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])


def own_address() -> str:
    """A loopback address that no other process of this machine has: its number is in it.

    Numbers of processes have 22 bits at most, so that 127.64.0.0/10 has an address for each.
    """
    number = os.getpid()
    return f"127.{64 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
