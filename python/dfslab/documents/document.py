"""The base class of all documents: immutable, validated where they are read."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Document(BaseModel):
    """Plain data with named fields; the validator is created at the first read."""

    model_config = ConfigDict(frozen=True, defer_build=True)


class StrictDocument(Document):
    """A document in which an unknown key is an error, both when read and when constructed."""

    model_config = ConfigDict(extra="forbid")
