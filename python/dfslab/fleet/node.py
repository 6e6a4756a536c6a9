"""Functions that a controller calls on a Dask worker: short calls that never block."""

from __future__ import annotations

import fcntl
import os
import platform
import select
import time
from contextlib import suppress
from pathlib import Path

from dfslab.fleet.agent import boot, lock_file
from dfslab.fleet.link import Link
from dfslab.fleet.places import Place
from dfslab.fleet.protocol import Command, Heard, HostClocks
from dfslab.fleet.shards import KeptPart, kept_part
from dfslab.spec.streams.plan import LoadPlan
from dfslab.testbeds.cache import home

_links: dict[Path, Link] = {}


def clock() -> HostClocks:
    """The clocks of this host."""
    return HostClocks(time.time(), time.monotonic(), boot(), platform.node())


def open_part(
    run: str, first: int, last: int, plan: LoadPlan, lease_s: float | None = None
) -> Path:
    """Start the agent of clients `first` to `last` - 1; the path of its answer file.

    With a lease, an agent that has lost its controller stops after that time.
    """
    folder = home("DFSLAB_STATE", "XDG_STATE_HOME", ".local/state") / "parts" / run
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"clients-{first}-{last}.json"
    _links[kept] = Link(Place(platform.node()), range(first, last), plan, kept, lease_s)
    return kept


def hear(kept: Path) -> Heard:
    """The agent's output so far, and how it ended if it has."""
    link = _links[kept]
    while link.ended is None and select.select([link], [], [], 0)[0]:
        link.receive()
    # The answer includes all spans, so it is sent once, at the end.
    answer = link.answer if link.ended is not None else None
    heard = Heard(link.times_ready, link.progress, tuple(link.observed), link.ended, answer)
    link.observed = link.observed._replace(latency_ns_max=0)
    return heard


def send(kept: Path, command: Command) -> None:
    """Send a command to the agent."""
    _links[kept].say(command)


def stop(kept: Path) -> None:
    """Have the agent stop and clean up, without waiting for it."""
    if (link := _links.get(kept)) is not None:
        link.say({"stop": True})
        link.stop()


def forget(kept: Path) -> None:
    """Remove the files of an agent that has ended."""
    if (link := _links.pop(kept, None)) is not None:
        link.close(time.monotonic())
    for path in (kept, lock_file(kept)):
        path.unlink(missing_ok=True)
    # Other agents of the same run may still have files in the folder.
    with suppress(OSError):
        os.rmdir(kept.parent)


def alive(kept: Path) -> bool:
    """Whether the agent with that answer file still runs, on this machine."""
    try:
        with lock_file(kept).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def left_behind(kept: Path) -> KeptPart | None:
    """The plan and the answer in an agent's file; None when there is no such file."""
    try:
        return kept_part(kept.read_text("utf-8"))
    except FileNotFoundError:
        return None
