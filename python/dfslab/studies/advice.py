"""One change of a deployment and what it would gain, as it is stored and printed."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from dfslab.studies import stored


class Advice(BaseModel):
    """A change of one thing; `gain` is the factor on the rate with its 90 % interval."""

    point_id: str
    labels: dict[str, str | int | float | bool]
    limit: str
    change: str
    gain: float
    low: float
    high: float


def stored_advice(folder: Path) -> list[Advice] | None:
    """The advice that is stored with a run; None where it has to be computed first."""
    if not (folder / "scenario.toml").exists():
        return None
    found = stored.read(folder, stored.inputs_hash(folder)).findings
    advice = found.get("advice") if found else None
    return None if advice is None else [Advice.model_validate(one) for one in advice]
