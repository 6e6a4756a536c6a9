"""Finds the entry points of installed packages, and the files of the modules behind them."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from importlib import metadata
from importlib.machinery import ModuleSpec
from pathlib import Path

# Beginning of the names of all groups of entry points that dfslab reads.
PREFIX = "dfslab."


# Which packages are installed depends on the module search path, so this path is the key of the
# cache.
@lru_cache(maxsize=1)
def entry_points(search_path: tuple[str, ...]) -> tuple[metadata.EntryPoint, ...]:
    """Returns the entry points of all groups whose names begin with "dfslab.".

    If several copies of a package are installed, only the entry points of the first copy on the
    search path are returned.
    """
    found: dict[str, list[metadata.EntryPoint]] = {}
    for package in metadata.distributions():
        # Few packages have members. Packages whose text names no group of members are therefore not
        # parsed: searching the text takes a tenth of the time of parsing it.
        if PREFIX not in (package.read_text("entry_points.txt") or ""):
            continue
        if own := [one for one in package.entry_points if one.group.startswith(PREFIX)]:
            found.setdefault(package.name, own)
    return tuple(one for own in found.values() for one in own)


def file(module: str) -> Path | None:
    """Returns the file of an installed module; for a package, the file that its import executes.
    None if there is none. The packages around the module are imported, but the module itself is
    not."""
    spec = _spec(module)
    return None if spec is None or spec.origin is None else Path(spec.origin)


def folder(module: str) -> Path | None:
    """Returns the folder of an installed package, which needs no file `__init__.py`; None if the
    module is no package."""
    spec = _spec(module)
    found = () if spec is None else spec.submodule_search_locations or ()
    return next(map(Path, found), None)


def _spec(module: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
