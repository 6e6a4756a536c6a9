"""Tests that the Python types of the load plan equal, field by field, the types that the Rust core
reads.

The core's types are described in core/load/plan_schema.json. A test of the Rust crate core/load
compares this file with the Rust structs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from dfslab.spec.streams.plan import LoadPlan, PlanLayer
from dfslab.spec.streams.target import OpendalTarget, PosixTarget
from dfslab.spec.streams.vocabulary import SizeDistribution, Stream

SCHEMA = Path(__file__).parents[2] / "core" / "load" / "plan_schema.json"
# Rust enums whose variants carry data. The Python type has one field for each variant, and exactly
# one field is set.
ONE_OF = (SizeDistribution.__name__, PlanLayer.__name__)
# Fields that the core requires. Python writes them even if the plan does not set them.
ALWAYS = {"kind", "seed", "clients"}
# Fields whose Python type allows fewer values than the schema. The core's validation rejects the
# other values.
NARROWER = {"Share.file_choice"}


class Shapes:
    """Converts JSON Schemas to sets. A union becomes the set of its alternatives, and an object
    becomes the set of its fields. The sets can be compared, because the order of alternatives and
    of fields has no meaning."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._defs = schema["$defs"]

    def of(self, schema: Mapping[str, Any]) -> frozenset:
        """Returns the alternatives that a schema allows for a value."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            found = self._defs[name]
            if name in ONE_OF:
                return frozenset(
                    ("object", frozenset({(key, True, self.of(one) - {"null"})}))
                    for key, one in found["properties"].items()
                )
            return self.of(found)
        for union in ("oneOf", "anyOf"):
            if union in schema:
                return frozenset().union(*map(self.of, schema[union]))
        if isinstance(schema.get("type"), list):
            return frozenset().union(*(self.of({**schema, "type": t}) for t in schema["type"]))
        if "const" in schema or "enum" in schema:
            return frozenset(schema.get("enum", [schema.get("const")]))
        if "prefixItems" in schema:
            return frozenset({("tuple", *map(self.of, schema["prefixItems"]))})
        if schema["type"] == "array":
            return frozenset({("list", self.of(schema["items"]))})
        if schema["type"] == "object" and "properties" not in schema:
            return frozenset({("mapping", self.of(schema["additionalProperties"]))})
        if schema["type"] == "object":
            return frozenset({("object", self.fields(schema))})
        return frozenset({schema["type"]})

    def fields(self, schema: Mapping[str, Any]) -> frozenset:
        """Returns a set with an element for each field of an object's schema: (name, whether Python
        always writes the field, allowed alternatives of its value or "narrower")."""
        assert schema["additionalProperties"] is False
        required = set(schema.get("required", ())) | ALWAYS
        title = schema.get("title", "")
        return frozenset(
            (key, key in required, "narrower" if f"{title}.{key}" in NARROWER else self.of(one))
            for key, one in schema["properties"].items()
        )


def titled(schema: dict[str, Any]) -> dict[str, Any]:
    """Adds a title to each definition of the schema, as pydantic does, and returns the schema."""
    for name, one in schema["$defs"].items():
        one["title"] = name
    return schema


def rust() -> dict[str, Any]:
    return titled(json.loads(SCHEMA.read_text("utf-8")))


def python() -> dict[str, Any]:
    return LoadPlan.model_json_schema()


def test_python_writes_what_the_core_reads():
    theirs, ours = rust(), python()
    expected = Shapes(theirs).fields(theirs)
    found = Shapes(ours).fields(ours)
    assert {one[0] for one in found} == {one[0] for one in expected}
    for mine, other in zip(sorted(found, key=name_of), sorted(expected, key=name_of), strict=True):
        assert mine == other, mine[0]


def name_of(field: tuple) -> str:
    return field[0]


def defaults(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    """Returns the default of each field whose default is a plain value. The key of the dictionary
    is (kind or name of the object, name of the field)."""
    objects = {"plan": schema, **defs}
    for one in list(defs.values()):
        for variant in one.get("oneOf", ()):
            if "kind" in variant.get("properties", {}):
                objects[variant["properties"]["kind"]["const"]] = variant
    found = {}
    for name, one in objects.items():
        kind = one.get("properties", {}).get("kind", {}).get("const", name)
        for key, field in one.get("properties", {}).items():
            value = field.get("default", ...)
            if value is not ... and not isinstance(value, dict | list):
                found[kind, key] = value
    return found


def test_defaults_are_the_cores():
    theirs, ours = rust(), python()
    same = {"StreamSpec": "Stream"}
    expected = defaults(theirs, theirs["$defs"])
    found = defaults(ours, ours["$defs"])
    compared = 0
    for (name, key), value in expected.items():
        known = found.get((same.get(name, name), key), value)
        assert known == value, f"{name}.{key}"
        compared += (same.get(name, name), key) in found
    assert compared > 40


@pytest.mark.parametrize(
    "change",
    [
        lambda schema: schema["properties"].pop("barrier_after_phases"),
        lambda schema: schema["required"].append("verify"),
        lambda schema: schema["$defs"]["Share"]["properties"]["weight"].update(type="integer"),
        lambda schema: schema["$defs"]["OperationKind"]["oneOf"].pop(),
        lambda schema: schema["$defs"]["TargetSpec"]["oneOf"].pop(),
    ],
)
def test_the_comparison_can_fail(change):
    theirs = rust()
    expected = Shapes(theirs).fields(theirs)
    changed = rust()
    change(changed)
    assert Shapes(changed).fields(changed) != expected


def test_what_the_core_requires_is_always_written():
    assert json.loads(PosixTarget(root="/d").text) == {"kind": "posix", "root": "/d"}
    assert json.loads(OpendalTarget(uri="memory:///").text)["kind"] == "opendal"
    stream = Stream(file_size=SizeDistribution(fixed=1), transfer_size_bytes=1)
    assert json.loads(stream.text).keys() == {"seed", "clients", "file_size", "transfer_size_bytes"}
