"""Manages run folders. Each result is written at once, so a run can be resumed; an existing run is
never overwritten.

`<root>/<name>/<UTC stamp>/` holds scenario.toml, results/*.json, traces/, findings.json,
summary.json, results.parquet, and `complete` at the end. `<root>/<name>/latest` links to the newest
folder.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from dfslab.extras import missing
from dfslab.lazily import lazily
from dfslab.method import RunFailed
from dfslab.result import Result
from dfslab.spec.clock import REAL, Clock, date
from dfslab.spec.files.outputs import write_atomically
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Scenario
from dfslab.studies.runs import result_file
from dfslab.studies.runs.result_file import DamagedResult

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
else:
    duckdb = lazily("duckdb")
    pa = lazily("pyarrow")


@dataclass(frozen=True)
class Store:
    """One run folder, to which results are added. `resumed`: whether the folder existed before."""

    folder: Path
    resumed: bool = False

    def _path(self, method: str, point_id: str, repetition: int) -> Path:
        return self.folder / "results" / f"{method}-{point_id}-{repetition}.json"

    def find(self, method: str, point_id: str, repetition: int) -> Result | None:
        """The stored result of a method at a configuration, if it is complete; None if it is
        missing, incomplete or damaged."""
        path = self._path(method, point_id, repetition)
        try:
            result = result_file.read(path) if path.exists() else None
        except DamagedResult:
            return None
        return result if result is not None and result.complete else None

    def damage(self, method: str, point_id: str, repetition: int) -> str:
        """Returns the reason why the file of a result cannot be used; "" if it can be used or does
        not exist."""
        path = self._path(method, point_id, repetition)
        try:
            if path.exists():
                result_file.read(path)
        except DamagedResult as error:
            return str(error)
        return ""

    def add(self, result: Result) -> None:
        """Writes a result to the folder.

        An earlier result of the same method, configuration and repetition is replaced.
        """
        write_atomically(
            self.folder / "results" / result_file.name(result), result_file.written(result)
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """A context that holds an exclusive lock on the folder. Raises RunFailed with the process
        that holds it.

        The kernel releases the lock when its holder ends, also after a crash.
        """
        with (self.folder / ".lock").open("a+", encoding="utf-8") as file:
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

    def finish(self, document: dict[str, JsonValue]) -> list[str]:
        """Writes the summary and the Parquet table of results, and marks the folder complete.

        Returns notes to print.
        """
        write_atomically(self.folder / "summary.json", json.dumps(document, default=str))
        notes = []
        try:
            write_parquet(load_results(self.folder), self.folder / "results.parquet")
        except ModuleNotFoundError as error:
            reason = missing(error)
            if reason is None:
                raise
            notes.append(f"results.parquet was not written: {reason}")
        write_atomically(self.folder / "complete", "")
        return notes


def open_run(scenario: Scenario, root: Path, fresh: bool = False, clock: Clock = REAL) -> Store:
    """Opens the unfinished run of the same scenario below `root`. Creates a new folder if there is
    none, or if `fresh` is true.

    Raises InputError if no folder can be created.
    """
    home = root / scenario.name
    if not fresh:
        for folder in sorted(home.glob("*/scenario.toml"), reverse=True):
            if folder.parent.is_symlink():
                continue
            is_same = folder.read_text(encoding="utf-8") == scenario.toml()
            if is_same and not (folder.parent / "complete").exists():
                return Store(folder.parent, resumed=True)
    stamp = date(clock).strftime("%Y%m%dT%H%M%S.%fZ")
    folder = home / stamp
    try:
        (folder / "results").mkdir(parents=True)
        (folder / "traces").mkdir()
    except OSError as error:
        raise InputError("--out", str(root), f"no folder can be made there: {error}") from error
    write_atomically(folder / "scenario.toml", scenario.toml())
    _point_latest(home, stamp)
    return Store(folder)


def _point_latest(home: Path, stamp: str) -> None:
    """Sets the link `latest` below `home` to the newest run.

    A file named `latest` that is not a link is left unchanged.
    """
    latest = home / "latest"
    if latest.exists() and not latest.is_symlink():
        return
    temporary = home / f".latest.{os.getpid()}"
    temporary.symlink_to(stamp)
    os.replace(temporary, latest)


def load_results(folder: Path) -> list[Result]:
    """Returns all results of a run folder. Raises RunFailed with each file that is not a usable
    result."""
    return result_file.read_all(folder)


def results_of(folder: Path) -> list[Result]:
    """The results of a run folder that a user names.

    Raises InputError if the folder is no run folder.
    """
    check_folder(folder)
    return load_results(folder)


def check_folder(folder: Path) -> None:
    """Raises InputError if the folder is no run folder, that is, if it has no scenario.toml."""
    if (folder / "scenario.toml").exists():
        return
    made = "`dfslab run SCENARIO` makes run folders, such as runs/NAME/latest"
    if not folder.exists():
        raise InputError("RUN", str(folder), f"no such folder; {made}")
    if folder.is_file():
        raise InputError("RUN", str(folder), f"is a file, not the folder of a run; {made}")
    raise InputError("RUN", str(folder), f"is no run folder: it has no scenario.toml; {made}")


def write_parquet(results: Sequence[Result], path: Path) -> None:
    """Writes a Parquet file with one row for each metric of each result."""
    rows = [
        {
            "method": result.method,
            "point_id": result.point_id,
            "repetition": result.repetition,
            "held_out": result.point.held_out,
            "complete": result.complete,
            "labels": json.dumps(dict(result.labels)),
            "metric": name,
            "value": metric.value,
            "low": metric.low,
            "high": metric.high,
            "started": result.provenance.started,
            "seed": result.provenance.seed,
            "software": result.provenance.software,
        }
        for result in results
        for name, metric in result.metrics.items()
    ]
    if not rows:
        return
    table = pa.Table.from_pylist(rows)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
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


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
