"""Finds ports of this machine on which no process listens."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port that the kernel has chosen, and that is free again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
