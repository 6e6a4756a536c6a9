"""The memory of a metadata server: objects per file, bytes per object, and the source of the
figures.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ObjectMemory:
    """A published or measured figure of the memory that a file costs a metadata server. `usable` is
    the share of its memory available to objects.

    `cached`: the limit applies to files in the server's cache; other files are read from its store.
    """

    role: str
    bytes_per_object: float
    objects_per_file: float
    source: str
    usable: float = 1.0
    cached: bool = False

    @property
    def bytes_per_file(self) -> float:
        """Returns the memory in bytes that one file with its blocks costs."""
        return self.bytes_per_object * self.objects_per_file

    def files(self, memory_bytes: float) -> float:
        """Returns the number of files that fit into a server's memory of `memory_bytes`."""
        return memory_bytes * self.usable / self.bytes_per_file
