"""What the studies say of a run: computed at its end, stored in its folder, read from then on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from dfslab.studies import stored
from dfslab.studies.advice import Advice
from dfslab.studies.bottlenecks import Bottlenecks
from dfslab.studies.compare import Comparison, Score
from dfslab.studies.expectations import Verdict
from dfslab.studies.io500 import Score as Io500Score
from dfslab.studies.lessons import Learning
from dfslab.studies.operations import Function, Operations
from dfslab.studies.server_law import ServerLaw


class Findings(BaseModel):
    """Everything that the commands and the page print of a run, apart from its results.

    `large_files` are the scores on held-out reads and writes of large files. `advice`, `functions`
    and `verdicts` are None until somebody asks for them, where no model was run; `refused` says why
    one of them cannot be computed.
    """

    notes: list[str] = []
    comparison: Comparison | None = None
    large_files: dict[str, Score] = {}
    operations: Operations | None = None
    crossval: dict[str, Score] = {}
    trace: dict[str, Any] | None = None
    learning: Learning | None = None
    server_law: ServerLaw | None = None
    bottlenecks: list[Bottlenecks] = []
    io500: list[Io500Score] = []
    advice: list[Advice] | None = None
    functions: list[Function] | None = None
    verdicts: list[Verdict] | None = None
    refused: dict[str, str] = {}


def load(folder: Path, inputs: str) -> tuple[Findings | None, str]:
    """The findings stored for these inputs, or why there are none that can be used."""
    known = stored.read(folder, inputs)
    if known.findings is None:
        return None, known.reason
    try:
        return Findings.model_validate(known.findings), ""
    except ValidationError:
        return None, stored.OTHER_FORMAT


def save(folder: Path, inputs: str, findings: Findings) -> None:
    """Keep the findings of these inputs."""
    stored.write(folder, inputs, findings.model_dump(mode="json"))
