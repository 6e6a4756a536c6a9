"""Finds the runs below a folder, and describes each for the list of runs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal

import psutil
from pydantic import JsonValue

from dfslab import discover
from dfslab.documents.document import Document
from dfslab.spec.files import regular
from dfslab.spec.input_error import InputError
from dfslab.spec.members.member_error import DiscoveryError
from dfslab.studies.runs.records.stored_results import COMPLETE

State = Literal["running", "finished", "inconclusive", "unfinished"]
# The states of runs that were written to their end.
ENDED: tuple[State, ...] = ("finished", "inconclusive")
SCENARIO = "scenario.toml"
SUMMARY = "summary.json"
# Largest number of listed runs. The newest runs are listed.
MOST_RUNS = 2000
# The keys of a workload that the list shows, and the largest number of values of one key.
SETTINGS = ("transfer_size", "file_size", "clients", "cache")
MOST_VALUES = 4
# The text that the list shows for a fact that an imported run does not have.
NOT_KNOWN = "not known"
# A lock file has the PID of the process that wrote it. The PID was reused by a later process if the
# process with this PID began more than CLOCK_TOLERANCE_S seconds after the file was written.
CLOCK_TOLERANCE_S = 2.0


class RunEntry(Document):
    """One run in the list. `key`: path of its folder below the folder of the runs. `started`: time
    in the name of the folder, in UTC. `doubt`: why the run is inconclusive; "" if it is conclusive.
    `settings`: what the workload varies or sets, such as "transfer size 4 KiB, 1 MiB; clients 1,
    8". `is_program`: whether the workload is an external program, or another tool, which no model
    can predict."""

    key: str
    name: str
    started: str
    state: State
    doubt: str
    file_system: str
    workload: str
    settings: str
    methods: list[str]
    question: str
    is_program: bool

    @property
    def words(self) -> str:
        """Returns all texts of the entry in lower case, for the search."""
        parts = (self.key, self.file_system, self.workload, self.settings, *self.methods)
        return " ".join((*parts, self.question)).lower()


class _Table(Document):
    """The tables `file_system` and `workload` of a scenario file, of which only the name is
    read."""

    name: str = ""


class _Workload(_Table):
    """The table `workload` of a scenario file: its name, and the keys of SETTINGS."""

    transfer_size: JsonValue = None
    file_size: JsonValue = None
    clients: JsonValue = None
    cache: JsonValue = None

    @property
    def values(self) -> Mapping[str, JsonValue]:
        """Returns the value of each key of SETTINGS, None for a key that the file does not set."""
        found = (self.transfer_size, self.file_size, self.clients, self.cache)
        return dict(zip(SETTINGS, found, strict=True))


class _Run(Document):
    methods: list[str] = []


class _ScenarioHead(Document):
    """The keys of a scenario file that the list shows."""

    name: str = ""
    title: str = ""
    file_system: _Table = _Table()
    workload: _Workload = _Workload()
    run: _Run = _Run()
    sweep: list[dict[str, JsonValue]] = []

    def is_program(self) -> bool:
        """Returns whether the workload is an external program. A workload that is not installed
        counts as no external program."""
        try:
            return discover.workload(self.workload.name).command is not None
        except (InputError, DiscoveryError):
            return False

    def settings(self, instead: Mapping[str, str]) -> str:
        """Returns the values of the keys in SETTINGS, those of sweeps before those of the
        workload's table. `instead`: texts that are shown instead of the values of keys."""
        found = []
        for key in SETTINGS:
            own = instead.get(key, self.workload.values[key])
            swept = [grid[path] for grid in self.sweep if (path := f"workload.{key}") in grid]
            values = [one for grid in swept for one in (grid if isinstance(grid, list) else [grid])]
            texts = list(dict.fromkeys(map(str, values or ([] if own is None else [own]))))
            if texts:
                shown = texts[:MOST_VALUES] + (["…"] if len(texts) > MOST_VALUES else [])
                found.append(f"{key.replace('_', ' ')} {', '.join(shown)}")
        return "; ".join(found)


def entries(runs: Path) -> list[RunEntry]:
    """Returns the runs below a folder, the newest first. Folders without a readable scenario file
    are left out."""
    folders = (path.parent for path in runs.glob(f"*/*/{SCENARIO}"))
    known = [one for one in folders if not one.is_symlink() and not one.parent.is_symlink()]
    known.sort(key=lambda one: age_of(one.relative_to(runs).as_posix()), reverse=True)
    return list(_described(runs, known[:MOST_RUNS]))


def age_of(key: str) -> tuple[str, str]:
    """Returns the key by which runs are sorted by age, the oldest first. The returned key is (time
    stamp in the run's `key`, name of the run)."""
    name, _, stamp = key.rpartition("/")
    return stamp, name


def _described(runs: Path, folders: list[Path]) -> Iterator[RunEntry]:
    for folder in folders:
        try:
            path = folder / SCENARIO
            head = _head(path, path.stat().st_mtime_ns)
        except (OSError, ValueError, RecursionError):
            continue
        is_imported, is_program = bool(_summary_of(folder).imported), head.is_program()
        yield RunEntry(
            key=folder.relative_to(runs).as_posix(),
            name=head.name,
            started=_started(folder.name),
            state=state_of(folder),
            doubt=doubt_of(folder),
            file_system=NOT_KNOWN if is_imported and is_program else head.file_system.name,
            workload=head.workload.name,
            settings=head.settings({"cache": NOT_KNOWN} if is_imported else {}),
            methods=head.run.methods,
            question=head.title,
            is_program=is_program,
        )


@lru_cache(maxsize=4 * MOST_RUNS)
def _head(path: Path, changed_ns: int) -> _ScenarioHead:
    """Reads the head of a scenario file. `changed_ns`: time of the file's last change. This time is
    part of the cache key, so a changed file is read again."""
    return _ScenarioHead.model_validate(_toml(path))


def _toml(path: Path) -> Mapping[str, object]:
    return tomllib.loads(regular.content(path).decode())


def _started(stamp: str) -> str:
    """Returns the time in the name of a run folder, such as "20260102T030405.000006Z", in the form
    "2026-01-02 03:04:05"; "" if the name does not begin with a time."""
    if len(stamp) < 15 or not stamp[:8].isdigit() or not stamp[9:15].isdigit():
        return ""
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]} {stamp[9:11]}:{stamp[11:13]}:{stamp[13:15]}"


def is_program(folder: Path) -> bool:
    """Returns whether the workload of a run is an external program or another tool. False for a run
    without a readable scenario file."""
    try:
        path = folder / SCENARIO
        return _head(path, path.stat().st_mtime_ns).is_program()
    except (OSError, ValueError, RecursionError):
        return False


def state_of(folder: Path) -> State:
    """Returns whether a run is finished, is finished without a conclusion, is being executed by a
    process of this machine, or was left unfinished."""
    if (folder / COMPLETE).exists():
        return "inconclusive" if doubt_of(folder) else "finished"
    return "running" if _is_locked(folder / ".lock") else "unfinished"


def doubt_of(folder: Path) -> str:
    """Returns why a run is inconclusive, as its summary states it; "" if the run has a conclusion,
    has not ended, or was written by an earlier version, whose summaries do not state the reason."""
    return _summary_of(folder).doubt


class _Summary(Document):
    """The keys of a run's summary that the list shows. `imported`: names of the files that `dfslab
    import` read; "" for a run of dfslab."""

    doubt: str = ""
    imported: str = ""


def _summary_of(folder: Path) -> _Summary:
    """Returns the summary of a run; an empty one if the run has not ended or has no readable
    summary."""
    try:
        path = folder / SUMMARY
        is_whole = (folder / COMPLETE).exists()
        return _summary(path, path.stat().st_mtime_ns) if is_whole else _Summary()
    except (OSError, ValueError, RecursionError):
        return _Summary()


@lru_cache(maxsize=4 * MOST_RUNS)
def _summary(path: Path, changed_ns: int) -> _Summary:
    """Reads the summary of a run. `changed_ns`: as for `_head`."""
    return _Summary.model_validate_json(regular.content(path))


def _is_locked(lock: Path) -> bool:
    """Returns whether the process whose PID is in a lock file still runs.

    The function does not try to take the lock. Otherwise, a run that starts at this moment would
    find the lock taken and be refused.
    """
    try:
        written_s = lock.stat().st_mtime
        began_s = psutil.Process(int(regular.content(lock))).create_time()
    except (OSError, ValueError, psutil.Error):
        return False
    return began_s <= written_s + CLOCK_TOLERANCE_S


def folder_of(runs: Path, key: str) -> Path:
    """Returns the folder of the run `key`. Raises InputError if there is no such run below
    `runs`."""
    parts = key.split("/")
    folder = runs.joinpath(*parts)
    is_plain = len(parts) == 2 and all(one and not one.startswith(".") for one in parts)
    if not is_plain or not (folder / SCENARIO).is_file():
        raise InputError("run", key, "no such run")
    if not folder.resolve().is_relative_to(runs.resolve()):
        raise InputError("run", key, "lies outside the folder of the runs")
    return folder
