"""Makes the scenario for `dfslab replay FILE DIRECTORY`. The sources are the facts about the trace
that `survey` found and the options of the command."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from dfslab.imports.survey import TraceSurvey
from dfslab.instruments.discovery.directory import (
    SPACE_SHARE,
    check_directory,
    folder_name,
    positive_quantity,
    this_machine,
)
from dfslab.instruments.recognising import mount_type
from dfslab.spec import units
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario


@dataclass(frozen=True)
class ReplayOptions:
    """The options of a replay.

    - `time`: time limit of each repetition
    - `space`: maximum size of all files. In addition, the files may never take more than
      SPACE_SHARE of the free space; "" means that only this limit holds.
    - `speed`: 0 replays each call directly after the previous one, 1 at the recorded times, 2 twice
      as fast
    - `is_cold`: whether the page cache is cold or warm at the start
    """

    time: str = "60s"
    space: str = ""
    speed: float = 0.0
    repetitions: int = 3
    is_cold: bool = False


def scenario(trace: Path, found: TraceSurvey, directory: Path, options: ReplayOptions) -> Scenario:
    """Returns the scenario that replays the trace in the file `trace`. The calls go to `directory`.
    `found`: facts about the trace. Raises InputError if an option is wrong or the directory has too
    little space."""
    check_directory(directory)
    time_s = positive_quantity("--time", options.time, "s")
    _check_space(trace, found, directory, options.space)
    return build(
        Scenario,
        {
            "schema": 1,
            "name": folder_name(Path(f"replay-{trace.name}"), is_path=False),
            "title": f"How fast is {trace.name} in {directory}?",
            "deployment": {"node": [this_machine()]},
            "file_system": {"name": "local", "access": {"directory": str(directory.resolve())}},
            "workload": {
                "name": "replay",
                "trace": str(trace.resolve()),
                "form": found.form,
                "under": found.root,
                "started_in": found.started_in,
                "trace_clients": found.clients,
                "clients": 1 + max(one.client for one in found.replay.given),
                "rate_factor": options.speed,
                "cache": "cold" if options.is_cold else "warm",
            },
            "run": {
                "methods": ["measure"],
                "repetitions": options.repetitions,
                "timed": True,
                "time_limit": units.exact(time_s, "s"),
            },
        },
    )


def _check_space(trace: Path, found: TraceSurvey, directory: Path, space: str) -> None:
    """Checks that the files of the replay fit in the directory. Raises InputError if they need more
    than the share SPACE_SHARE of its free space, or more than `space`, the value of the option
    `--space`. Also raises InputError if the directory's file system stores no files, as /proc."""
    needed = units.text(found.size_bytes, "B")
    free_bytes = shutil.disk_usage(directory).free
    if not os.statvfs(directory).f_blocks:
        allowed = (
            f"is on {mount_type(directory) or 'a file system of the kernel'}, which stores no "
            "files; give a directory on a disk or on a mount"
        )
        raise InputError("DIRECTORY", str(directory), allowed)
    if found.size_bytes > SPACE_SHARE * free_bytes:
        allowed = (
            f"the files of {trace.name} take up to {needed}; the directory has "
            f"{units.text(free_bytes, 'B')} free, of which {SPACE_SHARE:.0%} may be used"
        )
        raise InputError("DIRECTORY", str(directory), allowed)
    if space and found.size_bytes > positive_quantity("--space", space, "B"):
        raise InputError("--space", space, f"the files of {trace.name} take up to {needed}")
