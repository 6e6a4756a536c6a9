"""Measures the processor time that programs outside of a run use. The source is the kernel's
process table."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
# The process number of kthreadd, the parent of all threads of the kernel.
KERNEL = 2
# Positions of fields in the line /proc/PID/stat, counted from 0 after the process's name. The field
# at position 0 is the state. PARENT is the id of the parent process. TIMES are utime, stime, cutime
# and cstime in ticks, which are fields 14 to 17 of proc(5).
PARENT, TIMES = 1, slice(11, 15)


@dataclass(frozen=True)
class ProcessRow:
    """One process of the process table: the id of its parent, and its processor time in ticks. The
    time includes that of its ended children."""

    parent: int
    ticks: int


def process_table(proc: Path = PROC) -> dict[int, ProcessRow]:
    """Returns all processes that can be read, by process number."""
    found = {}
    for name in os.listdir(proc):
        if not name.isdigit():
            continue
        try:
            text = (proc / name / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # The process has ended meanwhile.
        # A name may contain spaces and brackets, so fields are counted from its last bracket.
        fields = text.rpartition(")")[2].split()
        found[int(name)] = ProcessRow(int(fields[PARENT]), sum(map(int, fields[TIMES])))
    return found


def known_ticks(table: Mapping[int, ProcessRow], roots: Collection[int]) -> int:
    """Returns the processor time in ticks of three groups: the kernel's threads, the processes
    `roots`, and all descendants of `roots`.
    """
    children: dict[int, list[int]] = {}
    for pid, row in table.items():
        children.setdefault(row.parent, []).append(pid)
    reached: set[int] = set()
    left = [pid for pid in (KERNEL, *roots) if pid in table]
    while left:
        pid = left.pop()
        if pid not in reached:
            reached.add(pid)
            left.extend(children.get(pid, ()))
    return sum(table[pid].ticks for pid in reached)
