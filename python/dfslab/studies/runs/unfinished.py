"""Describes a run that was interrupted before all of its measurements were done."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from dfslab.documents.document import Document
from dfslab.studies.runs.rerunning import rerun_command

# The folder below which `dfslab run` and `dfslab measure` make run folders unless --out names one.
RUNS = Path("runs")


class Unfinished(Document):
    """A run that lacks measurements because it was interrupted.

    `done`: number of measurements that are stored. `planned`: number of measurements that the
    scenario of the run asks for. `command`: the command that makes the missing measurements.
    """

    done: int
    planned: int
    command: str

    @property
    def sentence(self) -> str:
        """Returns the sentence that comes first in every answer about the run."""
        measured = f"{self.done} of {self.planned} measurements are done"
        return f"Unfinished: {measured}; `{self.command}` resumes it"


def resuming_command(folder: Path, methods: list[str]) -> str:
    """Returns the command that resumes the unfinished run in `folder`. `methods`: names of the
    methods of the run's scenario.

    Run folders have the path ROOT/NAME/STAMP. A link to the folder is resolved, because it can
    lead to another run later. The option --out is a part of the command if ROOT is not `runs`.
    """
    named = folder.parent / os.readlink(folder) if folder.is_symlink() else folder
    if len(named.parts) <= len(("NAME", "STAMP")):
        named = named.absolute()
    root = named.parent.parent
    out = "" if root == RUNS else f" --out {shlex.quote(str(root))}"
    return rerun_command(methods, shlex.quote(str(named))) + out
