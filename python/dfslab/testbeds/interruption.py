"""Defers Ctrl-C and the signals that end a command while a testbed is created or taken down."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# The signals of Ctrl-C, of the end of a batch job, and of a lost terminal.
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Returns a context that defers SIGINT, SIGTERM and SIGHUP until its end, so that no clean-up
    is interrupted.

    Several signals may arrive: `timeout` sends SIGTERM twice, and a service manager sends it to
    every process. At the end of the context, only the first signal takes effect. Signals that this
    process ignores, as under `nohup`, are still ignored in the context.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []
    before = {
        number: handler
        for number in STOPPING
        if (handler := signal.getsignal(number)) not in (signal.SIG_IGN, None)
    }
    for number in before:
        signal.signal(number, lambda arrived, frame: pending.append(arrived))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if pending:
            signal.raise_signal(pending[0])
