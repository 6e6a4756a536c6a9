"""Keeps the records of all testbeds of this machine. Each testbed has a folder, which only dfslab
creates and removes.

A testbed's folder is `<state>/beds/<name>-<id>/`. The folder contains a marker with the id, a
record `bed.json`, and the files that the daemons write. <state> is DFSLAB_STATE, else
$XDG_STATE_HOME/dfslab, else ~/.local/state/dfslab.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypedDict

from pydantic import BaseModel, ValidationError

from dfslab.spec import clock
from dfslab.spec.deployment import Deployment
from dfslab.spec.files.homes import home, locked
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts.ports import Reservations, free_ports
from dfslab.testbeds.hosts.process import LiveProcess, ProcessState
from dfslab.testbeds.settings import Setting

MARKER = ".dfslab-bed"
RECORD = "bed.json"
MEMORY = Path("/dev/shm")
# A testbed's id has ID_DIGITS hexadecimal digits. The first PREFIX_DIGITS of them identify the
# state folder.
PREFIX_DIGITS, ID_DIGITS = 5, 12


@dataclass(frozen=True)
class DaemonState:
    """The current state of a daemon. `resident_bytes`: its memory."""

    name: str
    pid: int
    state: ProcessState
    resident_bytes: int


class DaemonRecord(BaseModel):
    """The record of one daemon.

    Daemons with a higher `stage` are started later and stopped earlier.
    """

    name: str
    stage: int
    process: LiveProcess
    log: str


class HostRecord(BaseModel):
    """The record of a process that keeps a host or the switch alive, or that delays packets.

    When a process that keeps a host alive ends, the host ends.
    """

    name: str
    process: LiveProcess


class TestbedRecord(BaseModel):
    """The record of a testbed on disk. By the record, another process can show the testbed or take
    it down.

    `owner`: process with which the testbed ends (None: it outlives the process that started it).
    `folders`: other folders of the testbed, outside its main folder; each contains the testbed's
    marker. `devices`: block devices ("major:minor") whose rate the testbed limits. `deployment`:
    the emulated hosts, with finite rates (`standard.recordable`); None if the daemons run directly
    on this machine.
    """

    format: Literal[1] = 1
    name: str
    id: str
    system: str
    parameters: dict[str, Setting]
    phase: Literal["starting", "up"] = "starting"
    owner: LiveProcess | None
    created: str
    ports: list[int]
    daemons: list[DaemonRecord] = []
    hosts: list[HostRecord] = []
    devices: list[str] = []
    folders: list[str] = []
    uri: str = ""
    versions: dict[str, str] = {}
    deployment: Deployment | None = None


class RecordChanges(TypedDict, total=False):
    """The fields of a testbed's record that change after the record was created."""

    phase: Literal["starting", "up"]
    owner: LiveProcess | None
    daemons: list[DaemonRecord]
    hosts: list[HostRecord]
    devices: list[str]
    folders: list[str]
    uri: str
    versions: dict[str, str]
    deployment: Deployment


@dataclass(frozen=True)
class TestbedFolder:
    """The folder of a testbed.

    `id` is the id of the testbed. The id was read from the folder's marker when this object was
    created. The folder may have been removed since then.
    """

    path: Path
    id: str

    @property
    def in_memory(self) -> Path:
        """Returns the testbed's folder in memory, which may not exist. Its path follows from the
        testbed's id."""
        return MEMORY / f"dfslab-{self.id}"

    def read(self) -> TestbedRecord | None:
        """Returns the testbed's record; None if it is missing or unreadable."""
        try:
            return TestbedRecord.model_validate_json((self.path / RECORD).read_text("utf-8"))
        except (FileNotFoundError, NotADirectoryError, ValidationError):
            return None

    def write(self, record: TestbedRecord) -> None:
        """Replaces the record atomically.

        Raises TestbedError if a take-down has removed the folder.
        """
        whole = self.path / RECORD
        partial = whole.with_suffix(".partial")
        try:
            partial.write_text(record.model_dump_json(indent=1), "utf-8")
            os.replace(partial, whole)
        except OSError as error:
            raise TestbedError("state", f"recording testbed {record.name}", str(error)) from error

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Returns a context with an exclusive lock on the folder.

        The context yields whether the folder still exists.
        """
        try:
            handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            yield False
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            # A process that held the lock before may have removed the folder.
            yield self.path.is_dir()
        finally:
            os.close(handle)

    def remove(self) -> None:
        """Removes those folders of the testbed that carry its marker.

        The main folder is removed last.
        """
        record = self.read()
        recorded = map(Path, record.folders if record else [])
        for path in dict.fromkeys([*recorded, self.in_memory, self.path]):
            if path.exists():
                _remove_marked(path, self.id)


@contextmanager
def launching(testbed_id: str | None) -> Iterator[None]:
    """Returns a context for launching a process of the testbed with this id. The context locks the
    testbed's folder, so that a take-down of the testbed waits until the context has ended.

    The launched process inherits the lock and keeps it until it executes its program. A take-down
    therefore waits until the program is executed, even if the process that opened the context is
    killed. Nothing is locked if there is no id or if the testbed has no folder.
    """
    found = next(state_folder().glob(f"*-{testbed_id}"), None) if testbed_id else None
    handle = None
    if found is not None:
        with suppress(FileNotFoundError):
            handle = os.open(found, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(handle, fcntl.LOCK_SH)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def state_folder() -> Path:
    """Returns the folder of all testbed records."""
    return home("DFSLAB_STATE", "XDG_STATE_HOME", ".local/state") / "beds"


def own_prefix() -> str:
    """Returns the prefix of the ids of all testbeds in this state folder.

    Control groups and in-memory folders have a testbed's id in their names, and processes have the
    id in their environment. The prefix of the id shows to which state folder they belong.
    """
    return hashlib.sha256(os.fsencode(state_folder())).hexdigest()[:PREFIX_DIGITS]


def folders() -> list[TestbedFolder]:
    """Returns every testbed's folder, sorted by name."""
    found = []
    for path in sorted(state_folder().glob("*")):
        with suppress(FileNotFoundError, NotADirectoryError):
            found.append(TestbedFolder(path, (path / MARKER).read_text("utf-8")))
    return found


def create(
    name: str,
    system: str,
    parameters: dict[str, Setting],
    owner: LiveProcess,
    port_count: int,
    reservations: Reservations,
) -> tuple[TestbedFolder, TestbedRecord]:
    """Creates a testbed's folder and record, with ports that no other testbed has. Returns (folder,
    record).

    `reservations` reserves the ports until the testbed's daemons listen on them. If another testbed
    already has the name `name`, the new testbed's name is `name` with a number appended. Raises
    TestbedError if the state folder is not writable.
    """
    state = state_folder()
    try:
        state.mkdir(parents=True, exist_ok=True)
        with locked(state / ".lock"):
            others = [record for folder in folders() if (record := folder.read())]
            taken = {port for record in others for port in record.ports}
            record = TestbedRecord(
                name=_unique(name, {other.name for other in others}),
                id=(own_prefix() + uuid.uuid4().hex)[:ID_DIGITS],
                system=system,
                parameters=parameters,
                owner=owner,
                created=clock.date().isoformat(timespec="seconds"),
                ports=free_ports(port_count, reservations, taken),
            )
            folder = TestbedFolder(state / f"{record.name}-{record.id}", record.id)
            make_marked(folder.path, folder.id)
            folder.write(record)
    except OSError as error:
        raise TestbedError("state", f"making a folder in {state}", str(error)) from error
    return folder, record


def make_marked(path: Path, testbed_id: str) -> None:
    """Creates a folder that the testbed's take-down will remove.

    Raises FileExistsError if the folder exists already.
    """
    path.mkdir()
    (path / MARKER).write_text(testbed_id, "utf-8")


def _unique(name: str, taken: set[str]) -> str:
    candidates = (name if n == 1 else f"{name}-{n}" for n in range(1, len(taken) + 2))
    return next(candidate for candidate in candidates if candidate not in taken)


def _remove_marked(path: Path, testbed_id: str) -> None:
    """Removes a folder if it contains the testbed's marker. Any other folder is left unchanged.

    The marker is removed last, so that an interrupted removal can be repeated.
    """
    marker = path / MARKER
    if path.is_symlink() or not marker.is_file() or marker.read_text("utf-8") != testbed_id:
        return
    for child in path.iterdir():
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        elif child != marker:
            child.unlink()
    marker.unlink()
    path.rmdir()
