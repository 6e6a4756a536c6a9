"""What beds hold of this machine, listed kind by kind, so that nothing of one is ever left over."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from dfslab.beds import limits, state
from dfslab.beds.process import MARK

_PROC = Path("/proc")
SETTLE_S = 5.0
# Where daemons write when they are not told otherwise, and what such places are called there.
_SYSTEM_PLACES = ("/run", "/var/log", "/var/lib")
_SYSTEMS = ("gluster", "ceph", "mfs", "moosefs", "ganesha", "nfs", "redis", "juicefs", "alluxio",
            "hadoop", "hsperfdata")  # fmt: skip
_SHARED_PLACES = ("/tmp/dfslab*", "/tmp/fuse_fd_comm*", "/tmp/hsperfdata*/*", "/dev/shm/dfslab*")
Holdings = dict[str, frozenset[str]]


def holdings() -> Holdings:
    """Namespaces, mounts, loops, processes, limits, folders and files of daemons, as they are."""
    return {
        "namespaces": _namespaces(),
        "mounts": _lines(_PROC / "self/mounts"),
        "loops": frozenset(
            f"{entry.name} {image}"
            for entry in Path("/sys/block").glob("loop*")
            if (image := _text(entry / "loop/backing_file"))
        ),
        "processes": _processes(),
        "control groups": frozenset(map(str, limits.everybody())),
        "disk limits": frozenset(
            f"{path.name} {line}"
            for path in sorted(limits.ROOT.glob("blkio/blkio.throttle.*_device"))
            for line in _lines(path)
        ),
        "network adapters": frozenset(os.listdir("/sys/class/net")),
        "beds": frozenset(str(folder.path) for folder in state.folders()),
        "files": _files(),
    }


def left_over(before: Holdings, after: Holdings) -> list[str]:
    """One line for everything that is there now and was not before."""
    return [f"{kind}: {thing}" for kind in before for thing in sorted(after[kind] - before[kind])]


def settled(before: Holdings, limit_s: float = SETTLE_S) -> list[str]:
    """What is left over once the kernel has cleared away what just ended."""
    deadline = time.monotonic() + limit_s
    while (left := left_over(before, holdings())) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def _namespaces() -> frozenset[str]:
    """Every network, mount and process namespace that some process is in."""
    found = set()
    for entry in _PROC.glob("[0-9]*"):
        for kind in ("net", "mnt", "pid"):
            # A process may end while it is looked at.
            with suppress(OSError):
                found.add(os.readlink(entry / "ns" / kind))
    return frozenset(found)


def _files() -> frozenset[str]:
    """Every file in the places of this machine that file systems' daemons use by themselves."""
    found = {str(path) for pattern in _SHARED_PLACES for path in Path("/").glob(pattern[1:])}
    for place in map(Path, _SYSTEM_PLACES):
        for top in place.glob("*"):
            if top.name.startswith(_SYSTEMS):
                found |= {str(top), *map(str, top.rglob("*"))}
    return frozenset(found)


def _processes() -> frozenset[str]:
    """Processes that carry the mark of some bed."""
    found = set()
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            for word in (entry / "environ").read_bytes().split(b"\0"):
                if word.startswith(f"{MARK}=".encode()):
                    found.add(f"{entry.name} {(entry / 'comm').read_text().strip()}")
    return frozenset(found)


def _lines(path: Path) -> frozenset[str]:
    return frozenset(line for line in _text(path).splitlines() if line)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
