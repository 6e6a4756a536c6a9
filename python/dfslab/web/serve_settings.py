"""The settings of the web application: the folder of the runs, the address, and the token."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass
from pathlib import Path

LOCALHOST = "localhost"


@dataclass(frozen=True)
class ServeSettings:
    """What the web application serves, and to whom.

    `runs`: folder below which the run folders are. `token`: secret that a browser has to present;
    "" if none is needed.
    """

    runs: Path
    host: str = "127.0.0.1"
    port: int = 8787
    token: str = ""

    @property
    def address(self) -> str:
        """Returns the URL of the application, with the token if one is needed."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/" + (f"?token={self.token}" if self.token else "")


def is_loopback(host: str) -> bool:
    """Returns whether only programs of this machine can reach the address `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == LOCALHOST


def settings_of(runs: Path, host: str, port: int) -> ServeSettings:
    """Returns the settings for an address. If other machines can reach the address, the settings
    have a new random token; otherwise they need no token."""
    token = "" if is_loopback(host) else secrets.token_urlsafe(24)
    return ServeSettings(runs, host, port, token)
