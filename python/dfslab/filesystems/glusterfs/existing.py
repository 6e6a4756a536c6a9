"""Declares how a mount of GlusterFS is recognised, and reads which bricks store a directory."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dfslab.filesystems.glusterfs.volume_info import discover
from dfslab.spec.systems.mounts import KnownMount, StorageLayout

MOUNT_TYPES = ("fuse.glusterfs",)
ATTRIBUTES = ("trusted.glusterfs.pathinfo",)
_BRICK = re.compile(r"<POSIX\([^)]*\):([^:>]+):([^>]+)>")


def understood(attributes: Mapping[str, str]) -> StorageLayout:
    """Returns the servers and bricks that a directory's extended attributes name.

    The fact `copies` is the number of bricks in each replica set or disperse set. `copies` is 1 if
    there are no such sets. The result is empty if the attributes name no bricks.
    """
    path = attributes.get("trusted.glusterfs.pathinfo", "")
    bricks = _BRICK.findall(path)
    if not bricks:
        return StorageLayout()
    sets = path.count("<REPLICATE:") + path.count("<EC:")
    return StorageLayout(
        servers=sorted({host for host, _ in bricks}),
        facts={
            "bricks": [f"{host}:{folder}" for host, folder in bricks],
            "copies": len(bricks) // sets if sets else 1,
        },
    )


EXISTING = KnownMount(
    mount_types=MOUNT_TYPES, attributes=ATTRIBUTES, understood=understood, discover=discover
)
