"""Reads the hardware of this machine that the kernel shows: processors, memory, link and disk."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

SYS = Path("/sys")
# The request by which Linux returns the IPv4 address of a network interface (netdevice(7)).
SIOCGIFADDR = 0x8915
NAME_BYTES = 16
MBIT_BYTES_PER_S = 1e6 / 8


@dataclass(frozen=True)
class ClientLink:
    """The network adapter by which this machine reaches a server.

    `rate_bytes_per_s` is the rate in one direction, as the adapter's driver reports it. The rate is
    None for virtual adapters, whose reported rate has no meaning.
    """

    interface: str
    rate_bytes_per_s: float | None


@dataclass(frozen=True)
class LocalDisk:
    """The disk of a local directory: its name, such as "nvme0n1", and whether it rotates."""

    name: str
    rotates: bool


def cores() -> int:
    """Returns the number of processors of this machine."""
    return os.cpu_count() or 1


def memory_bytes() -> int:
    """Returns the memory of this machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def link_to(address: str, system: Path = SYS) -> ClientLink | None:
    """Returns the adapter by which this machine reaches `address` ("host:port" or a host's name).
    Returns None if there is no route to the address, or if `address` is an address of this
    machine."""
    host = address.rpartition(":")[0] or address
    own = _own_address(host)
    if not own or own.startswith("127."):
        return None
    for path in sorted((system / "class/net").glob("*")):
        if _address_of(path.name) == own:
            return ClientLink(path.name, link_rate(path))
    return None


def link_rate(interface: Path) -> float | None:
    """Returns the rate of a network interface in bytes/s. `interface` is its folder in
    /sys/class/net, in which the file `speed` reports Mbit/s. Returns None for virtual adapters and
    unknown rates."""
    if not (interface / "device").exists():
        return None
    try:
        mbit = int((interface / "speed").read_text())
    except (OSError, ValueError):
        return None
    return mbit * MBIT_BYTES_PER_S if mbit > 0 else None


def disk_of(directory: Path, system: Path = SYS) -> LocalDisk | None:
    """Returns the disk of a local directory. Returns None if the directory is on no block device,
    as on tmpfs, or if the kernel does not tell whether the disk rotates.
    """
    number = os.stat(directory).st_dev
    found = system / f"dev/block/{os.major(number)}:{os.minor(number)}"
    if not found.exists():
        return None
    device = found.resolve()
    if not (device / "queue").exists():
        # A partition has no request queue in sysfs, so the request queue of its disk is read.
        device = device.parent
    try:
        rotates = (device / "queue/rotational").read_text().strip() == "1"
    except OSError:
        return None
    return LocalDisk(device.name, rotates)


def _own_address(host: str) -> str:
    """Returns the address of this machine from which packets to a host would be sent, or "" if
    there is no route to the host. Nothing is sent.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unconnected:
        try:
            unconnected.connect((host, 9))
        except OSError:
            return ""
        return str(unconnected.getsockname()[0])


def _address_of(interface: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unconnected:
        request = struct.pack("256s", interface.encode()[: NAME_BYTES - 1])
        try:
            answer = fcntl.ioctl(unconnected.fileno(), SIOCGIFADDR, request)
        except OSError:
            return ""
    return socket.inet_ntoa(answer[20:24])
