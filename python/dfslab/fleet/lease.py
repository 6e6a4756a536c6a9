"""Ends a cluster that dfslab started, and its agents, when the controller is gone.

The controller's process may be killed, or its machine may fail. The scheduler of an SSH cluster,
its workers and their agents run on other machines and would then never end. These processes
therefore have leases:
- The scheduler has a lease, which a connected client renews.
- Each agent has a lease, which the controller renews whenever it polls the agent's output.

Scheduler and workers also end with the SSH connection that started them.
"""

from __future__ import annotations

import inspect
import shlex
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from distributed import Client

from dfslab.method import RunFailed
from dfslab.spec.clock import REAL, Clock

# A cluster or an agent stops after this many seconds without its controller.
LEASE_S = 5.0
POLL_S = 0.5
# If more than PAUSE_S seconds have passed between two checks of a lease, the process was paused.
PAUSE_S = 2.0
# The scheduler's list of clients always has this entry. The entry is no client: Dask lists under
# this name the tasks that no client waits for.
NO_CLIENT = "fire-and-forget"


class Lease:
    """Counts the seconds since the controller was last known to live."""

    def __init__(self, length_s: float = LEASE_S, clock: Clock = REAL) -> None:
        self._length_s, self._clock = length_s, clock
        self._renewed_s = clock.monotonic_s()

    def renew(self) -> None:
        """Records that the controller lives at this time."""
        self._renewed_s = self._clock.monotonic_s()

    def is_over(self) -> bool:
        """Returns whether the controller has been silent for longer than the lease."""
        return self._clock.monotonic_s() > self._renewed_s + self._length_s


def watched(
    lease: Lease,
    end: Callable[[], object],
    over: threading.Event,
    lives: Callable[[], bool] = lambda: False,
    clock: Clock = REAL,
) -> None:
    """Starts a thread that calls `end` once when the lease is over, unless `over` is set before.

    The thread renews the lease while `lives` returns true. The thread also renews the lease if this
    process was paused or got no processor for a while: signs of life of that time may still wait to
    be read.
    """

    def watch() -> None:
        checked_s = clock.monotonic_s()
        while not over.wait(POLL_S):
            now_s = clock.monotonic_s()
            was_paused, checked_s = now_s > checked_s + PAUSE_S, now_s
            if was_paused or lives():
                lease.renew()
            if lease.is_over():
                end()
                return

    threading.Thread(target=watch, name="lease", daemon=True).start()


def while_connected(options: Mapping[str, object]) -> dict[str, object]:
    """Returns the options of an SSH cluster with a changed option `remote_python`. With the new
    value, each interpreter ends with the SSH connection that started it. `remote_python` is one
    interpreter for all hosts, or a list with one interpreter for each host."""
    given = options.get("remote_python")
    if isinstance(given, list):
        return {**options, "remote_python": [_interpreter(one) for one in given]}
    return {**options, "remote_python": _interpreter(given)}


def _interpreter(given: object) -> str:
    return connected_python(given if isinstance(given, str) else None)


def connected_python(python: str | None = None) -> str:
    """Returns the shell words of a Python interpreter that runs the module `-m MODULE WORDS` only
    as long as its standard input is open. `python`: shell words of the interpreter on the remote
    host; None stands for this process's interpreter.

    In an SSH cluster, the standard input of this interpreter is the SSH connection, so the
    interpreter ends with the connection. The input is watched before Dask is imported, which may
    take longer than a minute on a busy machine. The code is part of the command, so the remote host
    needs no file for it.
    """
    code = f"{inspect.getsource(_run_while_connected)}{_run_while_connected.__name__}()"
    return f"{python or sys.executable} -c {shlex.quote(code)}"


# The source text of this function is executed on the remote host without the other parts of the
# module, so the function has its own imports. If the SSH server gives the process no input, its
# input is /dev/null, and only the lease ends the process.
def _run_while_connected() -> None:
    import os
    import runpy
    import signal
    import stat
    import sys
    import threading
    from contextlib import suppress
    from pathlib import Path

    def end_with_input() -> None:
        with suppress(OSError):
            while os.read(0, 1 << 10):
                pass
        # A child process of a worker that is still starting would not notice the end of its parent,
        # so it is killed.
        for thread in Path("/proc/self/task").iterdir():
            with suppress(OSError):
                for child in (thread / "children").read_text().split():
                    os.kill(int(child), signal.SIGKILL)
        os._exit(1)

    kind = os.fstat(0).st_mode
    if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
        threading.Thread(target=end_with_input, name="connection", daemon=True).start()
    sys.argv = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def close_without_clients(dask_scheduler: Any) -> None:
    """Makes a scheduler close, with its workers, when no client has been connected for the time of
    a lease. This function runs in the scheduler's process."""

    def has_clients() -> bool:
        return any(name != NO_CLIENT for name in list(dask_scheduler.clients))

    def close() -> None:
        dask_scheduler.loop.add_callback(dask_scheduler.close, reason="the controller is gone")

    watched(Lease(), close, threading.Event(), has_clients)


def held(scheduler: str, connect_limit_s: float) -> Client:
    """Returns a new client of a scheduler that dfslab started. The cluster ends soon after this
    client's process has ended, or after the client is closed. Raises RunFailed if the scheduler
    does not answer within `connect_limit_s` seconds, for example on a busy machine."""
    try:
        client = Client(scheduler, timeout=connect_limit_s, set_as_default=False)
    except OSError as error:
        reason = str(error) or type(error).__name__
        raise RunFailed(f"the new cluster does not answer: {reason}") from error
    try:
        client.run_on_scheduler(close_without_clients)
    except BaseException:
        with suppress(OSError, TimeoutError):
            client.close(timeout=1)
        raise
    return client
