"""The base class of all documents, and the schema of values that documents store as text. Documents
are immutable, and are validated when they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import BaseModel, ConfigDict
from pydantic_core import CoreSchema, core_schema


class Document(BaseModel):
    """Plain data with named fields. The validator is created when a document of the class is first
    read.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)


class StrictDocument(Document):
    """A document in which an unknown key is an error, both when read and when constructed."""

    model_config = ConfigDict(extra="forbid")


def current_keys(table: object, former: Mapping[str, str]) -> object:
    """Returns a stored table with the present names of renamed keys. `former` maps the former name
    of each renamed key to its present name. A value that is no dictionary is returned unchanged."""
    if not isinstance(table, dict):
        return table
    return {former.get(key, key): value for key, value in table.items()}


def text_schema(kind: type[object], read: Callable[[str], object]) -> CoreSchema:
    """Returns pydantic's schema of values of the class `kind`. Pydantic writes a value as
    `str(value)`, and reads it by calling `read` with this text. When a document is constructed in
    Python, a value of the class `kind` is also accepted."""
    text = core_schema.no_info_after_validator_function(read, core_schema.str_schema())
    return core_schema.json_or_python_schema(
        json_schema=text,
        python_schema=core_schema.union_schema([core_schema.is_instance_schema(kind), text]),
        serialization=core_schema.plain_serializer_function_ser_schema(
            str, return_schema=core_schema.str_schema()
        ),
    )
