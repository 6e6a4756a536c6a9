"""The grid of conditions under which local file systems are measured, and its two halves.

The measurements of the development half may be used to find the causes of errors. After that, the
description and the calibration are changed. The judged half is measured after these changes and
gives the reported errors.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from dfslab.spec.design import LevelValue

Half = Literal["development", "judged"]
SEED = 26
CLIENTS = (1, 8)
KIB, MIB = 1 << 10, 1 << 20
# Pairs (file size, transfer size) in bytes. WHOLE is for operations on whole files, LARGEST for the
# largest files, and PARTS for operations on parts of files.
WHOLE = ((4 * KIB, 4 * KIB), (64 * KIB, 64 * KIB), (MIB, 64 * KIB), (16 * MIB, MIB))
LARGEST = (64 * MIB, 64 * MIB)
PARTS = ((16 * MIB, 4 * KIB), (16 * MIB, 64 * KIB))


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


def conditions() -> list[Condition]:
    """Returns all conditions of the grid."""
    found = [
        Condition("sequential_read", "", *sizes, cache)
        for sizes in (*WHOLE, LARGEST)
        for cache in ("warm", "cold", "direct")
    ]
    found += [
        Condition("random_read", "", *sizes, cache)
        for sizes in PARTS
        for cache in ("warm", "cold", "direct")
    ]
    found += [
        Condition("sequential_write", "", *sizes, "warm", fsync)
        for sizes in WHOLE
        for fsync in ("none", "close", "write")
    ]
    found += [Condition("sequential_write", "", *LARGEST, "warm", one) for one in ("none", "close")]
    found += [Condition("sequential_write", "", *sizes, "direct") for sizes in (*WHOLE, LARGEST)]
    found += [
        Condition("random_write", "", *sizes, cache, fsync)
        for sizes in PARTS
        for cache, fsync in (("warm", "none"), ("warm", "close"), ("direct", "none"))
    ]
    found += [Condition("metadata", one) for one in ("create", "stat", "delete")]
    return found


def half(wanted: Half) -> list[Condition]:
    """Returns the conditions of one half. SEED draws the development half from all conditions."""
    every = conditions()
    chosen = set(random.Random(SEED).sample(range(len(every)), len(every) // 2))
    inside = wanted == "development"
    return [one for number, one in enumerate(every) if (number in chosen) == inside]
