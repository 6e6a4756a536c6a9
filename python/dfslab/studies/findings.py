"""Typed findings on disk: computed at the end of a run, stored in its folder, read back later."""

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
    """The findings of a run: study name -> result."""

    found: dict[str, dict[str, JsonValue]]
    notes: list[str]
    refused: dict[str, str]


def load(folder: Path, inputs: str) -> tuple[Findings | None, str]:
    """(findings stored for inputs with this hash or None, reason why none can be used).

    Results of studies that are not installed are skipped.
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
    """The stored result of one study; None if the study must run first.

    No other study is imported, because its libraries would load slowly.
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
    """Store findings that were computed from inputs with the hash `inputs`."""
    document: dict[str, JsonValue] = {
        "found": {name: one.model_dump(mode="json") for name, one in findings.found.items()},
        "notes": [*findings.notes],
        "refused": {**findings.refused},
    }
    stored.write(folder, inputs, document)
