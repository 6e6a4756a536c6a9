"""Records the directories that runs and probes of hardware use, and finds those that killed
processes left behind.

The recorded directories are the run directories of clients and the folders of probes. The module
also finds the files of agents that were left behind. A record is a file in the state folder. The
owner of a record is the process of the run or probe. The owner keeps the file locked. The kernel
releases the lock when the owner ends, even if the owner is killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dfslab.spec.files.homes import home
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.target import PosixTarget
from dfslab.testbeds.hosts.process import LiveProcess, boot_id

# The pattern of the names that dfslab gives to run directories. A name has 48 random bits, so that
# no name is used twice.
NAME = re.compile(r"dfslab-[0-9a-f]{12}")
# The pattern of the names that dfslab gives to the folders of probes in directories of users.
PROBE_NAME = re.compile(r"\.dfslab-probe-[0-9a-f]{12}")
# The pattern of the names of the folders that contain the files of one run's agents.
AGENTS_FOLDER = re.compile(r"[0-9a-f]{12}")


@dataclass
class RunRecord:
    """The record of a run or probe in progress. `answers`: whether the file system is known to
    still answer calls."""

    answers: bool = False


@dataclass(frozen=True)
class AbandonedRun:
    """A directory whose owner ended without removing it, and the record of the directory. The
    directory is the run directory of a run or the folder of a probe."""

    path: str
    record: str

    @property
    def is_of_probe(self) -> bool:
        """Whether the directory is the folder of a probe."""
        return bool(PROBE_NAME.fullmatch(Path(self.path).name))


def folder() -> Path:
    """Returns the folder that contains the records of run directories and of the folders of
    probes."""
    return home("DFSLAB_STATE", "XDG_STATE_HOME", ".local/state") / "loads"


def parts_folder() -> Path:
    """Returns the folder that contains the files that agents write on their hosts."""
    return home("DFSLAB_STATE", "XDG_STATE_HOME", ".local/state") / "parts"


@contextmanager
def recorded(plan: LoadPlan) -> Iterator[RunRecord]:
    """Returns a context in which the run directory of a plan is recorded. The context yields the
    record.

    A directory is recorded only if it is on a mounted file system and its name matches NAME. On
    other targets, the directory of a killed run could not be removed later. If nothing is recorded,
    the context yields a record that is not stored.

    At the end of the context, the record is removed. The record stays if the directory still exists
    or the file system does not answer. If the plan keeps the directory (`keep`), the record is
    always removed.
    """
    target = plan.target
    if not isinstance(target, PosixTarget) or not NAME.fullmatch(plan.run_directory):
        yield RunRecord()
        return
    with _record(Path(target.root).absolute() / plan.run_directory, plan.keep) as run:
        yield run


@contextmanager
def probe_folder(directory: Path) -> Iterator[Path]:
    """Returns a context with a new folder in `directory` for the files of a probe. The context
    yields the folder's path. The folder is recorded before it is created, and removed with its
    files at the end of the context. Raises OSError if the folder cannot be created."""
    made = directory.absolute() / f".dfslab-probe-{uuid.uuid4().hex[:12]}"
    with _record(made) as run:
        try:
            made.mkdir(0o700)
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)
            run.answers = True


@contextmanager
def _record(directory: Path, keep: bool = False) -> Iterator[RunRecord]:
    """Returns a context in which a directory is recorded. The context yields the record. Without a
    writable state folder, nothing is recorded. `keep`: the record is removed although the directory
    stays."""
    record = folder() / f"{directory.name}.json"
    descriptor = -1
    with suppress(OSError):
        record.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, json.dumps({"directory": str(directory)}).encode())
    run = RunRecord()
    try:
        yield run
    finally:
        if descriptor >= 0:
            with suppress(OSError):
                if keep or (run.answers and not os.path.lexists(directory)):
                    record.unlink()
            os.close(descriptor)


def abandoned() -> list[AbandonedRun]:
    """Returns the recorded directories that still exist although their run or probe has ended.

    Records without a directory are removed.
    """
    found = []
    for record in sorted(folder().glob("*dfslab-*.json")):
        directory = _left(record)
        if directory is None:
            continue
        if os.path.lexists(directory):
            found.append(AbandonedRun(str(directory), str(record)))
        else:
            record.unlink(missing_ok=True)
    return found


def remove(one: AbandonedRun) -> bool:
    """Removes an abandoned directory and its record, without following symbolic links. Returns
    whether both are removed.

    If the path is not a directory of this user, or if the directory cannot be removed, returns
    False and leaves the record.
    """
    path = Path(one.path)
    with suppress(OSError):
        made = path.lstat()
        if not stat.S_ISDIR(made.st_mode) or made.st_uid != os.geteuid():
            return False
        # rmtree uses file descriptors. So if another process replaces a folder by a symbolic link
        # during the removal, rmtree does not follow the link.
        assert shutil.rmtree.avoids_symlink_attacks
        shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        return False
    Path(one.record).unlink(missing_ok=True)
    return True


def abandoned_locks() -> list[str]:
    """Returns the paths of the lock files of ended agents whose answers no controller will read.

    A lock file without an answer is listed. A lock file with an answer is listed only if the
    controller of the answer ran on this machine since the last boot and has ended. Any other
    controller may still read the answer.
    """
    found = []
    for lock in sorted(parts_folder().glob("*/clients-*.json.lock")):
        with suppress(OSError, ValueError), _free(lock) as text:
            if not lock.with_suffix("").exists() or _has_ended(text):
                found.append(str(lock))
    return found


def remove_lock(path: str) -> bool:
    """Removes the lock file of an ended agent, the agent's answer, and the folder of its run if the
    folder is then empty. Returns whether the lock file is gone. An agent that has locked the file
    again keeps its files."""
    lock = Path(path)
    answer = lock.with_suffix("")
    with suppress(OSError), _free(lock):
        for one in (answer, answer.with_name(f"{answer.name}.new"), lock):
            one.unlink(missing_ok=True)
    remove_empty(str(lock.parent))
    return not os.path.lexists(lock)


def empty_folders() -> list[str]:
    """Returns the paths of the folders of runs whose agents were killed before they created a
    file."""
    found = []
    for one in sorted(parts_folder().glob("*")):
        # The folder may have been removed by now.
        with suppress(OSError):
            if AGENTS_FOLDER.fullmatch(one.name) and not any(one.iterdir()):
                found.append(str(one))
    return found


def remove_empty(path: str) -> bool:
    """Removes the folder of a run's agents if the folder is empty. Returns whether the folder is
    gone. This does no harm to an agent that has just started, because the agent creates the folder
    again."""
    with suppress(OSError):
        os.rmdir(path)
    return not os.path.lexists(path)


@contextmanager
def _free(lock: Path) -> Iterator[str]:
    """Returns a context in which the lock file of an agent that has ended is locked. The context
    yields the file's text. Raises OSError if the agent lives or the file cannot be read."""
    with lock.open(encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield held.read()


def _has_ended(controller: str) -> bool:
    """Returns whether a process that ran on this machine since the last boot has ended.
    `controller` is the text of the process. Raises ValueError for any other text."""
    process = LiveProcess.from_text(controller)
    return process.boot == boot_id() and not process.alive()


def _left(record: Path) -> Path | None:
    """Returns the directory that a record names if the record's owner has ended. Returns None if
    the owner lives or the file is no record.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        descriptor = os.open(record, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            directory = Path(json.load(file)["directory"])
        is_ours = NAME.fullmatch(directory.name) or PROBE_NAME.fullmatch(directory.name)
        if is_ours and directory.name == record.stem:
            return directory
    return None
