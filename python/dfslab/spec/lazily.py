"""A library that is loaded when something of it is used, not where it is named."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class _Waiting(ModuleType):
    """Looks like the library, and loads it at the first look into it."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, found)
        return found


def lazily(name: str) -> ModuleType:
    """The library; what is looked for in it is there from then on."""
    return _Waiting(name)
