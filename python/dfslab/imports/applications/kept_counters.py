"""Keeps an application's I/O counters in the folder of an imported run, for advice."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from dfslab.imports.applications.io_counters import IoCounters
from dfslab.spec.files.outputs import write_atomically
from dfslab.spec.input_error import InputError

NAME = "io_counters.json"


def save(folder: Path, counters: IoCounters) -> None:
    """Writes the counters into the folder of a run."""
    write_atomically(folder / NAME, TypeAdapter(IoCounters).dump_json(counters).decode())


def load(folder: Path) -> IoCounters | None:
    """Returns the counters that the folder of a run has. Returns None if the folder has no
    counters. Raises InputError if the file with the counters is damaged.
    """
    path = folder / NAME
    if not path.is_file():
        return None
    try:
        return TypeAdapter(IoCounters).validate_json(path.read_bytes())
    except ValidationError as error:
        raise InputError("RUN", str(path), "is damaged; import the log again") from error
