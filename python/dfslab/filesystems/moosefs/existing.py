"""Recognises a mount of MooseFS, and reads its chunkservers and copies from the tools of MooseFS.

The type of the mount is `fuse.mfs`, or plain `fuse`. In the second case, the mount is recognised by
its source.
"""

from __future__ import annotations

import re

from dfslab.spec.systems.discovery import Command, SystemDiscovery
from dfslab.spec.systems.mounts import ExistingFileSystem, KnownMount

MOUNT_TYPES = ("fuse.mfs",)
SOURCES = ("mfs#",)
MASTER_PORT = "9421"
_GOAL = re.compile(r": (\d+)\s*$")


def discover(found: ExistingFileSystem, command: Command) -> SystemDiscovery:
    """Returns the master, the chunkservers and the goal (number of copies).

    The master is in the source of the mount. The chunkservers are listed by `mfscli`, and the goal
    is reported by `mfsgetgoal`. If one of these tools reports nothing, its value is left out.
    """
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
