"""Imports a library lazily, when one of its attributes is first used."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class _Waiting(ModuleType):
    """A module object that stands for a library. The library is imported when one of its attributes
    is first read."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, found)
        return found


def lazily(name: str) -> ModuleType:
    """Returns a module object that stands for the library `name`.

    The library is imported when one of its attributes is first read.
    """
    return _Waiting(name)
