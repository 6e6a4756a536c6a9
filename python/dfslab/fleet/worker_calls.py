"""The functions that a controller calls on a Dask worker. The calls are short and never block.

Dask passes the worker as the argument `dask_worker`.
"""

from __future__ import annotations

import fcntl
import os
import platform
import select
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from distributed import Worker, WorkerPlugin

from dfslab.fleet.agent import boot, lock_file
from dfslab.fleet.client_hosts import ClientHost
from dfslab.fleet.lease import Lease, watched
from dfslab.fleet.leftovers import parts_folder
from dfslab.fleet.link import AgentLink
from dfslab.fleet.protocol import ControllerCommand, Heard, HostClocks
from dfslab.fleet.shards import KeptPart, kept_part
from dfslab.spec.streams.plan import LoadPlan
from dfslab.testbeds.hosts.process import LiveProcess


@dataclass(frozen=True)
class OpenPart:
    """An agent of this worker. The agent stops when its `lease` is over. If `lease` is None, the
    agent finishes its shard even without the controller. `over` is set when the lease no longer has
    to be watched, because the agent has ended."""

    link: AgentLink
    lease: Lease | None
    over: threading.Event


# The name of the plugin of a Dask worker that has the worker's agents.
PLUGIN = "dfslab agents"


class WorkerAgents(WorkerPlugin):
    """The agents of one Dask worker, by their answer files. This object is a plugin of the worker,
    so that the object exists as long as the worker."""

    def __init__(self) -> None:
        self.parts: dict[Path, OpenPart] = {}


def _parts(worker: Worker) -> dict[Path, OpenPart]:
    """Returns the agents of a worker, by their answer files."""
    plugin = worker.plugins.get(PLUGIN)
    return plugin.parts if isinstance(plugin, WorkerAgents) else {}


def clock() -> HostClocks:
    """Returns the current readings of the clocks of the worker's host."""
    return HostClocks(time.time(), time.monotonic(), boot(), platform.node())


async def open_part(
    run: str,
    first: int,
    last: int,
    plan: LoadPlan,
    controller: LiveProcess | None,
    dask_worker: Worker,
) -> Path:
    """Starts an agent for the clients `first` to `last` - 1 of a run on the worker `dask_worker`.

    Returns the path of the agent's answer file. If a `controller` is given, the agent stops when
    the controller's process has ended. If this process is not visible on the worker's host, the
    agent stops when its output was not polled for the time of a lease.
    """
    parts_folder().mkdir(parents=True, exist_ok=True)
    # The agent itself creates the folder of the run, just before it creates its lock file there:
    # `dfslab doctor --clean` removes a folder without a lock file.
    kept = parts_folder() / run / f"clients-{first}-{last}.json"
    link = AgentLink(ClientHost(platform.node()), range(first, last), plan, kept, controller)
    part = OpenPart(link, Lease() if controller else None, threading.Event())
    if PLUGIN not in dask_worker.plugins:
        await dask_worker.plugin_add(WorkerAgents(), PLUGIN)
    _parts(dask_worker)[kept] = part
    if part.lease is not None:
        watched(part.lease, lambda: _stop(link), part.over, partial(_lives_here, controller))
    return kept


def _lives_here(controller: LiveProcess | None) -> bool:
    """Returns whether the controller is a process of this machine and lives. Its calls may then be
    late without any harm. In another PID namespace the controller is not visible, and the result is
    False."""
    return controller is not None and controller.alive()


def hear(kept: Path, dask_worker: Worker) -> Heard:
    """Returns the output so far of the agent with the answer file `kept`. If the agent has ended,
    the result also has the reason. Raises KeyError if the worker has no such agent."""
    part = _parts(dask_worker)[kept]
    link = part.link
    if part.lease is not None:
        part.lease.renew()
    while link.ended is None and select.select([link], [], [], 0)[0]:
        link.receive()
    # The answer contains all spans, so it is sent only once, after the agent has ended.
    answer = link.answer if link.ended is not None else None
    if link.ended is not None:
        part.over.set()
    heard = Heard(link.times_ready, link.progress, link.observed, link.ended, answer)
    link.observed = link.observed._replace(latency_ns_max=0)
    return heard


def send(kept: Path, command: ControllerCommand, dask_worker: Worker) -> None:
    """Sends a command to the agent with the answer file `kept`. Raises KeyError if the worker has
    no such agent."""
    _parts(dask_worker)[kept].link.say(command)


def stop(kept: Path, dask_worker: Worker) -> None:
    """Makes the agent with the answer file `kept` stop and remove its files.

    The call does not wait for the agent's end.
    """
    if (part := _parts(dask_worker).get(kept)) is not None:
        _stop(part.link)


def _stop(link: AgentLink) -> None:
    link.say({"stop": True})
    link.stop()


def forget(kept: Path, dask_worker: Worker) -> None:
    """Closes the connection to an agent that has ended, and removes its files."""
    if (part := _parts(dask_worker).pop(kept, None)) is not None:
        part.over.set()
        part.link.close(time.monotonic())
    remove_files(kept)


def remove_files(kept: Path) -> None:
    """Removes the answer file `kept` and the lock file of an agent that has ended."""
    for path in (kept, lock_file(kept)):
        path.unlink(missing_ok=True)
    # The folder is removed only if it is empty: other agents of the same run may still have files
    # in it.
    with suppress(OSError):
        os.rmdir(kept.parent)


def alive(kept: Path) -> bool:
    """Returns whether the agent with the answer file `kept` still runs on this machine, that is,
    whether its lock file is locked.
    """
    try:
        with lock_file(kept).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def left_behind(kept: Path) -> KeptPart | None:
    """Returns the plan and the answer in an agent's answer file; None if the file does not
    exist.
    """
    try:
        return kept_part(kept.read_text("utf-8"))
    except FileNotFoundError:
        return None
