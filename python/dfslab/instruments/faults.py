"""Faults on a bed while its clients run: carried out when they are due, undone at the end."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress

from dfslab.beds.base import BaseBed
from dfslab.beds.errors import BedError
from dfslab.documents.measured_load import FaultDone
from dfslab.method import RunFailed
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.fault import OF_LINKS, Fault
from dfslab.spec.model import InputError

LOOK_EVERY_S = 0.02
# What an action leaves behind until the second of the pair undoes it.
UNDONE_BY = {"kill": "restart", "pause": "resume", "cut": "heal", "slow": "heal"}


class Conductor:
    """Carries out faults beside one load; `done` says when each was, after the common start."""

    def __init__(self, bed: BaseBed, faults: Sequence[Fault], clock: Clock = REAL) -> None:
        """InputError for a target that the bed does not have."""
        for fault in faults:
            _check(bed, fault)
        self.done: list[FaultDone] = []
        self.late: list[str] = []
        self._bed, self._clock = bed, clock
        self._waiting = sorted(faults, key=lambda fault: (fault.at_share, fault.at))
        self._over = threading.Event()
        self._share = 0.0
        self._closed = False
        self._start_s = 0.0
        self._thread: threading.Thread | None = None
        self._left: dict[str, str] = {}

    def started(self, at_s: float) -> None:
        """The clients begin at this reading of CLOCK_MONOTONIC."""
        self._start_s = at_s
        self._thread = threading.Thread(target=self._run, name="faults", daemon=True)
        self._thread.start()

    def progress(self, share: float, phase: str) -> None:
        """How far the load is. What only holds it up ends with it: what was acknowledged is
        read back from a file system that answers, if only with what is left of it."""
        if phase == "running":
            self._share = share
        elif phase != "preparing" and not self._over.is_set():
            self._end()
            self._undo("resume", "heal")

    def close(self) -> None:
        """Undo what is left, so that the bed is whole again. RunFailed when it cannot be."""
        if self._closed:
            return
        self._closed = True
        self._end()
        try:
            self._undo("resume", "heal", "restart")
            self._bed.await_whole()
        except BedError as error:
            raise RunFailed(f"after faults the bed is not whole again: {error}") from error

    def _end(self) -> None:
        """Nothing more is begun, and what is under way is done."""
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
        except BedError as error:
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
                    self._bed.hosts.slow(name, value)
                case "cut":
                    self._bed.hosts.cut(name)
                case "heal":
                    self._bed.hosts.heal(name)
                case "kill":
                    self._bed.kill(name)
                case "pause":
                    self._bed.pause(name)
                case "resume":
                    self._bed.resume(name)
                case "restart":
                    self._bed.restart(name)
                case _:
                    raise AssertionError(f"no fault is called {action}")
            key = name if action not in OF_LINKS else f"link {name}"
            if action in UNDONE_BY:
                self._left[key] = UNDONE_BY[action]
            else:
                self._left.pop(key, None)

    def _names(self, action: str, target: str) -> list[str]:
        return [target] if action in OF_LINKS else list(self._bed.daemons_at(target))

    def _undo(self, *actions: str) -> None:
        for key, action in list(self._left.items()):
            if action in actions:
                self._act(action, key.removeprefix("link "))


def _check(bed: BaseBed, fault: Fault) -> None:
    try:
        if fault.action in OF_LINKS:
            bed.hosts.host(fault.target)
        else:
            bed.daemons_at(fault.target)
    except BedError as error:
        raise InputError("run.fault.target", fault.target, error.context) from error


def quietly(conductor: Conductor) -> None:
    """Close beside another error, which is the one to tell."""
    with suppress(RunFailed):
        conductor.close()
