"""Waiting for what another process or thread does, under a limit."""

from __future__ import annotations

import time
from collections.abc import Callable

LOOK_EVERY_S = 0.02


def wait_until(
    happened: Callable[[], object],
    timeout_s: float = 120.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> bool:
    """True as soon as it happened, False if the limit passed first; looked at least twice.

    The limit only ends a test that has failed: a busy machine must never reach it.
    """
    deadline_s = clock() + timeout_s
    while not happened():
        if clock() >= deadline_s:
            return bool(happened())
        sleep(LOOK_EVERY_S)
    return True
