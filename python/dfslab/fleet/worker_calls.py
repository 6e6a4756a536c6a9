"""The functions that a controller calls on a Dask worker. The calls are short and never block."""

from __future__ import annotations

import fcntl
import os
import platform
import select
import time
from contextlib import suppress
from pathlib import Path

from dfslab.fleet.agent import boot, lock_file
from dfslab.fleet.link import AgentLink
from dfslab.fleet.places import ClientHost
from dfslab.fleet.protocol import ControllerCommand, Heard, HostClocks
from dfslab.fleet.shards import KeptPart, kept_part
from dfslab.spec.streams.plan import LoadPlan
from dfslab.testbeds.cache import home
from dfslab.testbeds.hosts.process import LiveProcess

_links: dict[Path, AgentLink] = {}


def clock() -> HostClocks:
    """Returns the current readings of the clocks of the worker's host."""
    return HostClocks(time.time(), time.monotonic(), boot(), platform.node())


def open_part(
    run: str, first: int, last: int, plan: LoadPlan, controller: LiveProcess | None = None
) -> Path:
    """Starts an agent for the clients `first` to `last` - 1 of a run.

    Returns the path of its answer file. An agent that has lost its connection stops when the
    process `controller`, if given, has ended.
    """
    folder = home("DFSLAB_STATE", "XDG_STATE_HOME", ".local/state") / "parts" / run
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"clients-{first}-{last}.json"
    _links[kept] = AgentLink(
        ClientHost(platform.node()), range(first, last), plan, kept, controller
    )
    return kept


def hear(kept: Path) -> Heard:
    """Returns the output so far of the agent with the answer file `kept`. If the agent has ended,
    the result also tells why."""
    link = _links[kept]
    while link.ended is None and select.select([link], [], [], 0)[0]:
        link.receive()
    # The answer contains all spans, so it is sent only once, after the agent has ended.
    answer = link.answer if link.ended is not None else None
    heard = Heard(link.times_ready, link.progress, tuple(link.observed), link.ended, answer)
    link.observed = link.observed._replace(latency_ns_max=0)
    return heard


def send(kept: Path, command: ControllerCommand) -> None:
    """Sends a command to the agent with the answer file `kept`."""
    _links[kept].say(command)


def stop(kept: Path) -> None:
    """Makes the agent with the answer file `kept` stop and remove its files.

    The call does not wait for the agent's end.
    """
    if (link := _links.get(kept)) is not None:
        link.say({"stop": True})
        link.stop()


def forget(kept: Path) -> None:
    """Removes the answer file `kept` and the lock file of an agent that has ended."""
    if (link := _links.pop(kept, None)) is not None:
        link.close(time.monotonic())
    for path in (kept, lock_file(kept)):
        path.unlink(missing_ok=True)
    # The folder is not empty if other agents of the same run still have files there.
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
