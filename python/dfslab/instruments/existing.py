"""What a file system that is already there says of itself: its kind, its servers, its layout.

Only looks: the table of mounts, the size, and extended attributes of one directory.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from dfslab import discover
from dfslab.spec.model import InputError

MOUNTS = Path("/proc/self/mountinfo")
# Type of a mount -> described file system.
KINDS = {
    "fuse.glusterfs": "glusterfs", "fuse.ceph-fuse": "cephfs", "ceph": "cephfs",
    "fuse.mfs": "moosefs", "fuse.juicefs": "juicefs", "fuse.alluxio-fuse": "alluxio",
    "nfs": "nfs", "nfs4": "nfs", "lustre": "lustre", "beegfs": "beegfs", "pvfs2": "pvfs",
    "zfs": "zfs", "ext4": "local", "xfs": "local", "btrfs": "local", "tmpfs": "local",
}  # fmt: skip
# Extended attributes by which a directory tells where its files go.
ATTRIBUTES = {
    "glusterfs": ("trusted.glusterfs.pathinfo",),
    "cephfs": ("ceph.dir.layout", "ceph.dir.rentries"),
}
_BRICK = re.compile(r"<POSIX\([^)]*\):([^:>]+):([^>]+)>")
_LAYOUT = re.compile(r"(\w+)=(\S+)")


def existing(directory: Path) -> dict[str, Any]:
    """Kind, source, servers, size and layout of what is mounted there.

    InputError when there is no such directory.
    """
    if not directory.is_dir():
        raise InputError("mount", str(directory), "must be an existing directory")
    kind, source, point = _mount(directory.resolve())
    size = os.statvfs(directory)
    described = KINDS.get(kind, "")
    found: dict[str, Any] = {
        "mounted_at": point, "type": kind, "source": source,
        "file_system": described if described in discover.members("filesystems", True) else "",
        "size_bytes": size.f_blocks * size.f_frsize, "free_bytes": size.f_bavail * size.f_frsize,
        "servers": _servers(source),
    }  # fmt: skip
    for name in ATTRIBUTES.get(described, ()):
        try:
            found[name] = os.getxattr(directory, name).decode(errors="replace").rstrip("\0")
        except OSError:
            continue
    return {**found, **_understood(found)}


def _mount(directory: Path) -> tuple[str, str, str]:
    """Type, source and point of the innermost mount that the directory is in."""
    best = ("", "", "")
    for line in MOUNTS.read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        point = _decoded(fields.split()[4])
        kind, source = (_decoded(field) for field in rest.split()[:2])
        # MooseFS says who it is in its source only.
        kind = "fuse.mfs" if kind == "fuse" and source.startswith("mfs#") else kind
        inside = directory == Path(point) or Path(point) in directory.parents
        if inside and len(point) >= len(best[2]):
            best = (kind, source, point)
    return best


def _decoded(field: str) -> str:
    """A field of the table: the kernel writes blanks and `#` as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal.group(1), 8)), field)


def _servers(source: str) -> list[str]:
    """The addresses that a mount's source names."""
    host = re.match(r"^(?:mfs#)?((?:[\w.-]+(?::\d+)?,?)+):", source)
    return host.group(1).split(",") if host else []


def _understood(found: dict[str, Any]) -> dict[str, Any]:
    """What the attributes mean in the description's words."""
    bricks = _BRICK.findall(found.get("trusted.glusterfs.pathinfo", ""))
    layout = dict(_LAYOUT.findall(found.get("ceph.dir.layout", "")))
    told: dict[str, Any] = {}
    if bricks:
        told["servers"] = sorted({host for host, _ in bricks})
        told["bricks"] = [f"{host}:{path}" for host, path in bricks]
        text = found["trusted.glusterfs.pathinfo"]
        sets = text.count("<REPLICATE:") + text.count("<EC:")
        told["copies"] = len(bricks) // sets if sets else 1
    if layout:
        told["layout"] = layout
    return told
