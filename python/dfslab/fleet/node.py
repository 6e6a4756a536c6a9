"""Functions that a controller calls on a Dask worker: short calls that never block."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import select
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dfslab.fleet.agent import boot, lock_file
from dfslab.fleet.link import Link
from dfslab.fleet.places import Place
from dfslab.testbeds.cache import home

_links: dict[Path, Link] = {}


def clock() -> dict[str, Any]:
    """The clocks of this host, the boot that CLOCK_MONOTONIC belongs to, and the host's name."""
    return {
        "unix_s": time.time(),
        "monotonic_s": time.monotonic(),
        "boot": boot(),
        "host": platform.node(),
    }


def open_part(run: str, first: int, last: int, plan: Mapping[str, Any]) -> Path:
    """Start the agent of clients `first` to `last` - 1; the path of its answer file."""
    folder = home("DFSLAB_STATE", "XDG_STATE_HOME", ".local/state") / "parts" / run
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"clients-{first}-{last}.json"
    _links[kept] = Link(Place(platform.node()), range(first, last), plan, kept)
    return kept


def hear(kept: Path) -> dict[str, Any]:
    """The agent's output so far, and how it ended if it has."""
    link = _links[kept]
    while link.ended is None and select.select([link], [], [], 0)[0]:
        link.receive()
    state = {
        "ready": link.ready,
        "times_ready": link.times_ready,
        "progress": link.progress,
        "ended": link.ended,
        "seen": tuple(link.observed),
    }
    link.observed = link.observed._replace(latency_ns_max=0)
    # The answer includes all spans, so it is sent once, at the end.
    return {**state, "answer": link.answer if link.ended is not None else None}


def send(kept: Path, document: Mapping[str, Any]) -> None:
    """Send a document to the agent."""
    _links[kept].say(document)


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


def left_behind(kept: Path) -> dict[str, Any] | None:
    """The plan and the answer in an agent's file; None when there is no such file."""
    try:
        found: dict[str, Any] = json.loads(kept.read_text("utf-8"))
    except FileNotFoundError:
        return None
    return found
