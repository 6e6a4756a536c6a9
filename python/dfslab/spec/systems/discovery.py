"""What an existing file system reports about its deployment: processes, settings and addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

# A function that runs a command and returns its standard output. The output is "" if the command is
# missing, fails or does not end in time. The command must only read.
Command = Callable[[Sequence[str]], str]


@dataclass(frozen=True, kw_only=True)
class SystemDiscovery:
    """The facts about its deployment that a running file system reports.

    `instances` maps each reported role to the number of its processes. `settings` maps parameters
    of the file system's description to values in SI units. `addresses` maps each role to the
    addresses "host:port" at which its processes accept TCP connections. `sources` are the commands
    or files that reported these facts.
    """

    instances: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, float] = field(default_factory=dict)
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: tuple[str, ...] = ()


def with_port(host: str, port: int) -> str:
    """Returns "host:port". If `host` already has a port, returns `host` unchanged."""
    return host if ":" in host else f"{host}:{port}"
