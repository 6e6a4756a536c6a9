"""The memory of a metadata server: bytes for each file and each block, and the source of these
figures."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class ObjectMemory:
    """A published or measured value of the memory that a metadata server needs for each file.

    `bytes_per_file`: bytes of a file without its blocks. `bytes_per_block`: bytes of each block; 0
    if the source counts no blocks. `block_size`: key of the parameter with the size of a block;
    empty if the source counts no blocks. `usable`: fraction of the server's memory that is
    available to files. `cached`: true if the server caches files and can read others from its
    store, so that only the number of cached files is limited.
    """

    role: str
    bytes_per_file: float
    source: str
    bytes_per_block: float = 0.0
    block_size: str = ""
    usable: float = 1.0
    cached: bool = False

    def bytes_of(self, blocks: float) -> float:
        """Returns the bytes of memory that one file with `blocks` blocks takes."""
        return self.bytes_per_file + self.bytes_per_block * blocks

    def files(self, memory_bytes: float, blocks: float) -> float:
        """Returns the number of files of `blocks` blocks that fit into a server's memory of
        `memory_bytes`.
        """
        return memory_bytes * self.usable / self.bytes_of(blocks)


def blocks_of(file_bytes: float, block_bytes: float) -> int:
    """Returns the number of blocks of a file; an empty file has none."""
    return math.ceil(file_bytes / block_bytes)
