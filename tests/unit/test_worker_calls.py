"""Tests of calls to Dask workers.

The tests check the following:

- The agents that a worker starts belong to this worker.
- Errors of called functions are not reported as errors of Dask.
- Loggers are silenced only within `with` blocks. Several such blocks may overlap in time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from dfslab.fleet import worker_calls
from dfslab.fleet.each_host import lost_workers_reported, reached
from dfslab.fleet.worker_calls import PLUGIN, OpenPart, WorkerAgents
from dfslab.method import RunFailed
from dfslab.silent_loggers import quiet
from dfslab.testbeds.hosts.process import LiveProcess
from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError
from support.clusters import plan

KEPT = Path("clients-0-1.json")


class Link:
    """A fake connection to an agent, which records the commands that are sent to the agent."""

    def __init__(self) -> None:
        self.said: list[object] = []

    def say(self, command: object) -> None:
        self.said.append(command)

    def stop(self) -> None:
        self.said.append("stopped")


class Worker:
    """A fake Dask worker, which has nothing but plugins."""

    def __init__(self) -> None:
        self.plugins: dict[str, object] = {}

    async def plugin_add(self, plugin: object, name: str) -> None:
        self.plugins[name] = plugin


def worker_with_agent() -> tuple[Worker, Link]:
    worker, link = Worker(), Link()
    asyncio.run(worker.plugin_add(WorkerAgents(), PLUGIN))
    worker.plugins[PLUGIN].parts[KEPT] = OpenPart(link, None, threading.Event())
    return worker, link


def test_the_agents_of_two_workers_of_one_process_are_apart():
    (one, first), (two, second) = worker_with_agent(), worker_with_agent()
    worker_calls.send(KEPT, {"start": 1.0}, one)
    worker_calls.stop(KEPT, two)
    assert first.said == [{"start": 1.0}]
    assert second.said == [{"stop": True}, "stopped"]


def test_a_worker_without_the_agent_says_so():
    worker = Worker()
    worker_calls.stop(KEPT, worker)
    with pytest.raises(KeyError):
        worker_calls.hear(KEPT, worker)


def test_a_controller_of_this_machine_needs_no_calls_to_be_known_to_live(monkeypatch, tmp_path):
    """A lease is renewed while the controller's process lives, even if its calls are late."""
    renewed_by: list[Callable[[], bool]] = []
    monkeypatch.setattr(worker_calls, "AgentLink", lambda *_: Link())
    monkeypatch.setattr(worker_calls, "parts_folder", lambda: tmp_path)
    monkeypatch.setattr(worker_calls, "watched", lambda *words: renewed_by.append(words[-1]))
    here = LiveProcess.of(os.getpid())
    elsewhere = replace(here, boot="another machine")
    ended = replace(here, start_ticks=here.start_ticks - 1)
    for controller in (here, elsewhere, ended):
        asyncio.run(worker_calls.open_part("run", 0, 1, plan(tmp_path), controller, Worker()))
    assert [lives() for lives in renewed_by] == [True, False, False]


@pytest.mark.parametrize("error", [KeyError("a"), ValueError("b"), TypeError("c"), OSError("d")])
def test_an_error_of_a_called_function_stays_what_it_is(error: Exception):
    with pytest.raises(type(error)) as caught, lost_workers_reported("tcp://127.0.0.1:1"):
        raise error
    assert caught.value is error


@pytest.mark.parametrize("error", [CommClosedError("closed"), FutureCancelledError("t", "lost")])
def test_a_lost_worker_is_one_line(error: Exception):
    where = "tcp://127.0.0.1:1"
    with pytest.raises(RunFailed, match=f"^Dask at {where}: [^\n]+$"), lost_workers_reported(where):
        raise error


def test_a_scheduler_that_does_not_answer_is_one_line(monkeypatch):
    monkeypatch.setattr("dfslab.fleet.each_host.CONNECT_LIMIT_S", 0.5)
    where = "tcp://127.0.0.1:1"
    with (
        pytest.raises(RunFailed, match=f"^Dask at {where}: "),
        quiet("distributed"),
        reached(where),
    ):
        pytest.fail("nothing answers")


def test_loggers_are_silent_only_within_contexts_that_may_overlap(caplog):
    logger = logging.getLogger("of a library")
    first, second = quiet("of a library"), quiet("of a library")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    logger.error("hidden")
    logger.critical("shown")
    second.__exit__(None, None, None)
    logger.error("shown again")
    assert [one.getMessage() for one in caplog.records] == ["shown", "shown again"]
    assert logger.level == logging.NOTSET
    assert logger.filters == []


def test_a_handler_of_a_silent_logger_drops_records_of_its_children():
    records: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record.getMessage())

    parent, child = logging.getLogger("library"), logging.getLogger("library.part")
    handler = Kept()
    parent.addHandler(handler)
    try:
        with quiet("library"):
            child.error("hidden")
        child.error("shown")
    finally:
        parent.removeHandler(handler)
    assert records == ["shown"]
