"""Declares how a mount of CephFS is recognised, and reads its layout."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dfslab.spec.systems.mounts import KnownMount, StorageLayout

MOUNT_TYPES = ("fuse.ceph-fuse", "ceph")
ATTRIBUTES = ("ceph.dir.layout", "ceph.dir.rentries")
_PAIR = re.compile(r"(\w+)=(\S+)")


def understood(attributes: Mapping[str, str]) -> StorageLayout:
    """Returns the layout of a directory (stripe unit, stripe count, object size and pool), which is
    in the directory's extended attributes. The result is empty if no layout is set."""
    layout = dict(_PAIR.findall(attributes.get("ceph.dir.layout", "")))
    return StorageLayout(facts={"layout": layout} if layout else {})


EXISTING = KnownMount(mount_types=MOUNT_TYPES, attributes=ATTRIBUTES, understood=understood)
