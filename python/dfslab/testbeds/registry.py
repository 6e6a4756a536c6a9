"""Lists the testbeds that any process started on this machine, determines their state, and takes
them down."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from dfslab.spec.clock import REAL, Clock
from dfslab.testbeds import state
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts import disk
from dfslab.testbeds.hosts.control_groups import ControlGroups
from dfslab.testbeds.hosts.process import LiveProcess, end, kill, marked, writing_below
from dfslab.testbeds.state import DaemonState, TestbedFolder, TestbedRecord

ALL, STALE = "--all", "--stale"
# A daemon of a degraded testbed is dead or paused. A stale testbed is abandoned: its owner or all
# its daemons have ended, or its record is unreadable.
TestbedState = Literal["starting", "up", "degraded", "stale"]
STAGE_GRACE_S = 2.2
SWEEP_GRACE_S = 0.5


@dataclass(frozen=True)
class LoggedDaemon(DaemonState):
    """The current state of a daemon. `log`: path of its log."""

    log: str


@dataclass(frozen=True)
class TestbedStatus:
    """The current state of a testbed, as `dfslab testbed status` shows it.

    `why` is the reason for the state. `owner` is the PID of the process with which the testbed
    ends; it is None if the testbed outlives the process that started it.
    """

    name: str
    system: str
    state: TestbedState
    why: str
    uri: str
    folder: str
    owner: int | None = None
    created: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    daemons: list[LoggedDaemon] = field(default_factory=list)


def list_testbeds() -> list[TestbedStatus]:
    """Returns every testbed of this machine, sorted by name."""
    return [_described(folder) for folder in state.folders()]


def find(name: str) -> tuple[TestbedFolder, TestbedRecord] | None:
    """Returns the folder and the record of the running testbed `name`; None if there is none."""
    for folder in state.folders():
        record = folder.read()
        if record is not None and record.name == name and record.phase == "up":
            return folder, record
    return None


def take_down(name: str) -> list[str]:
    """Takes down the testbed `name`. "--all" stands for all testbeds, "--stale" for the abandoned
    testbeds.

    Returns the names of the testbeds that were taken down. Raises TestbedError if no testbed has
    this name, or if a testbed cannot be taken down. In the second case, the error is raised after
    the other testbeds were taken down.
    """
    chosen = [
        (testbed.name, folder)
        for folder in state.folders()
        if name in (ALL, (testbed := _described(folder)).name)
        or (name == STALE and testbed.state == "stale")
    ]
    if not chosen and name not in (ALL, STALE):
        raise TestbedError("state", f"taking down {name}", "there is no testbed of that name")
    failures = []
    for one, folder in chosen:
        try:
            dismantle(folder)
        except (TestbedError, OSError) as error:
            failures.append(f"{one}: {error}")
    if failures:
        raise TestbedError("state", "taking down testbeds", "; ".join(failures))
    return [one for one, _ in chosen]


def dismantle(folder: TestbedFolder) -> None:
    """Ends a testbed's processes, then releases its disks and control groups and removes its
    folders. The processes of hosts are killed first. Then the daemons are ended in the reverse
    order of their start.

    The function may be called repeatedly, and by several processes concurrently. The function also
    dismantles a testbed that was only partly started.
    """
    with folder.locked() as present:
        record = folder.read() if present else None
        places = [folder.path, folder.in_memory, *map(Path, record.folders if record else [])]
        limits = ControlGroups(folder.id)
        if record and record.devices:
            # Lift the disk limits first, so that pending writes run at full speed.
            disk.lift_limits(limits, record.devices, places)
        if record and record.hosts:
            # The state of an emulated host is removed with the testbed, so its daemons need no
            # orderly shutdown.
            _end_hosts([host.process for host in record.hosts])
            kill(marked(folder.id))
        daemons = record.daemons if record else []
        for stage in sorted({daemon.stage for daemon in daemons}, reverse=True):
            end([d.process for d in daemons if d.stage == stage], STAGE_GRACE_S)
        # Also end helper processes of daemons, and daemons whose start was not yet recorded.
        while left := [*marked(folder.id), *writing_below(folder.path)]:
            end(left, SWEEP_GRACE_S)
        disk.release(places)
        limits.remove()
        if present:
            _remove(folder)


def _end_hosts(parents: Sequence[LiveProcess]) -> None:
    """Kills the first process of every host. `parents` are the parent processes of these first
    processes.

    A parent process ends by itself when its child has ended.
    """
    kill([child for parent in parents for child in parent.children()])
    for parent in parents:
        parent.wait_end(SWEEP_GRACE_S if parent.children() else 0.05)
    kill(parents)


def _remove(folder: TestbedFolder, clock: Clock = REAL) -> None:
    """Removes the testbed's folders.

    A process that is just ending may create a file in a folder during its removal, so that the
    removal fails. The function therefore makes a second attempt.
    """
    with suppress(OSError):
        folder.remove()
        return
    clock.sleep(0.1)
    folder.remove()


def _described(folder: TestbedFolder) -> TestbedStatus:
    record = folder.read()
    if record is None:
        why = "its record is missing or unreadable"
        return TestbedStatus(folder.path.name, "", "stale", why, "", str(folder.path))
    verdict, why = _judged(record)
    return TestbedStatus(
        name=record.name,
        system=record.system,
        state=verdict,
        why=why,
        uri=record.uri,
        folder=str(folder.path),
        owner=record.owner.pid if record.owner else None,
        created=record.created,
        versions=record.versions,
        daemons=[
            LoggedDaemon(
                d.name, d.process.pid, d.process.state(), d.process.resident_bytes(), d.log
            )
            for d in record.daemons
        ],
    )


def _judged(record: TestbedRecord) -> tuple[TestbedState, str]:
    """Returns the state of a testbed and the reason for this state."""
    if record.owner is not None and not record.owner.alive():
        return "stale", f"its owner (process {record.owner.pid}) ended"
    if record.phase == "starting":
        return "starting", ""
    processes = {part.name: part.process for part in record.hosts}
    processes |= {part.name: part.process for part in record.daemons}
    states = {name: process.state() for name, process in processes.items()}
    if all(one == "dead" for one in states.values()):
        return "stale", "all its daemons ended"
    unwell = [f"{name} is {one}" for name, one in states.items() if one != "running"]
    return ("degraded", ", ".join(unwell)) if unwell else ("up", "")
