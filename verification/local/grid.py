"""The grids of conditions under which local file systems are measured.

The first grid has two halves. The measurements of its development half may be used to find the
causes of errors. After that, the description and the calibration are changed. The judged half is
measured after these changes and gives the reported errors.

The second grid has other sizes. It is measured after the description and the calibration were
changed because of the errors of the judged half.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from dfslab.spec.design import LevelValue

Half = Literal["development", "judged", "second"]
SEED = 26
CLIENTS = (1, 8)
KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Sizes:
    """The sizes of one grid, as pairs (file size, transfer size) in bytes. `whole` is for
    operations on whole files, `largest` for the largest files, and `parts` for operations on parts
    of files."""

    whole: tuple[tuple[int, int], ...]
    largest: tuple[int, int]
    parts: tuple[tuple[int, int], ...]


FIRST = Sizes(
    ((4 * KIB, 4 * KIB), (64 * KIB, 64 * KIB), (MIB, 64 * KIB), (16 * MIB, MIB)),
    (64 * MIB, 64 * MIB),
    ((16 * MIB, 4 * KIB), (16 * MIB, 64 * KIB)),
)
SECOND = Sizes(
    ((16 * KIB, 16 * KIB), (256 * KIB, 128 * KIB), (4 * MIB, 256 * KIB), (32 * MIB, 512 * KIB)),
    (128 * MIB, 8 * MIB),
    ((64 * MIB, 16 * KIB), (64 * MIB, 128 * KIB)),
)


@dataclass(frozen=True)
class Condition:
    """One workload on one directory. A condition does not include the number of clients.

    `file_bytes` and `transfer_bytes` are 0 for operations on empty files. `fsync` states when
    written data is forced to disk: "none", after each file ("close") or after each transfer
    ("write").
    """

    workload: str
    operation: str = ""
    file_bytes: int = 0
    transfer_bytes: int = 0
    cache: str = "warm"
    fsync: str = "none"

    @property
    def name(self) -> str:
        """A short text that identifies the condition."""
        sizes = f"{self.file_bytes // KIB}K/{self.transfer_bytes // KIB}K" * bool(self.file_bytes)
        words = (self.operation or self.workload, sizes, self.cache, f"fsync={self.fsync}")
        return " ".join(word for word in words if word)

    @property
    def reads(self) -> bool:
        """Whether the condition reads file data."""
        return self.workload.endswith("_read")

    @property
    def values(self) -> dict[str, LevelValue]:
        """The scenario keys of the condition, with their values."""
        found: dict[str, LevelValue] = {
            "workload.name": self.workload,
            "workload.cache": self.cache,
        }
        if self.operation:
            return {**found, "workload.operation": self.operation}
        found["workload.file_size"] = f"{self.file_bytes} B"
        found["workload.transfer_size"] = f"{self.transfer_bytes} B"
        if self.fsync != "none":
            found["workload.fsync"] = True if self.fsync == "close" else "write"
        return found


def conditions(sizes: Sizes = FIRST) -> list[Condition]:
    """Returns all conditions of the grid with these sizes."""
    found = [
        Condition("sequential_read", "", *pair, cache)
        for pair in (*sizes.whole, sizes.largest)
        for cache in ("warm", "cold", "direct")
    ]
    found += [
        Condition("random_read", "", *pair, cache)
        for pair in sizes.parts
        for cache in ("warm", "cold", "direct")
    ]
    found += [
        Condition("sequential_write", "", *pair, "warm", fsync)
        for pair in sizes.whole
        for fsync in ("none", "close", "write")
    ]
    found += [
        Condition("sequential_write", "", *sizes.largest, "warm", one) for one in ("none", "close")
    ]
    found += [
        Condition("sequential_write", "", *pair, "direct") for pair in (*sizes.whole, sizes.largest)
    ]
    found += [
        Condition("random_write", "", *pair, cache, fsync)
        for pair in sizes.parts
        for cache, fsync in (("warm", "none"), ("warm", "close"), ("direct", "none"))
    ]
    found += [Condition("metadata", one) for one in ("create", "stat", "delete")]
    return found


def half(wanted: Half) -> list[Condition]:
    """Returns the conditions of one half of the first grid, or of the whole second grid. SEED draws
    the development half from all conditions of the first grid."""
    if wanted == "second":
        return conditions(SECOND)
    every = conditions()
    chosen = set(random.Random(SEED).sample(range(len(every)), len(every) // 2))
    inside = wanted == "development"
    return [one for number, one in enumerate(every) if (number in chosen) == inside]
