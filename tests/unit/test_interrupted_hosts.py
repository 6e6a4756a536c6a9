"""Tests of Ctrl-C while clients hang. dfslab does not wait for clients whose files are removed
together with the testbed."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace

import psutil
import pytest
from dfslab.fleet import client_hosts, run, shards, workers
from dfslab.fleet.client_hosts import ClientHost, Nodes
from dfslab.spec.streams.plan import LoadPlan
from dfslab.testbeds.hosts.threads import threads
from support.clusters import TWO, agents_of, command_lines, plan
from support.waiting import wait_until

# Limit in seconds within which an interrupted run on a testbed has to end. Such a run normally ends
# much earlier. On other file systems, dfslab gives clients twice this limit for their clean-up.
SOON_S = client_hosts.CLEAN_UP_LIMIT_S / 2


def hanging(found: list[psutil.Process], agents) -> shards.ProgressReport:
    """Returns a progress callback. As soon as clients run, the callback suspends the processes of
    the agents, adds them to `found`, and raises KeyboardInterrupt. Suspended processes do not
    react, like processes that wait for a hanging server."""

    def stop_all(share: float, phase: str) -> None:
        if phase == "running" and share > 0.001:
            found.extend(agents())
            for process in found:
                process.suspend()
            raise KeyboardInterrupt

    return stop_all


def slow(root, **top) -> LoadPlan:
    """Returns a plan that runs so long that a test always interrupts it."""
    return plan(root, 4, 100_000, think_time_s=0.01, **top)


def test_clients_that_hang_on_a_testbed_are_ended_with_it(tmp_path):
    found: list[psutil.Process] = []
    passing = [replace(place, passing=True) for place in TWO]
    progress = hanging(found, lambda: [psutil.Process(pid) for pid in agents_of(os.getpid())])
    began_s = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run.run_load(slow(tmp_path), passing, progress)
    assert time.monotonic() - began_s < SOON_S
    assert len(found) == 2
    assert not any(process.is_running() for process in found)


def test_clients_that_hang_at_nodes_of_a_testbed_are_ended_with_it(tmp_path, monkeypatch):
    state = tmp_path / "state"
    monkeypatch.setenv("DFSLAB_STATE", str(state))
    data = tmp_path / "data"
    data.mkdir()
    found: list[psutil.Process] = []

    def agents() -> list[psutil.Process]:
        children = command_lines(os.getpid(), recursive=True)
        return [child for child, line in children if "dfslab.fleet.agent" in line]

    with workers.started([ClientHost("node-1"), ClientHost("node-2")]) as address:
        began_s = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            run.run_load(slow(data), Nodes(address, 2, passing=True), hanging(found, agents))
        assert time.monotonic() - began_s < SOON_S
        assert len(found) == 2
        assert wait_until(lambda: agents() == [])
        assert not [path for path in state.rglob("*") if path.is_file()]


def test_work_at_several_hosts_is_left_alone_by_an_interruption():
    """After Ctrl-C, dfslab does not wait until the work on several hosts has ended. If the run ends
    for another reason, such as an error, dfslab waits for this work."""
    free, ended = threading.Event(), []

    def wait() -> None:
        free.wait(SOON_S)
        ended.append(1)

    def interrupted() -> None:
        with threads(1) as pool:
            pool.submit(wait)
            signal.raise_signal(signal.SIGINT)

    def failed() -> None:
        with threads(1) as pool:
            pool.submit(wait)
            free.set()
            raise ValueError("of a host")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not ended
    with pytest.raises(ValueError, match="of a host"):
        failed()
    assert ended
