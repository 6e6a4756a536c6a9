"""A scenario that says only what is other than in another file: `base = "FILE"`.

Tables are filled key by key from the base, tables within tables too; a list (nodes, sweeps,
methods) that the scenario writes stands in place of the base's. The path is from the scenario's own
folder. A base has no base: who reads a scenario looks into two files at most.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dfslab.spec.model import InputError

KEY = "base"
# Where a word of a command names a file beside the scenario.
HERE = "{here}"


def extended(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The table with what its base says beside it. InputError names the key and the file."""
    whole = dict(table)
    if KEY not in whole:
        return whole
    name = whole.pop(KEY)
    if not isinstance(name, str) or not name:
        raise InputError(KEY, name, "must be the name of a scenario file")
    given = named(name, KEY, folder)
    if KEY in given:
        raise InputError(KEY, name, f"has a base itself, {given[KEY]}; name that one or none")
    return filled(whole, given)


def named(name: str, key: str, folder: Path) -> dict[str, Any]:
    """The table in a file that a scenario's `key` names, seen from the scenario's folder."""
    try:
        return tomllib.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(key, name, f"cannot be read: {reason}") from error


def filled(table: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """`table` with what `more` says beside it, in tables below as well."""
    found = dict(table)
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(found.get(key, {}), dict):
            found[key] = filled(found.get(key, {}), value)
        else:
            found.setdefault(key, value)
    return found


def located(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The table, its workload naming files beside the scenario for good: the words of a command,
    or a trace."""
    workload = table.get("workload")
    if not isinstance(workload, dict):
        return dict(table)
    if isinstance(workload.get("command"), list):
        words = [
            word.replace(HERE, str(folder.resolve())) if isinstance(word, str) else word
            for word in workload["command"]
        ]
        return {**table, "workload": {**workload, "command": words}}
    if isinstance(name := workload.get("trace"), str) and name:
        return {**table, "workload": {**workload, "trace": beside(name, folder)}}
    return dict(table)


def beside(name: str, folder: Path) -> str:
    """The file of that name seen from a folder, wherever it is looked for from then on."""
    return str(folder.resolve() / name)
