"""Converts results of earlier versions to today's form. The earlier versions stored all parts of a
result in one table. Today each part has a separate type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue, ValidationError

from dfslab.documents.answers import (
    CalibrationFit,
    NetworkSimulation,
    OpenLoadAnswer,
    RegressionFit,
    StreamSimulation,
)
from dfslab.documents.document import Document
from dfslab.documents.measured_load import MeasuredLoad, ProgramRun
from dfslab.documents.traces.trace_profile import TraceProfile

# The key of the table in which the earlier form stored all parts of a result.
FORMER = "detail"


def current(stored: Mapping[str, JsonValue]) -> dict[str, JsonValue | Document]:
    """Converts a stored result, given as JSON, to today's form. A result in today's form is
    returned unchanged.
    """
    result: dict[str, JsonValue | Document] = dict(stored)
    detail = result.pop(FORMER, None)
    if isinstance(detail, dict) and detail:
        result |= {name: part for name, part in _parts(detail).items() if part is not None}
    return result


def _parts(detail: Mapping[str, Any]) -> dict[str, Document | None]:
    simulated = detail.get("simulated") or {}
    return {
        "load": _load(detail) if "wall_s" in detail else None,
        "program": _made(ProgramRun, detail, "took_s"),
        "profile": _profile(detail.get("profile")),
        "fit": _made(CalibrationFit, detail, "constants"),
        "regression": _made(RegressionFit, detail, "coefficients"),
        "simulation": _made(StreamSimulation, simulated, "operations_per_client"),
        "network": _made(
            NetworkSimulation, {**simulated, "levels": detail.get("levels", {})}, "time_s"
        ),
        "open_load": _made(OpenLoadAnswer, detail.get("open") or {}, "offered_per_s"),
    }


def _made(kind: type[Document], table: Mapping[str, Any], key: str) -> Document | None:
    """Returns the part of a result that `table` contains, as a document of the class `kind`.
    Returns None if the table lacks `key`. In this case, the stored result does not have this
    part."""
    return kind.model_validate(table) if key in table else None


def _load(detail: Mapping[str, Any]) -> MeasuredLoad:
    known = {key: value for key, value in detail.items() if value is not None}
    calls = known.get("calls")
    if calls and "system_calls" in calls:
        known["calls"] = {"phases": [calls]}
    return MeasuredLoad.model_validate(known)


def _profile(given: Mapping[str, Any] | None) -> TraceProfile | None:
    """Returns the stored trace profile `given` as a document.

    Returns None if no profile is stored, or if the stored profile lacks fields of today's form.
    Such a profile cannot be drawn, but its trace file still exists.
    """
    try:
        return TraceProfile.model_validate(given) if given else None
    except ValidationError:
        return None
