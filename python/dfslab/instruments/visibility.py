"""When one client's changes are visible to another, and how many stale answers it got meanwhile."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from dfslab.beds.base import uninterrupted
from dfslab.fleet.observer import CHANGES
from dfslab.fleet.places import HERE, Nodes, Place
from dfslab.instruments import access
from dfslab.method import RunFailed
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Scenario

POLL_S = 0.0005
LIMIT_S = 10.0
CLOSE_LIMIT_S = 1.0
Z_90 = 1.6449


class Observer:
    """One client at one place, which does what it is told."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self.turn = 0
        command = [*place.prefix, sys.executable, "-P", "-m", "dfslab.fleet.observer"]
        # A session of its own: after Ctrl-C it still removes what it has made. No buffers of ours:
        # an interruption would lose or break what they hold.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,
            start_new_session=True,
        )
        self._unread = b""

    def say(self, document: Mapping[str, Any]) -> None:
        """Tell it something; `hear` its answer."""
        assert self._process.stdin is not None
        self.turn += 1
        self._process.stdin.write(json.dumps({**document, "id": self.turn}).encode() + b"\n")

    def hear(self) -> dict[str, Any]:
        """Its next answer to what it was told last: an interruption may not have waited for earlier
        ones, or have come before they were asked for. RunFailed when a call failed there, or it has
        ended.
        """
        answer: dict[str, Any] = {}
        while answer.get("id") != self.turn:
            with suppress(ValueError):
                # What an interruption left of a line says nothing.
                answer = json.loads(b"{" + self._line().partition(b"{")[2])
        if "error" in answer:
            raise RunFailed(f"{self.place.name}: {answer['error']}")
        return answer

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._unread:
            read = self._process.stdout.read(1 << 16)
            if not read:
                self._stderr.seek(0)
                said = self._stderr.read().decode(errors="replace").strip().splitlines()
                raise RunFailed(f"{self.place.name}: its client ended: {said[-1] if said else ''}")
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def do(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Tell it something and wait for the answer."""
        self.say(document)
        return self.hear()

    def close(self) -> None:
        """Its input ends, and so does it; one that still looks for a change is ended."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(CLOSE_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._stderr.close()


def visibility(
    scenario: Scenario, trials: int, session: access.Session, changes: Sequence[str] = CHANGES
) -> list[dict[str, Any]]:
    """For every kind of change: the time from its acknowledgement at one client until another,
    which looks every POLL_S, sees it.

    visible_s_p50 with its 90 % interval, visible_s_p90, visible_s_max; before: trials in which it
    was seen no later than acknowledged; looks after the acknowledgement, how many of them were
    stale, and the share of trials with any; torn: looks that saw neither old nor new; unseen:
    trials in which it never came. InputError where there are no two clients with a directory.
    """
    with ExitStack() as stack:
        reached = session.reach(scenario)
        if not reached.get("directory"):
            raise InputError(
                "file_system.name",
                scenario.file_system.name,
                "visibility needs a file system that two clients mount",
            )
        places = _two(scenario, session)
        writer, reader = (Observer(place) for place in places)
        stack.callback(reader.close)
        stack.callback(writer.close)
        with _folder(places[0], reached["directory"]) as folder:
            found = []
            for change in changes:
                session.notify(f"visibility of {change}")
                seen = []
                with _cleared(writer) as latest:
                    for turn in range(trials):
                        latest.append(f"{folder}/{change}-{turn}")
                        seen.append(_trial(writer, reader, change, latest[0], turn))
                found.append({"change": change, **summary(seen)})
        return found


@contextmanager
def _cleared(writer: Observer) -> Iterator[deque[str]]:
    """Room for the latest trial's path, cleared also where an interruption cut that short."""
    latest: deque[str] = deque(maxlen=1)
    try:
        yield latest
    finally:
        with uninterrupted():
            for path in latest:
                writer.do({"do": "clear", "with": [path]})


def _two(scenario: Scenario, session: access.Session) -> list[Place]:
    """Two clients: of different hosts where there are hosts."""
    if session.bed is None:
        return [HERE, HERE]
    places = session.places(scenario) if scenario.run.fleet == "agents" else []
    if isinstance(places, Nodes) or len(places) < 2:
        allowed = 'visibility needs two client hosts and run.fleet = "agents"'
        raise InputError("deployment.node", None, allowed)
    return list(places[:2])


@contextmanager
def _folder(place: Place, directory: str) -> Iterator[str]:
    """A new directory under `directory`, as that place sees it; removed when it is empty again."""
    path = f"{directory}/dfslab-{uuid.uuid4().hex[:12]}"
    try:
        _run(place, "mkdir", path)
        yield path
    finally:
        with uninterrupted():
            _run(place, "sh", "-c", '[ ! -d "$1" ] || rmdir -- "$1"', "sh", path)


def _run(place: Place, *words: str) -> None:
    """A command there, which a terminal's Ctrl-C does not reach."""
    done = subprocess.run(
        [*place.prefix, *words], capture_output=True, text=True, check=False, start_new_session=True
    )
    if done.returncode:
        raise RunFailed(f"{place.name}: {done.stderr.strip()}")


def _trial(writer: Observer, reader: Observer, change: str, path: str, turn: int) -> dict[str, Any]:
    """One change; the other client has looked at what was there before and goes on looking."""
    watching = {"watch": change, "path": path, "turn": turn, "poll_s": POLL_S, "limit_s": LIMIT_S}
    try:
        writer.do({"do": "before", "with": [change, path, turn]})
        if "watching" not in reader.do(watching):
            raise RunFailed(f"{path} of {writer.place.name} is not seen by {reader.place.name}")
        acted = writer.do({"act": change, "path": path, "turn": turn})
        seen = reader.hear()
    finally:
        writer.do({"do": "clear", "with": [path]})
    stale = sum(at_ns > acted["acknowledged_ns"] for at_ns in seen["polls"])
    visible_s = None
    if seen["seen_ns"] is not None:
        visible_s = (seen["seen_ns"] - acted["acknowledged_ns"]) * 1e-9
    return {"visible_s": visible_s, "stale": stale, "torn": seen["torn"]}


def summary(trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The numbers of all trials of one kind of change."""
    times = sorted(trial["visible_s"] for trial in trials if trial["visible_s"] is not None)
    stale = sum(trial["stale"] for trial in trials)
    found: dict[str, Any] = {
        "trials": len(trials),
        "unseen": len(trials) - len(times),
        "stale_looks": stale,
        "stale_trials": sum(trial["stale"] > 0 for trial in trials),
        "torn_looks": sum(trial["torn"] for trial in trials),
        "before": sum(time_s <= 0 for time_s in times),
    }
    if times:
        # Order statistics whose ranks hold the median with 90 % (binomial, by its normal limit).
        count = len(times)
        half = Z_90 * math.sqrt(count) / 2
        low, high = max(0, math.floor(count / 2 - half)), math.ceil(count / 2 + half)
        shown = [max(0.0, time_s) for time_s in times]
        found |= {
            "visible_s_p50": shown[(count - 1) // 2],
            "visible_s_p50_low": shown[low],
            "visible_s_p50_high": shown[min(count - 1, high)],
            "visible_s_p90": shown[min(count - 1, math.ceil(0.9 * count) - 1)],
            "visible_s_max": shown[-1],
        }
    return found
