"""The base class of all documents, which are immutable and validated where they are read."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Document(BaseModel):
    """Plain data with named fields. The validator is created when a document of the class is first
    read.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)


class StrictDocument(Document):
    """A document in which an unknown key is an error, both when read and when constructed."""

    model_config = ConfigDict(extra="forbid")
