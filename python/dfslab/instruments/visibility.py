"""Measures how long it takes until a client's changes become visible to another client, and counts
stale answers.
"""

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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import NamedTuple

from dfslab.documents.visibility_report import Visibility, VisibilitySummary, VisibilityTimes
from dfslab.fleet.client_hosts import HERE, ClientHost, Nodes
from dfslab.fleet.observer import CHANGES, Answered, ObserverCommand
from dfslab.instruments import access
from dfslab.method import RunFailed
from dfslab.quantiles import P90
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.testbeds.interruption import uninterrupted

POLL_S = 0.0005
LIMIT_S = 10.0
CLOSE_LIMIT_S = 1.0
# Quantile of the standard normal distribution that bounds a 90 % interval.
Z_90 = 1.6449


class VisibilityTrial(NamedTuple):
    """The outcome of one trial, in which one change was made.

    - `visible_s`: seconds until the change was visible; None if it was not visible within the
      limit.
    - `stale`: number of polls that returned the old state after the change had been acknowledged.
    - `torn`: number of polls that returned a mixture of the old and the new state.
    """

    visible_s: float | None
    stale: int
    torn: int


class Observer:
    """A client process at one host. It executes commands that this process sends."""

    def __init__(self, host: ClientHost) -> None:
        self.host = host
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self.turn = 0
        command = [*host.prefix, sys.executable, "-P", "-m", "dfslab.fleet.observer"]
        # The client runs in a new session, so that Ctrl-C does not end it before it has removed its
        # files. The pipe is unbuffered, because Ctrl-C at this process could cut off lines in a
        # buffer.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,
            start_new_session=True,
        )
        self._unread = b""

    def say(self, document: ObserverCommand) -> None:
        """Sends a command to the client. `hear` returns the answer."""
        assert self._process.stdin is not None
        self.turn += 1
        self._process.stdin.write(json.dumps({**document, "id": self.turn}).encode() + b"\n")

    def hear(self) -> Answered:
        """Waits for the answer to the last command and returns it. Answers to earlier commands that
        were interrupted are skipped. Raises RunFailed if a call failed at the client, or if the
        client has ended.
        """
        answer: Answered = {}
        while answer.get("id") != self.turn:
            with suppress(ValueError):
                # An interruption may have left an incomplete line. Such a line is skipped.
                answer = json.loads(b"{" + self._line().partition(b"{")[2])
        if "error" in answer:
            raise RunFailed(f"{self.host.name}: {answer['error']}")
        return answer

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._unread:
            read = self._process.stdout.read(1 << 16)
            if not read:
                self._stderr.seek(0)
                output = self._stderr.read().decode(errors="replace").strip().splitlines()
                raise RunFailed(
                    f"{self.host.name}: its client ended: {output[-1] if output else ''}"
                )
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def do(self, document: ObserverCommand) -> Answered:
        """Sends a command, waits for the answer and returns it."""
        self.say(document)
        return self.hear()

    def close(self) -> None:
        """Closes the client's input, which ends the client.

        A client that is still polling is killed.
        """
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(CLOSE_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._stderr.close()


def visibility(
    scenario: Scenario,
    trials: int,
    session: access.InstrumentSession,
    changes: Sequence[str] = CHANGES,
) -> list[Visibility]:
    """Measures when a change by one client becomes visible to another client. The time begins when
    the change is acknowledged. The other client polls every POLL_S seconds.

    Each kind of change in `changes` is tried `trials` times and has one entry in the result. Raises
    InputError if the file system is not mounted in a directory, or if a testbed has fewer than two
    client hosts. Raises RunFailed if a call fails.
    """
    with ExitStack() as stack:
        reached = session.reach(scenario)
        if not reached.directory:
            raise InputError(
                "file_system.name",
                scenario.file_system.name,
                "visibility needs a file system that two clients mount",
            )
        hosts = _two(scenario, session)
        writer, reader = (Observer(host) for host in hosts)
        stack.callback(reader.close)
        stack.callback(writer.close)
        with _folder(hosts[0], reached.directory) as folder:
            found = []
            for change in changes:
                session.notify(f"visibility of {change}")
                observed = []
                with _cleared(writer) as latest:
                    for turn in range(trials):
                        latest.append(f"{folder}/{change}-{turn}")
                        observed.append(_trial(writer, reader, change, latest[0], turn))
                found.append(Visibility(change=change, summary=summary(observed)))
        return found


@contextmanager
def _cleared(writer: Observer) -> Iterator[deque[str]]:
    """Returns a context for the trials of one kind of change. When the context ends, also by
    Ctrl-C, the files of the latest trial are removed.

    The context yields a queue of length 1. The caller appends the path of each trial to the queue,
    which keeps only the latest path.
    """
    latest: deque[str] = deque(maxlen=1)
    try:
        yield latest
    finally:
        with uninterrupted():
            for path in latest:
                writer.do({"do": "clear", "with": (path,)})


def _two(scenario: Scenario, session: access.InstrumentSession) -> list[ClientHost]:
    """Returns the hosts of the two clients: the first two client hosts of the testbed, or twice
    this machine if there is no testbed.

    Raises InputError if the testbed has fewer than two client hosts, or if the scenario's
    `run.fleet` is not "agents".
    """
    if session.testbed is None:
        return [HERE, HERE]
    hosts = session.client_hosts(scenario) if scenario.run.fleet == "agents" else []
    if isinstance(hosts, Nodes) or len(hosts) < 2:
        allowed = 'visibility needs two client hosts and run.fleet = "agents"'
        raise InputError("deployment.node", None, allowed)
    return list(hosts[:2])


@contextmanager
def _folder(host: ClientHost, directory: str) -> Iterator[str]:
    """Returns a context that yields the path of a new directory below `directory` at a host. When
    the context ends, the directory is removed if it is empty.
    """
    path = f"{directory}/dfslab-{uuid.uuid4().hex[:12]}"
    try:
        _run(host, "mkdir", path)
        yield path
    finally:
        with uninterrupted():
            _run(host, "sh", "-c", '[ ! -d "$1" ] || rmdir -- "$1"', "sh", path)


def _run(host: ClientHost, *words: str) -> None:
    """Runs a command at a host, in a session that a terminal's Ctrl-C does not reach.

    Raises RunFailed if the command fails.
    """
    done = subprocess.run(
        [*host.prefix, *words], capture_output=True, text=True, check=False, start_new_session=True
    )
    if done.returncode:
        raise RunFailed(f"{host.name}: {done.stderr.strip()}")


def _trial(
    writer: Observer, reader: Observer, change: str, path: str, turn: int
) -> VisibilityTrial:
    """Makes one change at the writer and measures how long it takes until the reader observes the
    change.

    The reader polls from before the change, so that it first observes the old state. The reader
    stops when it observes the change, or after LIMIT_S seconds.
    """
    watching: ObserverCommand = {
        "watch": change,
        "path": path,
        "turn": turn,
        "poll_s": POLL_S,
        "limit_s": LIMIT_S,
    }
    try:
        writer.do({"do": "before", "with": (change, path, turn)})
        if "watching" not in reader.do(watching):
            raise RunFailed(f"{path} of {writer.host.name} is not visible to {reader.host.name}")
        acted = writer.do({"act": change, "path": path, "turn": turn})
        observed = reader.hear()
    finally:
        writer.do({"do": "clear", "with": (path,)})
    stale = sum(at_ns > acted["acknowledged_ns"] for at_ns in observed["polls"])
    visible_s = None
    if observed["seen_ns"] is not None:
        visible_s = (observed["seen_ns"] - acted["acknowledged_ns"]) * 1e-9
    return VisibilityTrial(visible_s, stale, observed["torn"])


def summary(trials: Sequence[VisibilityTrial]) -> VisibilitySummary:
    """Returns the summary of all trials of one kind of change."""
    times = sorted(trial.visible_s for trial in trials if trial.visible_s is not None)
    return VisibilitySummary(
        trials=len(trials),
        unobserved=len(trials) - len(times),
        stale_looks=sum(trial.stale for trial in trials),
        stale_trials=sum(trial.stale > 0 for trial in trials),
        torn_looks=sum(trial.torn for trial in trials),
        before=sum(time_s <= 0 for time_s in times),
        times=_quantiles(times) if times else None,
    )


def _quantiles(times_s: Sequence[float]) -> VisibilityTimes:
    """Returns quantiles of `times_s`, which must be in ascending order, and a 90 % interval of the
    median. All are in seconds. A negative time is reported as 0.

    The ends of the interval are two of the times. Their ranks enclose the rank of the median with a
    probability of 90 % (binomial distribution, normal approximation).
    """
    count = len(times_s)
    half = Z_90 * math.sqrt(count) / 2
    low, high = max(0, math.floor(count / 2 - half)), math.ceil(count / 2 + half)
    shown = [max(0.0, time_s) for time_s in times_s]
    return VisibilityTimes(
        visible_s_p50=shown[(count - 1) // 2],
        visible_s_p50_low=shown[low],
        visible_s_p50_high=shown[min(count - 1, high)],
        visible_s_p90=shown[min(count - 1, math.ceil(P90 * count) - 1)],
        visible_s_max=shown[-1],
    )
