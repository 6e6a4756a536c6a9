"""Checks the places to be measured: that they are stated, and that the files of a workload fit into
their free space."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from dfslab import discover
from dfslab.spec import units
from dfslab.spec.check import check_place
from dfslab.spec.environment import workload_parameters
from dfslab.spec.files.answering import is_directory
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point, Scenario


def check_places(points: Sequence[Point]) -> None:
    """Checks the places of the configurations that are to be measured. Raises InputError if a
    scenario does not state where its file system is, or if its files cannot fit there."""
    for point in points:
        check_place(point.scenario)
    check_room(points)


def check_room(points: Iterable[Point]) -> None:
    """Raises InputError for the first configuration whose files cannot fit into the free space of
    its directory. The check is a lower bound: one file of each client, or the shared file. Testbeds
    and addresses are not checked, because their space is unknown before they are reached. Raises
    RunFailed if a file system does not answer."""
    free_bytes: dict[Path, int | None] = {}
    for point in points:
        access = point.scenario.file_system.access
        if access.testbed or access.uri:
            continue
        place = Path(access.directory or tempfile.gettempdir())
        if place not in free_bytes:
            free_bytes[place] = _free_bytes(place)
        place_bytes = free_bytes[place]
        needed_bytes = least_bytes(point.scenario)
        if place_bytes is not None and needed_bytes > place_bytes:
            needed, free = (units.text(one, "B", 3) for one in (needed_bytes, place_bytes))
            allowed = (
                f"needs {needed} for its files, and {place} has {free} free; make them smaller"
            )
            written = point.scenario.workload.parameters.get("file_size")
            raise InputError("workload.file_size", written, allowed)


def _free_bytes(place: Path) -> int | None:
    """Returns the free bytes of the file system at `place`; None if `place` is not a directory."""
    return shutil.disk_usage(place).free if is_directory(place) else None


def least_bytes(scenario: Scenario) -> float:
    """Returns the least number of bytes that the files of a workload take; 0 if it is unknown,
    because the workload is a program or repeats a trace."""
    workload = discover.workload(scenario.workload.name)
    if workload.command is not None:
        return 0.0
    own = workload_parameters(scenario, workload)
    stream = workload.stream_of(own, scenario.workload.clients)
    if stream.given:
        return 0.0
    is_shared = "shared" in (stream.files, *(phase.files for phase in stream.phases))
    return stream.file_size.mean_bytes * (1 if is_shared else scenario.workload.clients)
