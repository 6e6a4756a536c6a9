"""The base class of all documents. Documents are immutable and are validated when they are read.
The module also has the schema of values that documents store as text."""

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
    """Returns a stored table in which former keys are replaced by the present ones. `former` maps
    the former name of each renamed key to its present name. If `table` is not a dictionary, it is
    returned unchanged."""
    if not isinstance(table, dict):
        return table
    return {former.get(key, key): value for key, value in table.items()}


def text_schema(kind: type[object], read: Callable[[str], object]) -> CoreSchema:
    """Returns pydantic's schema for fields whose values are of the class `kind` and are stored as
    text. A value is written as `str(value)`. A stored text is read by calling `read` with this
    text. A document that is constructed in Python may also be given a value of the class `kind`
    itself."""
    text = core_schema.no_info_after_validator_function(read, core_schema.str_schema())
    return core_schema.json_or_python_schema(
        json_schema=text,
        python_schema=core_schema.union_schema([core_schema.is_instance_schema(kind), text]),
        serialization=core_schema.plain_serializer_function_ser_schema(
            str, return_schema=core_schema.str_schema()
        ),
    )
