"""What one processor does in one process: memory copied, calls into the kernel, each measured once.

Run as a module it prints both as JSON, so that a host can be asked under its own limits.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

COPY_BYTES = 256 << 20
CALLS = 20_000
BLOCK_BYTES = 1 << 20


def memory_copy() -> float:
    """Bytes per second that one core copies, larger than any cache."""
    source = bytearray(os.urandom(BLOCK_BYTES)) * (COPY_BYTES // BLOCK_BYTES)
    target = bytearray(COPY_BYTES)
    began = time.perf_counter()
    target[:] = source
    return COPY_BYTES / (time.perf_counter() - began)


def system_call() -> float:
    """Seconds of the cheapest call that enters the kernel, the caller's loop taken off."""

    def loop(work: Callable[[], Any]) -> float:
        began = time.perf_counter()
        for _ in range(CALLS):
            work()
        return (time.perf_counter() - began) / CALLS

    return max(1e-9, loop(os.getppid) - loop(lambda: None))


if __name__ == "__main__":
    print(json.dumps({"memory_copy_rate": memory_copy(), "system_call": system_call()}))
