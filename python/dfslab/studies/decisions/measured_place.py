"""Checks whether a run that measured a directory used the description of the file system to which
the directory belongs."""

from __future__ import annotations

from pathlib import Path

from dfslab import discover
from dfslab.instruments.recognising import existing
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read
from dfslab.spec.systems.choice import LOCAL


def check_is_described(source: Path) -> None:
    """Checks that a run did not take a described file system for a local directory. Raises
    InputError if the run in the folder `source` measured a directory as a local one although it is
    on a mount of a described file system. The models of such a run would be those of a local disk.
    Accepts any other `source`, also one that is no run folder."""
    if not source.is_dir() or not (source / "scenario.toml").exists():
        return
    choice = read(source / "scenario.toml").file_system
    directory = Path(choice.access.directory)
    if choice.name != LOCAL or not choice.access.directory or not directory.is_dir():
        return
    found = existing(str(directory)).file_system
    if found not in ("", LOCAL):
        title = discover.file_system(found).title
        allowed = (
            f"measured {directory} as a plain directory, but it is on {title}: "
            f"`dfslab init {directory}` writes its scenario, which whatif, advise and run take"
        )
        raise InputError("RUN", str(source), allowed)
