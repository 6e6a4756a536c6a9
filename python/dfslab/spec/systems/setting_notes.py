"""Explains settings of file systems whose values are codes, such as `shard` with 0 and 1."""

from __future__ import annotations

from collections.abc import Iterable

from dfslab import discover

_PREFIX = "file_system."
SWITCH = (0.0, 1.0)


def setting_notes(keys: Iterable[tuple[str, str]]) -> list[str]:
    """Returns one sentence for each setting that is switched by 0 and 1: its name and its meaning.

    `keys`: pairs (name of the file system, dotted key of the scenario). Keys that are no such
    settings are left out.
    """
    found: dict[str, None] = {}
    for system, key in dict.fromkeys(keys):
        name = key.removeprefix(_PREFIX)
        if name == key:
            continue
        parameter = discover.file_system(system).parameters.find(name)
        if parameter is not None and parameter.choices == SWITCH:
            found[f"{name.replace('_', ' ')}: {parameter.meaning}"] = None
    return list(found)
