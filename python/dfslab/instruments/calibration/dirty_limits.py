"""Reads how much written data Linux keeps in memory before it writes data out, and before it slows
down writers (Documentation/admin-guide/sysctl/vm.rst).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SETTINGS, MEMORY = Path("/proc/sys/vm"), Path("/proc/meminfo")


@dataclass(frozen=True)
class DirtyLimits:
    """The two limits of dirty pages in bytes. At `background_bytes`, the kernel begins to write out
    dirty pages in the background. At `limit_bytes`, the kernel makes writers wait."""

    background_bytes: int
    limit_bytes: int


def dirty_limits(settings: Path = SETTINGS, memory: Path = MEMORY) -> DirtyLimits:
    """Returns the limits of this machine.

    The kernel's settings give each limit either in bytes or as a percentage of the memory that is
    available now (MemAvailable). If `background_bytes` is not below `limit_bytes`, it is set to
    half of `limit_bytes`, as the kernel does (mm/page-writeback.c).
    """
    words = (line.split() for line in memory.read_text("ascii").splitlines())
    available = next(int(line[1]) << 10 for line in words if line[0] == "MemAvailable:")

    def limit(name: str) -> int:
        given = int((settings / f"{name}_bytes").read_text("ascii"))
        share = int((settings / f"{name}_ratio").read_text("ascii"))
        return given or available * share // 100

    background_bytes, limit_bytes = limit("dirty_background"), limit("dirty")
    if background_bytes >= limit_bytes:
        background_bytes = limit_bytes // 2
    return DirtyLimits(background_bytes, limit_bytes)
