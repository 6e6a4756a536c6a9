"""Findings on disk: computed at a run's end, stored in its folder, read back typed from then on."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from dfslab import discover
from dfslab.studies import contract, stored
from dfslab.studies.contract import Findings, StudyResult

Found = TypeVar("Found", bound=StudyResult)


class _OnDisk(BaseModel):
    """The findings of a run: of each study, by its name, what it found."""

    found: dict[str, dict[str, JsonValue]]
    notes: list[str]
    refused: dict[str, str]


def load(folder: Path, inputs: str) -> tuple[Findings | None, str]:
    """The findings stored for these inputs, or why there are none that can be used.

    What a study found that is not installed here is passed over.
    """
    known = stored.read(folder, inputs)
    if known.findings is None:
        return None, known.reason
    try:
        read = _OnDisk.model_validate(known.findings)
        there = discover.studies()
        found = {
            name: contract.find(name).result.model_validate(one)
            for name, one in read.found.items()
            if name in there
        }
    except ValidationError:
        return None, stored.OTHER_FORMAT
    return Findings(dict(found), read.notes, read.refused), ""


def load_one(folder: Path, kind: type[Found]) -> Found | None:
    """What one study found of a run; None where it has to be computed first.

    No other study is imported, so that its libraries need not be loaded.
    """
    if not (folder / "scenario.toml").exists():
        return None
    known = stored.read(folder, stored.inputs_hash(folder)).findings
    try:
        one = None if known is None else _OnDisk.model_validate(known).found.get(kind.study)
        return None if one is None else kind.model_validate(one)
    except ValidationError:
        return None


def save(folder: Path, inputs: str, findings: Findings) -> None:
    """Keep the findings of these inputs."""
    found = {name: one.model_dump(mode="json") for name, one in findings.found.items()}
    document = {"found": found, "notes": findings.notes, "refused": findings.refused}
    stored.write(folder, inputs, document)
