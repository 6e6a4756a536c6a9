"""Measures one core and one file system.

The quantities are:
- processor seconds of a TCP message, and of each additional byte of a message
- rates of reading and writing memory, in bytes per second
- seconds of a request to a FUSE file system
"""

from __future__ import annotations

import os
import socket
import statistics
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dfslab.spec.clock import REAL, Clock

MESSAGES = 5_000
LARGE_BYTES = 32 << 10
FUSE_REQUESTS = 300
MEMORY_BYTES = 256 << 20


@dataclass(frozen=True)
class SocketCost:
    """The processor seconds to send and receive one TCP message within one machine, and the
    additional processor seconds of each byte of a message. The seconds of the sender, of the
    receiver and of the kernel's network code are added up.
    """

    message_s: float
    byte_s: float


def socket_cost(messages: int = MESSAGES, clock: Clock = REAL) -> SocketCost:
    """Measures `messages` small messages of one byte, and the same number of large messages. The
    cost of a byte is (cost of a large message - cost of a small message) / (difference of their
    sizes).
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        out = socket.create_connection(server.getsockname())
        into, _ = server.accept()
    with out, into:
        for end in (out, into):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * LARGE_BYTES)
        small_s = _message_s(out, into, 1, messages, clock)
        large_s = _message_s(out, into, LARGE_BYTES, messages, clock)
    return SocketCost(small_s, max(0.0, large_s - small_s) / (LARGE_BYTES - 1))


def _message_s(
    out: socket.socket, into: socket.socket, size_bytes: int, messages: int, clock: Clock
) -> float:
    data, buffer = bytes(size_bytes), bytearray(size_bytes)
    began = clock.processor_s()
    for _ in range(messages):
        out.sendall(data)
        left = size_bytes
        while left:
            left -= into.recv_into(buffer, left)
    return (clock.processor_s() - began) / messages


def memory_read(size_bytes: int = MEMORY_BYTES, clock: Clock = REAL) -> float:
    """Returns the bytes per second at which one core reads memory. The default size exceeds any
    processor cache. `size_bytes` of memory is in use."""
    words = np.ones(max(1, size_bytes // 8), dtype=np.int64)
    began = clock.monotonic_s()
    words.max()
    return float(words.nbytes / (clock.monotonic_s() - began))


def memory_write(size_bytes: int = MEMORY_BYTES, clock: Clock = REAL) -> float:
    """Returns the bytes per second at which one core writes memory that is already mapped.
    `size_bytes` of memory is in use."""
    words = np.ones(max(1, size_bytes // 8), dtype=np.int64)
    began = clock.monotonic_s()
    words.fill(2)
    return float(words.nbytes / (clock.monotonic_s() - began))


def fuse_request(directory: Path, clock: Clock = REAL) -> float:
    """Returns the median time in seconds of `statvfs` on a directory of a FUSE file system. The
    kernel does not cache the answer, so each call is one request to the file system's process."""
    seconds = []
    for _ in range(FUSE_REQUESTS):
        began = clock.monotonic_s()
        os.statvfs(directory)
        seconds.append(clock.monotonic_s() - began)
    return statistics.median(seconds)
