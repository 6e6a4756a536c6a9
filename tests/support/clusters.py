"""Loads in several processes of this machine, and what is left of those."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
from dfslab.fleet.places import Place
from dfslab.fleet.shards import Spans

TWO = (Place("left"), Place("right"))


def plan(root: Path, clients: int = 5, operations: int = 60, **top: Any) -> dict[str, Any]:
    """Reads, writes and renames in the run directory `dfslab-fleet`."""
    mix = [{"operation": kind, "weight": 1.0} for kind in ("read", "write", "rename", "mkdir")]
    return {
        "stream": {
            "seed": 7,
            "clients": clients,
            "operations_per_client": operations,
            "files_per_client": 4,
            "mix": mix,
            "transfer_size_bytes": 4096,
            "file_size": {"uniform": {"low": 1, "high": 20_000}},
        },
        "target": {"kind": "posix", "root": str(root)},
        "run_directory": "dfslab-fleet",
        **top,
    }


def agents_of(parent: int) -> list[int]:
    """The agents that a process started, in that order."""
    children = sorted(psutil.Process(parent).children(), key=lambda child: child.create_time())
    return [child.pid for child in children if "dfslab.fleet.agent" in child.cmdline()]


def runs(pid: int) -> bool:
    """Whether the process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def apart_s(spans: Spans, parts: Sequence[Sequence[int]]) -> float:
    """How long after the first part of the clients had ended the last one began; negative where
    all worked at the same time, however slowly."""
    begun = [min(span[1] for span in spans if span[5] in part) for part in parts]
    ended = [max(span[2] for span in spans if span[5] in part) for part in parts]
    return (max(begun) - min(ended)) * 1e-9
