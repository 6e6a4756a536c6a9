"""Injects faults on a testbed at their scheduled times during a run, and undoes them at the end."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress

from dfslab.documents.measured_load import FaultDone
from dfslab.method import RunFailed
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.fault import OF_LINKS, Fault
from dfslab.spec.input_error import InputError
from dfslab.testbeds.base import BaseTestbed
from dfslab.testbeds.errors import TestbedError

LOOK_EVERY_S = 0.02
# For each action, the action that undoes it. The effect of a fault lasts until the fault is undone.
UNDONE_BY = {"kill": "restart", "pause": "resume", "cut": "heal", "slow": "heal"}


class Conductor:
    """Injects the faults of one run.

    `done` has the faults that happened, with their times in seconds after the clients' start.
    `late` has one text for each fault whose scheduled time was after the end of the run.
    """

    def __init__(self, testbed: BaseTestbed, faults: Sequence[Fault], clock: Clock = REAL) -> None:
        """Schedules the faults.

        Raises InputError if the target of a fault does not exist on the testbed.
        """
        for fault in faults:
            _check(testbed, fault)
        self.done: list[FaultDone] = []
        self.late: list[str] = []
        self._testbed, self._clock = testbed, clock
        self._waiting = sorted(faults, key=lambda fault: (fault.at_share, fault.at))
        self._over = threading.Event()
        self._share = 0.0
        self._closed = False
        self._start_s = 0.0
        self._thread: threading.Thread | None = None
        self._left: dict[str, str] = {}

    def started(self, at_s: float) -> None:
        """Starts the schedule. `at_s` is the start time of the clients, in seconds of
        CLOCK_MONOTONIC.
        """
        self._start_s = at_s
        self._thread = threading.Thread(target=self._run, name="faults", daemon=True)
        self._thread.start()

    def progress(self, share: float, phase: str) -> None:
        """Receives the progress of the run. When the timed part ends, pauses and network faults are
        undone, and no more faults are injected.

        The audit of acknowledged data follows the timed part. During the audit, no daemon is
        suspended and all links work, but killed daemons have not been restarted.
        """
        if phase == "running":
            self._share = share
        elif phase != "preparing" and not self._over.is_set():
            self._end()
            self._undo("resume", "heal")

    def close(self) -> None:
        """Undoes all remaining faults, so that the testbed is healthy.

        Raises RunFailed if the testbed cannot be made healthy.
        """
        if self._closed:
            return
        self._closed = True
        self._end()
        try:
            self._undo("resume", "heal", "restart")
            self._testbed.await_whole()
        except TestbedError as error:
            raise RunFailed(f"after faults the testbed is not whole again: {error}") from error

    def _end(self) -> None:
        """Prevents further faults, and waits for the fault that is being injected. Records in
        `late` the faults that did not happen."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self.late += [fault.text() for fault in self._waiting]
        self._waiting = []

    def _run(self) -> None:
        while self._waiting and not self._over.is_set():
            due = [fault for fault in self._waiting if self._is_due(fault)]
            for fault in due:
                self._waiting.remove(fault)
                self._carry_out(fault)
            self._over.wait(LOOK_EVERY_S)

    def _is_due(self, fault: Fault) -> bool:
        if fault.at_share:
            return self._share >= fault.at_share
        return self._clock.monotonic_s() >= self._start_s + fault.at

    def _carry_out(self, fault: Fault) -> None:
        began_s, failed = self._clock.monotonic_s(), None
        try:
            self._act(fault.action, fault.target, fault.value)
        except TestbedError as error:
            failed = str(error)
        self.done.append(
            FaultDone(
                action=fault.action,
                target=fault.target,
                value=fault.value,
                at_s=began_s - self._start_s,
                took_s=self._clock.monotonic_s() - began_s,
                failed=failed,
            )
        )

    def _act(self, action: str, target: str, value: float = 0.0) -> None:
        for name in self._names(action, target):
            match action:
                case "slow":
                    self._testbed.hosts.slow(name, value)
                case "cut":
                    self._testbed.hosts.cut(name)
                case "heal":
                    self._testbed.hosts.heal(name)
                case "kill":
                    self._testbed.kill(name)
                case "pause":
                    self._testbed.pause(name)
                case "resume":
                    self._testbed.resume(name)
                case "restart":
                    self._testbed.restart(name)
                case _:
                    raise AssertionError(f"no fault is called {action}")
            key = name if action not in OF_LINKS else f"link {name}"
            if action in UNDONE_BY:
                self._left[key] = UNDONE_BY[action]
            else:
                self._left.pop(key, None)

    def _names(self, action: str, target: str) -> list[str]:
        return [target] if action in OF_LINKS else list(self._testbed.daemons_at(target))

    def _undo(self, *actions: str) -> None:
        for key, action in list(self._left.items()):
            if action in actions:
                self._act(action, key.removeprefix("link "))


def _check(testbed: BaseTestbed, fault: Fault) -> None:
    try:
        if fault.action in OF_LINKS:
            testbed.hosts.host(fault.target)
        else:
            testbed.daemons_at(fault.target)
    except TestbedError as error:
        raise InputError("run.fault.target", fault.target, error.context) from error


def quietly(conductor: Conductor) -> None:
    """Closes the conductor while another error is handled. An error that closing raises is ignored,
    so that the other error is reported.
    """
    with suppress(RunFailed):
        conductor.close()
