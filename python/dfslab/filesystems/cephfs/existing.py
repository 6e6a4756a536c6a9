"""Declares how a mount of CephFS is recognised, and reads its layout."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from pydantic import ValidationError

from dfslab.documents.document import Document
from dfslab.spec.systems.discovery import Command, SystemDiscovery
from dfslab.spec.systems.mounts import ExistingFileSystem, KnownMount, StorageLayout

MOUNT_TYPES = ("fuse.ceph-fuse", "ceph")
ATTRIBUTES = ("ceph.dir.layout", "ceph.dir.rentries")
Reply = TypeVar("Reply", bound=Document)
_PAIR = re.compile(r"(\w+)=(\S+)")


def understood(attributes: Mapping[str, str]) -> StorageLayout:
    """Returns the layout of a directory: stripe unit, stripe count, object size and pool. The
    layout is read from the extended attributes of the directory. The layout is empty if the
    directory has no such attributes."""
    layout = dict(_PAIR.findall(attributes.get("ceph.dir.layout", "")))
    return StorageLayout(facts={"layout": layout} if layout else {})


class PoolSize(Document):
    """The reply to `ceph osd pool get POOL size`."""

    size: int = 0


class StoreCounts(Document):
    """The reply to `ceph osd stat`: the number of OSDs that exist, and the number of OSDs that
    are up."""

    num_osds: int = 0
    num_up_osds: int = 0


def discover(found: ExistingFileSystem, command: Command) -> SystemDiscovery:
    """Returns what can be found out about a mounted CephFS. `ceph` commands report the number of
    running OSDs and the number of copies. The layout of the directory has the striping and the name
    of the pool. A value that is not reported is left out."""
    layout = dict(_PAIR.findall(str(found.facts.get("ceph.dir.layout", ""))))
    keys = ("stripe_unit", "stripe_count", "object_size")
    settings = {key: float(layout[key]) for key in keys if layout.get(key, "").isdecimal()}
    instances, sources = {}, ["the directory's layout"] if settings else []
    stores = _read(command(["ceph", "osd", "stat", "-f", "json"]), StoreCounts)
    if stores.num_up_osds:
        instances["osd"] = stores.num_up_osds
        sources.append("ceph osd stat")
    pool = layout.get("pool", "")
    if pool:
        size = _read(command(["ceph", "osd", "pool", "get", pool, "size", "-f", "json"]), PoolSize)
        if size.size:
            settings["copies"] = float(size.size)
            sources.append("ceph osd pool get")
    return SystemDiscovery(instances=instances, settings=settings, sources=tuple(sources))


def _read(text: str, kind: type[Reply]) -> Reply:
    """Returns the reply of a command as an object of `kind`. If `text` is not such a reply, all
    fields of the object have their defaults."""
    try:
        return kind.model_validate_json(text)
    except ValidationError:
        return kind()


EXISTING = KnownMount(
    mount_types=MOUNT_TYPES, attributes=ATTRIBUTES, understood=understood, discover=discover
)
