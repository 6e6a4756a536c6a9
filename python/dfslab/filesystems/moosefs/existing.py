"""Recognises a mount of MooseFS by its type (`fuse.mfs`) or, because the type may be plain `fuse`,
by its source. Reads chunkservers and copies from the tools of MooseFS."""

from __future__ import annotations

import re

from dfslab.spec.systems.discovery import Command, SystemDiscovery
from dfslab.spec.systems.mounts import ExistingFileSystem, KnownMount

MOUNT_TYPES = ("fuse.mfs",)
SOURCES = ("mfs#",)
MASTER_PORT = "9421"
_GOAL = re.compile(r": (\d+)\s*$")


def discover(found: ExistingFileSystem, command: Command) -> SystemDiscovery:
    """Returns the master, the chunkservers and the goal (number of copies). The source of the mount
    names the master, `mfscli` lists the chunkservers, and `mfsgetgoal` shows the goal. The number
    of chunkservers or the goal is left out if its tool does not report it."""
    host, _, port = found.source.removeprefix("mfs#").partition(":")
    goal = of_goal(command(["mfsgetgoal", found.mounted_at]))
    servers = of_chunkservers(command(["mfscli", "-H", host, "-ns", ";", "-SCS"]))
    tools = (("mfsgetgoal", bool(goal)), ("mfscli", bool(servers)))
    return SystemDiscovery(
        instances={"master": 1, **({"chunkserver": len(servers)} if servers else {})},
        settings={"goal": float(goal)} if goal else {},
        addresses={"master": (f"{host}:{port or MASTER_PORT}",), "chunkserver": servers},
        sources=tuple(name for name, answered in tools if answered),
    )


def of_goal(text: str) -> int:
    """Returns the number of copies that the output of `mfsgetgoal DIRECTORY` states; 0 if it states
    none."""
    found = _GOAL.search(text.strip())
    return int(found[1]) if found else 0


def of_chunkservers(text: str) -> tuple[str, ...]:
    """Returns the addresses of the chunkservers in the table that `mfscli -ns ";" -SCS` prints."""
    rows = [line.split(";") for line in text.splitlines() if line.startswith("chunk servers")]
    return tuple(f"{row[1]}:{row[2]}" for row in rows if len(row) > 2)


EXISTING = KnownMount(mount_types=MOUNT_TYPES, sources=SOURCES, discover=discover)
