"""Manages run folders. Each result is written to disk as soon as it is measured, so an interrupted
run can be resumed. An existing run is never overwritten.

A run folder is `<root>/<name>/<UTC stamp>/`. The folder has scenario.toml, results/records.jsonl
(append-only) with an index, traces/, findings.json, summary.json and results.parquet. The file
`complete` is added when the run ends. The link `<root>/<name>/latest` points to the folder of the
run that ended last.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from dfslab.extras import missing
from dfslab.instruments.recognising import mount_type
from dfslab.method import RunFailed
from dfslab.result import Result
from dfslab.spec.clock import REAL, Clock, date
from dfslab.spec.files import permissions, regular
from dfslab.spec.files.outputs import write_atomically
from dfslab.spec.hardware.undeclared import defaults
from dfslab.spec.input_error import InputError
from dfslab.spec.printable import printable
from dfslab.spec.scenario import Scenario
from dfslab.studies.runs.records import record, result_file, stored_results
from dfslab.studies.runs.records.record import DamagedResult, ResultKey
from dfslab.studies.runs.records.record_log import RecordLog

if TYPE_CHECKING:
    import pyarrow as pa


# Number of results whose metrics are converted to rows of the Parquet table in one step.
_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class WrittenTable:
    """What `write_table` did. `results`: number of results in the run folder. `notes`: sentences on
    what was not written, for example because the Parquet library is missing."""

    results: int
    notes: Sequence[str]


@dataclass(frozen=True)
class Store:
    """One run folder, to which results are added. `resumed`: whether an earlier command began this
    run without finishing it."""

    folder: Path
    resumed: bool = False

    @cached_property
    def _log(self) -> RecordLog:
        return RecordLog(self.folder)

    def _former(self, key: ResultKey) -> Path:
        return self.folder / "results" / result_file.name(key)

    def _stored(self, key: ResultKey) -> Result | None:
        """Returns the stored result with a key; None if there is none. Raises DamagedResult if the
        result is damaged."""
        found = self._log.find(key)
        former = self._former(key)
        return found or (result_file.read(former) if former.exists() else None)

    def find(self, method: str, point_id: str, repetition: int) -> Result | None:
        """The stored result of a method at a configuration, if it is complete; None if it is
        missing, incomplete or damaged."""
        try:
            result = self._stored(ResultKey(method, point_id, repetition))
        except DamagedResult:
            return None
        return result if result is not None and result.complete else None

    def damage(self, method: str, point_id: str, repetition: int) -> str:
        """The reason why a stored result cannot be used; "" if it can be used or if there is no
        result."""
        try:
            self._stored(ResultKey(method, point_id, repetition))
        except DamagedResult as error:
            return str(error)
        return ""

    def add(self, *results: Result) -> None:
        """Adds results to the folder; when `add` returns, they survive a power failure.

        An earlier result of the same method, configuration and repetition is replaced. Raises
        RunFailed if the first line of the file of records is damaged, has another format, or
        belongs to another scenario.
        """
        names = [self._former(record.key_of(result)) for result in results]
        replaced = [path.name for path in names if path.exists()]
        try:
            self._log.append(results, replaced)
        except DamagedResult as error:
            raise RunFailed(f"{self._log.path}: {error} (--fresh: a new run)") from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """A context manager that holds an exclusive lock on the folder. The kernel releases the
        lock when the process that holds it ends, also after a crash.

        Raises RunFailed if another process holds the lock; the error text has its process id.
        Raises OSError if the lock file cannot be written or is not a regular file.
        """
        descriptor = regular.opened(self.folder / ".lock", os.O_RDWR | os.O_APPEND | os.O_CREAT)
        with os.fdopen(descriptor, "a+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                holder = f"process {file.read().strip() or 'unknown'}"
                raise RunFailed(
                    f"{self.folder}: {holder} is running it (--fresh: a new run)"
                ) from None
            file.seek(0)
            file.truncate()
            file.write(f"{os.getpid()}\n")
            file.flush()
            yield

    def write_table(self) -> WrittenTable:
        """Writes the results to a Parquet table, if the Parquet library is installed.

        Raises RunFailed if a stored result cannot be read.
        """
        notes, numbers = [], count(0)

        def counted() -> Iterator[Result]:
            for result in stored_results.each(self.folder):
                next(numbers)
                yield result

        results = counted()
        try:
            write_parquet(results, self.folder / "results.parquet")
        except ModuleNotFoundError as error:
            reason = missing(error)
            if reason is None:
                raise
            notes.append(f"results.parquet was not written: {reason}")
        # Reading the results also counts them. If the Parquet library is missing, `write_parquet`
        # has not read them, so they are read here.
        deque(results, maxlen=0)
        return WrittenTable(next(numbers), notes)

    def finish(self, document: dict[str, JsonValue], table: WrittenTable) -> None:
        """Writes the summary, marks the folder as complete, and sets the link `latest` to it.
        `table`: the table of all stored results."""
        write_atomically(self.folder / "summary.json", json.dumps(document, default=str))
        mark = stored_results.completed(table.results)
        write_atomically(self.folder / stored_results.COMPLETE, mark)
        _point_latest(self.folder)


def open_run(scenario: Scenario, root: Path, fresh: bool = False, clock: Clock = REAL) -> Store:
    """Opens the unfinished run of the same scenario below `root`. Creates a new folder if there is
    no unfinished run, or if `fresh` is true.

    If several processes call this function at the same time, one creates the folder and the others
    open it. `Store.locked` then admits only one of them at a time. Raises InputError if no folder
    can be created.
    """
    home = root / scenario.name
    try:
        home.mkdir(parents=True, exist_ok=True)
        choice = regular.opened(home / ".choice.lock", os.O_WRONLY | os.O_CREAT)
        try:
            # The kernel releases the lock when the file is closed, also after a crash.
            fcntl.flock(choice, fcntl.LOCK_EX)
            return _chosen(scenario, home, fresh, clock)
        finally:
            os.close(choice)
    except OSError as error:
        allowed = f"no folder can be made there; --out names another folder: {error}"
        raise InputError("--out", str(root), allowed) from error


def unfinished(scenario: Scenario, root: Path) -> Store | None:
    """Returns the unfinished run of the same scenario below `root`; None if there is none. The
    returned run is the one that `open_run` would open. No folder is created."""
    return _unfinished(scenario, root / scenario.name)


def _unfinished(scenario: Scenario, home: Path) -> Store | None:
    """Returns the unfinished run of a scenario in the folder `home`; None if there is none.

    Raises InputError if a run in the folder may not be read, because it may be the unfinished run.
    """
    wanted = scenario.toml().encode()
    folders = sorted((one for one in home.glob("*") if one.is_dir()), reverse=True)
    for path in [folder / "scenario.toml" for folder in folders if not folder.is_symlink()]:
        if not os.access(path.parent, os.X_OK) or (path.exists() and not os.access(path, os.R_OK)):
            allowed = (
                f"{permissions.barrier(path)}; this may be an unfinished run of the scenario, and "
                "--fresh starts a new one"
            )
            raise InputError("--out", str(home.parent), allowed)
        # A pipe or a folder named scenario.toml is skipped.
        if path.parent.is_symlink() or not path.is_file():
            continue
        is_same = _without_header(regular.content(path)) == wanted
        if is_same and not (path.parent / stored_results.COMPLETE).exists():
            return Store(path.parent, resumed=True)
    return None


def _chosen(scenario: Scenario, home: Path, fresh: bool, clock: Clock) -> Store:
    """Returns the unfinished run of a scenario in the folder `home`. Creates a new run if there is
    none, or if `fresh` is true.

    Raises OSError if no folder can be created.
    """
    before = None if fresh else _unfinished(scenario, home)
    if before is not None:
        return before
    stamp = date(clock).strftime("%Y%m%dT%H%M%S.%fZ")
    folder = home / stamp
    (folder / "results").mkdir(parents=True)
    (folder / "traces").mkdir()
    write_atomically(folder / "scenario.toml", _header(scenario) + scenario.toml())
    return Store(folder)


def _header(scenario: Scenario) -> str:
    """Returns comments for the scenario of a run folder, in which every value is written out: which
    file system holds the measured directory, and which hardware values are only defaults. The text
    is empty for a testbed, whose hardware is as the scenario states."""
    access = scenario.file_system.access
    if access.testbed:
        return ""
    kind = mount_type(Path(access.directory)) if access.directory else ""
    # A comment ends at the end of its line.
    place = printable(access.directory.replace("\n", " "))
    lines = [f"{place} is on {kind}."] if kind else []
    listed = defaults(scenario.deployment)
    if listed:
        lines.append("Defaults of dfslab, neither declared nor measured:")
        lines += [f"  {one}" for one in listed]
    lines.append("file_system, capacity, medium and iops of disks are used by testbeds only.")
    return "".join(f"# {one}\n" for one in lines)


def _without_header(content: bytes) -> bytes:
    """Returns the content of a stored scenario without the comments at its beginning."""
    while content.startswith(b"#"):
        content = content.partition(b"\n")[2]
    return content


def _point_latest(folder: Path) -> None:
    """Sets the link `latest` in the parent of the run folder `folder` to this folder. An unfinished
    run never becomes the latest, so the link leads to the same run until another run has ended.

    If `latest` exists and is not a link, it is left unchanged.
    """
    home = folder.parent
    latest = home / "latest"
    if latest.exists() and not latest.is_symlink():
        return
    temporary = home / f".latest.{os.getpid()}"
    temporary.symlink_to(folder.name)
    os.replace(temporary, latest)


def load_results(folder: Path) -> list[Result]:
    """Returns all results of a run folder. Raises RunFailed, which names each record and file that
    is not a usable result."""
    return stored_results.read_all(folder)


def results_of(folder: Path) -> list[Result]:
    """Returns the results of the run folder `folder`, a path from the user.

    Raises InputError if the folder is not a run folder.
    """
    check_folder(folder)
    return load_results(folder)


def check_folder(folder: Path) -> None:
    """Raises InputError if the folder is not a run folder, that is, if it has no file
    scenario.toml."""
    if (folder / "scenario.toml").is_file():
        return
    made = "`dfslab run SCENARIO` makes run folders, such as runs/NAME/latest"
    if not folder.exists():
        raise InputError("RUN", str(folder), f"no such folder; {made}")
    if folder.is_file():
        made = f"{made}, and `dfslab import {folder}` makes one of another tool's results"
        raise InputError("RUN", str(folder), f"is a file, not the folder of a run; {made}")
    if (folder / "latest" / "scenario.toml").is_file():
        made = f"`{folder}/latest` is its latest run"
    raise InputError("RUN", str(folder), f"is no run folder: it has no scenario.toml; {made}")


def write_parquet(results: Iterable[Result], path: Path) -> None:
    """Writes a Parquet file with one row for each metric of each result. The results are read in
    batches, so that they need not fit into memory. If no result has a metric, no file is written.
    Raises RunFailed if the file cannot be written."""
    # This import is before the first read of a result, so that a missing library leaves `results`
    # unread.
    schema, given, parts = _schema(), iter(results), list["pa.Table"]()
    import pyarrow as pa

    while part := list(islice(given, _ROWS_AT_ONCE)):
        if rows := [row for result in part for row in _rows(result)]:
            parts.append(pa.Table.from_pylist(rows, schema))
    if not parts:
        return
    table = pa.concat_tables(parts)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    import duckdb

    try:
        with duckdb.connect() as database:
            database.register("rows", table)
            database.execute(f"COPY rows TO '{_quoted(temporary)}' (FORMAT parquet)")
        os.replace(temporary, path)
    except duckdb.IOException as error:
        reason = str(error).splitlines()[0]
        raise RunFailed(f"{path}: cannot be written: {reason}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _schema() -> pa.Schema:
    texts = ("method", "point_id", "labels", "metric", "started", "software")
    import pyarrow as pa

    columns = {
        **dict.fromkeys(texts, pa.string()),
        **dict.fromkeys(("repetition", "seed", "verified_bytes"), pa.int64()),
        **dict.fromkeys(("held_out", "complete"), pa.bool_()),
        **dict.fromkeys(("value", "low", "high"), pa.float64()),
    }
    return pa.schema(list(columns.items()))


def _rows(result: Result) -> list[dict[str, object]]:
    return [
        {
            "method": result.method,
            "point_id": result.point_id,
            "repetition": result.repetition,
            "held_out": result.point.held_out,
            "complete": result.complete,
            "verified_bytes": None if result.load is None else result.load.verified_bytes,
            "labels": json.dumps(dict(result.labels)),
            "metric": name,
            "value": metric.value,
            "low": metric.low,
            "high": metric.high,
            "started": result.provenance.started,
            "seed": result.provenance.seed,
            "software": result.provenance.software,
        }
        for name, metric in result.metrics.items()
    ]


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
