"""Waits, with a time limit, for actions of other processes or threads."""

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
    """Waits until `happened()` returns a true value, and returns True. Returns False if
    `happened()` is still false after `timeout_s` seconds.

    `happened` is called at least once, and once more after the time limit. The limit only ends
    tests that fail. The limit must be so long that a correct test does not exceed it even on a busy
    machine.
    """
    deadline_s = clock() + timeout_s
    while not happened():
        if clock() >= deadline_s:
            return bool(happened())
        sleep(LOOK_EVERY_S)
    return True
