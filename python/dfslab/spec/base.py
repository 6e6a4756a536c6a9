"""Scenarios that inherit from another file: `base = "FILE"`.

Missing keys are taken from the base, recursively in nested tables. A list in the scenario (nodes,
sweeps, methods) replaces the base's list. The path is relative to the scenario's folder. A base
cannot have a base, so a scenario is spread over two files at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dfslab.spec.files import inputs
from dfslab.spec.model import InputError
from dfslab.spec.toml import TomlTable, TomlValue

KEY = "base"
# In a command's words, stands for the folder of the scenario.
HERE = "{here}"


def extended(table: Mapping[str, TomlValue], folder: Path) -> TomlTable:
    """The table with missing keys from its base. InputError names the key and the file."""
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


def named(name: str, key: str, folder: Path) -> TomlTable:
    """The table in the file `name`, relative to the scenario's folder; `key` is for errors."""
    try:
        return inputs.table(key, folder / name)
    except InputError as error:
        raise InputError(key, name, error.allowed) from error


def filled(table: Mapping[str, TomlValue], more: Mapping[str, TomlValue]) -> TomlTable:
    """`table` with missing keys from `more`, recursively in nested tables."""
    found = dict(table)
    for key, value in more.items():
        known = found.get(key, {})
        if isinstance(value, dict) and isinstance(known, dict):
            found[key] = filled(known, value)
        else:
            found.setdefault(key, value)
    return found


def located(table: Mapping[str, TomlValue], folder: Path) -> TomlTable:
    """The table with the workload's file names (in a command, or of a trace) made absolute."""
    workload = table.get("workload")
    if not isinstance(workload, dict):
        return dict(table)
    command = workload.get("command")
    if isinstance(command, list):
        words: list[TomlValue] = [
            word.replace(HERE, str(folder.resolve())) if isinstance(word, str) else word
            for word in command
        ]
        return {**table, "workload": {**workload, "command": words}}
    if isinstance(name := workload.get("trace"), str) and name:
        return {**table, "workload": {**workload, "trace": absolute_path(name, folder)}}
    return dict(table)


def absolute_path(name: str, folder: Path) -> str:
    """The absolute path of a file name that is relative to a folder."""
    return str(folder.resolve() / name)
