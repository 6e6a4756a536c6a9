"""Lazy imports: a library is loaded on first use of an attribute."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class _Waiting(ModuleType):
    """A proxy module that loads the library on first access to an attribute."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, found)
        return found


def lazily(name: str) -> ModuleType:
    """A proxy of the library `name`, which is imported when an attribute is first read."""
    return _Waiting(name)
