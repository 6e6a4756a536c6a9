"""Tests of leases: what a controller has started ends by itself if the controller has been silent
for too long."""

import socket
import threading
from types import SimpleNamespace

import pytest
from dfslab.fleet import lease
from dfslab.fleet.lease import NO_CLIENT, Lease, close_without_clients, watched
from dfslab.method import RunFailed
from support.clock import ManualClock
from support.waiting import wait_until

# Only ends what hangs.
HANGS_S = 300


def test_a_lease_is_over_when_it_was_not_renewed_in_time():
    clock = ManualClock()
    held = Lease(5.0, clock)
    clock.advance(5.0)
    assert not held.is_over()
    held.renew()
    clock.advance(5.0)
    assert not held.is_over()
    clock.advance(0.1)
    assert held.is_over()


def test_the_end_of_a_lease_is_acted_on_once():
    clock, ended = ManualClock(), []
    held, over, called = Lease(5.0, clock), threading.Event(), threading.Event()
    clock.advance(6.0)
    watched(held, lambda: (ended.append(1), called.set()), over)
    assert called.wait(HANGS_S)
    over.set()
    assert ended == [1]


def test_nothing_ends_where_the_work_was_over_before_the_lease():
    clock, ended, over = ManualClock(), [], threading.Event()
    over.set()
    clock.advance(600.0)
    watched(Lease(5.0, clock), lambda: ended.append(1), over)
    for thread in threading.enumerate():
        if thread.name == "lease":
            thread.join(HANGS_S)
    assert ended == []


def test_a_scheduler_closes_after_its_last_client_has_gone(monkeypatch):
    reasons, closed, clock = [], threading.Event(), ManualClock()

    def callback(close, reason: str) -> None:
        reasons.append(reason)
        closed.set()

    clients = {NO_CLIENT: 1, "controller": 2}
    scheduler = SimpleNamespace(
        clients=clients, close=None, loop=SimpleNamespace(add_callback=callback)
    )
    held = Lease(5.0, clock)
    monkeypatch.setattr(lease, "Lease", lambda: held)
    close_without_clients(scheduler)
    clock.advance(600.0)
    assert wait_until(lambda: not held.is_over(), HANGS_S), "a connected client renews the lease"
    assert reasons == []
    del clients["controller"]
    # The thread may renew the lease one more time after it has checked the clients.
    assert wait_until(lambda: clock.advance(6.0) or closed.is_set(), HANGS_S)
    assert reasons == ["the controller is gone"]


def test_a_new_cluster_that_does_not_answer_is_one_line(capfd):
    """Nothing listens at the port of a socket that is bound but does not listen."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(RunFailed, match="the new cluster does not answer: .*127.0.0.1"):
            lease.held(address, 0.5)
    assert "Traceback" not in capfd.readouterr().err
