"""What an existing file system reports about its deployment: processes, settings and addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

# Runs a command that only reads, and returns its standard output; "" if the command is missing,
# fails or does not end in time.
Command = Callable[[Sequence[str]], str]


@dataclass(frozen=True, kw_only=True)
class SystemDiscovery:
    """The part of a deployment that a running file system reports.

    instances: role -> number of its processes; roles without a report are missing. settings:
    parameters of the file system's description in SI units. addresses: role -> "host:port" of its
    processes, which accept TCP connections. sources: what reported it, such as a command's name.
    """

    instances: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, float] = field(default_factory=dict)
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: tuple[str, ...] = ()


def with_port(host: str, port: int) -> str:
    """Returns "host:port"; a host that has a port keeps it."""
    return host if ":" in host else f"{host}:{port}"
