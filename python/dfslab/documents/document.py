"""The base of every document: never changed once it is made, checked where it is read."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Document(BaseModel):
    """Plain data with named fields; a validator is made when the first one is read."""

    model_config = ConfigDict(frozen=True, defer_build=True)
