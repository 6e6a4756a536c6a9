"""Completes a scenario from the file that its key `base = "FILE"` names.

Missing keys are taken from the base, recursively in nested tables. A list in the scenario (nodes,
sweeps, methods) replaces the base's list. The file name is relative to the scenario's folder. A
base cannot have a base, so a scenario is spread over two files at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError
from dfslab.spec.toml import TomlTable, TomlValue

KEY = "base"
# Placeholder for the scenario's folder in the words of a workload's command.
HERE = "{here}"


def extended(table: Mapping[str, TomlValue], folder: Path) -> TomlTable:
    """Returns a scenario's table, completed from the file that its key `base` names. Without this
    key, returns a copy of the table. Raises InputError, which names the key and the file."""
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
    """Reads the TOML file `name`, relative to `folder`. Raises InputError for `key` if the file
    cannot be read."""
    try:
        return inputs.table(key, folder / name)
    except InputError as error:
        raise InputError(key, name, error.allowed) from error


def filled(table: Mapping[str, TomlValue], more: Mapping[str, TomlValue]) -> TomlTable:
    """Returns `table` with its missing keys taken from `more`. Nested tables are completed in the
    same way."""
    found = dict(table)
    for key, value in more.items():
        known = found.get(key, {})
        if isinstance(value, dict) and isinstance(known, dict):
            found[key] = filled(known, value)
        else:
            found.setdefault(key, value)
    return found


def located(table: Mapping[str, TomlValue], folder: Path) -> TomlTable:
    """Returns a scenario's table with absolute file names in the workload. In the workload's
    command, the placeholder HERE is replaced by `folder`. A relative name of the trace is taken as
    relative to `folder`."""
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
    """Returns the absolute path of `name`, a file name relative to `folder`."""
    return str(folder.resolve() / name)
