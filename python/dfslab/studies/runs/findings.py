"""Stores the typed findings of a run in its folder and reads them back."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from dfslab import discover
from dfslab.studies import contract
from dfslab.studies.contract import Findings, StudyResult
from dfslab.studies.runs import stored

Found = TypeVar("Found", bound=StudyResult)


class _OnDisk(BaseModel):
    """The stored form of a run's findings. `found`: the result of each study as JSON, by the
    study's name."""

    found: dict[str, dict[str, JsonValue]]
    notes: list[str]
    refused: dict[str, str]


def load(folder: Path, inputs: str) -> tuple[Findings | None, str]:
    """Reads the findings of a run folder. Returns (findings, ""), or (None, reason) if the findings
    cannot be used.

    For example, they cannot be used if the hash of the inputs from which they were computed is not
    `inputs`. Results of studies that are not installed are skipped.
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
    """Returns the stored result of one study, whose class is `kind`; None if no usable result is
    stored.

    Other studies are not imported, because their libraries load slowly.
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
    """Stores findings that were computed from inputs with the hash `inputs`."""
    document: dict[str, JsonValue] = {
        "found": {name: one.model_dump(mode="json") for name, one in findings.found.items()},
        "notes": [*findings.notes],
        "refused": {**findings.refused},
    }
    stored.write(folder, inputs, document)
