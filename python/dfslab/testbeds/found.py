"""The testbed of a file system, by the file system's name."""

from __future__ import annotations

from dfslab import discover
from dfslab.spec.model import InputError
from dfslab.testbeds.base import BaseBed


def testbed(name: str, key: str) -> type[BaseBed]:
    """The testbed class of that file system. InputError for `key` when it has none."""
    system = discover.file_system(name)
    if not system.has_bed:
        others = [
            other
            for other in discover.members("filesystems", folders=True)
            if discover.file_system(other).has_bed
        ]
        raise InputError(key, name, f"has none; there are beds for {', '.join(others)}")
    found = discover.declared(system.folder / "bed.py", "Bed", type)
    if not issubclass(found, BaseBed):
        raise discover.DiscoveryError(f"{system.folder / 'bed.py'}: Bed must derive from BaseBed")
    return found
