"""Functions for tests of workload runs in several processes of this machine. The functions make a
plan, find the processes of a run, and compute whether the shards of a run overlap in time."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
from dfslab.fleet.client_hosts import ClientHost
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.streams.vocabulary import Bounds, OperationName, Share, SizeDistribution, Stream

from support.rows import SpanRow

TWO = (ClientHost("left"), ClientHost("right"))


def plan(
    root: Path, clients: int = 5, operations: int = 60, think_time_s: float = 0.0, **top: Any
) -> LoadPlan:
    """Returns a plan of reads, writes, renames and mkdirs in the run directory `dfslab-fleet` below
    `root`. `top` sets other fields of the plan."""
    kinds: tuple[OperationName, ...] = ("read", "write", "rename", "mkdir")
    stream = Stream(
        seed=7,
        clients=clients,
        operations_per_client=operations,
        files_per_client=4,
        mix=[Share(operation=kind) for kind in kinds],
        transfer_size_bytes=4096,
        file_size=SizeDistribution(uniform=Bounds(low=1, high=20_000)),
        think_time_s=think_time_s,
    )
    target = PosixTarget(root=str(root))
    return LoadPlan(stream=stream, target=target, run_directory="dfslab-fleet", **top)


def agents_of(parent: int) -> list[int]:
    """Returns the PIDs of the load-generator processes that the process `parent` started, in the
    order of their starts."""
    return children_with("dfslab.fleet.agent", parent)


def children_with(word: str, parent: int) -> list[int]:
    """Returns the PIDs of the children of the process `parent` whose command line has `word` as an
    argument, in the order of their starts. A zombie has ended and is left out."""
    return [child.pid for child, line in command_lines(parent) if word in line]


def command_lines(
    parent: int, *, recursive: bool = False
) -> list[tuple[psutil.Process, list[str]]]:
    """Returns the children of the process `parent`, and also their descendants if `recursive`. Each
    is returned with the words of its command line, in the order of their starts. Zombies are left
    out."""
    found = []
    children = psutil.Process(parent).children(recursive=recursive)
    for child in sorted(children, key=lambda child: child.create_time()):
        with contextlib.suppress(psutil.ZombieProcess, psutil.NoSuchProcess):
            found.append((child, child.cmdline()))
    return found


def runs(pid: int) -> bool:
    """Returns whether the process exists and has not ended; a zombie has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def apart_s(spans: Sequence[SpanRow], parts: Sequence[Sequence[int]]) -> float:
    """Returns the seconds from the earliest end of a shard to the latest start of a shard. `parts`
    lists the clients of each shard.

    The result is negative if there is a time at which all shards work.
    """
    begun = [min(span[1] for span in spans if span[5] in part) for part in parts]
    ended = [max(span[2] for span in spans if span[5] in part) for part in parts]
    return (max(begun) - min(ended)) * 1e-9
