"""Measures the network path between two hosts under load. The quantities are the rate of several
concurrent streams, and the round trip while a stream fills the path. The module also reads the
largest window of a TCP stream from the kernel.
"""

from __future__ import annotations

from pathlib import Path

from dfslab.testbeds.hosts import hardware
from dfslab.testbeds.hosts.hardware import Networked
from dfslab.testbeds.hosts.threads import threads

STREAMS = 4
SEND_BUFFERS = Path("/proc/sys/net/ipv4/tcp_wmem")


def several_streams(source: Networked, sink: Networked, count: int = STREAMS) -> float:
    """Returns the sum of the rates of `count` concurrent TCP streams from `source` to `sink`, in
    bytes per second on the wire."""
    with threads(count) as pool:
        rates = pool.map(lambda _: hardware.stream(source, sink), range(count))
        return sum(rates)


def loaded_round_trip(source: Networked, sink: Networked) -> float:
    """Returns the median round-trip time in seconds of a message of one byte. During the
    measurement, a TCP stream from `source` to `sink` fills the path.
    """
    with hardware.filled(source, sink):
        return hardware.round_trip(source, sink)


def window_bytes(limits: Path = SEND_BUFFERS) -> int:
    """Returns the size in bytes of the kernel's largest send buffer of a TCP stream. This size
    limits the bytes in flight. The file `limits` has three sizes: the smallest, the default and the
    largest.
    """
    return int(limits.read_text("ascii").split()[2])
