"""How GlusterFS is known where it is mounted, and what the path to a directory's bricks says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dfslab.spec.mounts import KnownMount

MOUNT_TYPES = ("fuse.glusterfs",)
ATTRIBUTES = ("trusted.glusterfs.pathinfo",)
_BRICK = re.compile(r"<POSIX\([^)]*\):([^:>]+):([^>]+)>")


def understood(attributes: Mapping[str, str]) -> dict[str, Any]:
    """Servers, bricks and how many of them hold each name, where the volume says it."""
    path = attributes.get("trusted.glusterfs.pathinfo", "")
    bricks = _BRICK.findall(path)
    if not bricks:
        return {}
    sets = path.count("<REPLICATE:") + path.count("<EC:")
    return {
        "servers": sorted({host for host, _ in bricks}),
        "bricks": [f"{host}:{folder}" for host, folder in bricks],
        "copies": len(bricks) // sets if sets else 1,
    }


EXISTING = KnownMount(mount_types=MOUNT_TYPES, attributes=ATTRIBUTES, understood=understood)
