"""Writes net definitions as JSON, for the engine and for human readers."""

from __future__ import annotations

from collections.abc import Mapping

from dfslab.documents.net_definition import NetDefinition

NET = ("name", "enums", "colours", "constants", "tables", "functions", "places", "transitions")
PLACE = ("name", "colour", "discipline", "initial", "port")
ARCS = ("in", "out", "inhibit", "reset")
TRANSITION = (
    "name",
    "page",
    "in",
    "out",
    "guard",
    "delay",
    "priority",
    "weight",
    *ARCS[2:],
    "locals",
)
ARC = ("place", "var", "at_least", "token", "delay", "count")


def json_text(definition: NetDefinition) -> str:
    """Returns the definition as JSON text for the engine. Fields that were not set are omitted."""
    return definition.model_dump_json(by_alias=True, exclude_unset=True)


def ordered(definition: NetDefinition) -> Mapping[str, object]:
    """Returns the definition as JSON data with its keys in an order that suits human readers."""
    found = definition.model_dump(mode="json", by_alias=True, exclude_unset=True)
    found["places"] = [_in_order(one, PLACE) for one in found["places"]]
    found["transitions"] = [
        _in_order(
            {
                key: [_in_order(arc, ARC) for arc in value] if key in ARCS else value
                for key, value in one.items()
            },
            TRANSITION,
        )
        for one in found["transitions"]
    ]
    return _in_order(found, NET)


def _in_order(one: Mapping[str, object], keys: tuple[str, ...]) -> Mapping[str, object]:
    return {key: one[key] for key in keys if key in one}
