"""Tests of the state that a session of instruments keeps: its testbed, and whether that testbed has
been warmed up."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from dfslab.instruments import access
from dfslab.instruments.measuring import warm_up as warming
from dfslab.method import RunFailed
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.testbeds.capabilities import Traceable
from support.scenarios import requested


@pytest.fixture
def warmed(monkeypatch):
    """Provides a list. Calls of `warm_up` are added to this list instead of being executed."""
    calls = []
    monkeypatch.setattr(warming, "warm_up", lambda *given: calls.append(given))
    return calls


def testbed():
    """Returns an object that stands for a running testbed."""
    return SimpleNamespace(clients=[], whole_processors=nullcontext)


def test_a_session_without_a_testbed_needs_no_warm_up(warmed):
    with access.session() as session:
        assert session.is_warm
        warming.warm_up_once(requested(), None, session, None)
    assert warmed == []


def test_a_fresh_testbed_is_warmed_up_once(warmed):
    with access.session() as session:
        session.use(testbed(), is_warm=False)
        assert not session.is_warm
        for _ in range(2):
            warming.warm_up_once(requested(), None, session, None)
        assert session.is_warm
    assert len(warmed) == 1


def test_another_fresh_testbed_is_warmed_up_again(warmed):
    with access.session() as session:
        for _ in range(2):
            session.use(testbed(), is_warm=False)
            warming.warm_up_once(requested(), None, session, None)
    assert len(warmed) == 2


def test_a_warm_testbed_of_the_caller_is_not_warmed_up(warmed):
    with access.session() as session:
        session.use(testbed())
        warming.warm_up_once(requested(), None, session, None)
    assert warmed == []


def test_a_warm_up_that_fails_is_not_repeated(monkeypatch):
    def fail(*_):
        raise RunFailed("warming up: no server answers")

    monkeypatch.setattr(warming, "warm_up", fail)
    with access.session() as session:
        session.use(testbed(), is_warm=False)
        with pytest.raises(RunFailed, match="no server answers"):
            warming.warm_up_once(requested(), None, session, None)
        warming.warm_up_once(requested(), None, session, None)


def test_a_closed_session_needs_no_warm_up(warmed):
    """If a testbed is closed before its warm-up was run, the warm-up is dropped. The session does
    not run it on the file system that it uses next."""
    with access.session() as session:
        session.use(testbed(), is_warm=False)
        session.close()
        warming.warm_up_once(requested(), None, session, None)
    assert warmed == []


class Started(Traceable):
    """A testbed class that starts nothing. `tracing` has an entry for each start: whether the
    processes count their calls."""

    tracing: list[bool] = []

    @classmethod
    def traced(cls, folder=None):
        return {"trace": True}

    @classmethod
    def up(cls, parameters, **options):
        cls.tracing.append("trace" in parameters)
        endpoint = Endpoint(directory="/data")
        return SimpleNamespace(endpoint=endpoint, versions={}, down=lambda: None)


def test_a_testbed_that_counts_calls_is_not_used_without_counting(monkeypatch):
    monkeypatch.setattr(access, "testbed_class", lambda *_: Started)
    monkeypatch.setattr(Started, "tracing", [])
    scenario = requested().scenario.with_overrides({"file_system.access.testbed": True})
    with access.session() as session:
        for counts_calls in (False, False, True, True, False):
            assert session.reach(scenario, counts_calls).directory == "/data"
            assert not session.is_warm
    assert Started.tracing == [False, True, False]
