"""Finds the testbed class of a file system by its name."""

from __future__ import annotations

from dfslab import discover
from dfslab.spec.input_error import InputError
from dfslab.testbeds.base import BaseTestbed, missing_methods


def testbed_class(name: str, key: str) -> type[BaseTestbed]:
    """Returns the testbed class of the file system `name`.

    Raises InputError if the file system has no testbed; the error names the setting `key`. Raises
    DiscoveryError if the class is no testbed or lacks methods of the contract.
    """
    system = discover.file_system(name)
    if not system.has_testbed:
        others = [
            other
            for other in discover.members(discover.FILE_SYSTEMS)
            if discover.file_system(other).has_testbed
        ]
        raise InputError(key, name, f"has none; there are testbeds for {', '.join(others)}")
    found = discover.declared(system.folder / "testbed.py", "Testbed", type)
    if not issubclass(found, BaseTestbed):
        raise discover.DiscoveryError(
            f"{system.folder / 'testbed.py'}: Testbed must derive from BaseTestbed"
        )
    if lacking := missing_methods(found):
        raise discover.DiscoveryError(
            f"{system.folder / 'testbed.py'}: Testbed lacks {', '.join(lacking)}"
        )
    return found
