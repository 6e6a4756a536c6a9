"""What beds hold of this machine, listed kind by kind, so that nothing of one is ever left over.

What belongs to testbeds of another state folder is not listed: those may come and go meanwhile.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dfslab.beds import limits, state
from dfslab.beds.process import MARK

_PROC = Path("/proc")
# Only what stays is waited for as long; a busy machine takes seconds to clear a testbed away.
SETTLE_S = 60.0
# Where daemons write when they are not told otherwise, and what such places are called there.
_SYSTEM_PLACES = ("/run", "/var/log", "/var/lib")
_SYSTEMS = (
    "gluster",
    "ceph",
    "mfs",
    "moosefs",
    "ganesha",
    "nfs",
    "redis",
    "juicefs",
    "alluxio",
    "hadoop",
    "hsperfdata",
)
_SHARED_PLACES = ("/tmp/fuse_fd_comm*", "/tmp/hsperfdata*/*", "/dev/shm/dfslab*")
# What folders in memory and control groups are called, before the testbed's identifier.
_NAMED = "dfslab-"
Holdings = dict[str, frozenset[str]]


def holdings() -> Holdings:
    """Namespaces, mounts, loops, processes, limits, folders and files of daemons, as they are."""
    marks = _marks()
    return {
        "namespaces": _namespaces(marks),
        "mounts": frozenset(
            line
            for line in _lines(_PROC / "self/mounts")
            if not _in_anothers_folder(Path(line.split()[1]))
        ),
        "loops": frozenset(
            f"{entry.name} {image}"
            for entry in Path("/sys/block").glob("loop*")
            if (image := _image(entry)) and not _in_anothers_folder(Path(image))
        ),
        "processes": _processes(marks),
        "control groups": frozenset(
            str(path) for path in limits.everybody() if not _anothers_name(path.name)
        ),
        "disk limits": frozenset(
            f"{path.name} {line}"
            for path in sorted(limits.ROOT.glob("blkio/blkio.throttle.*_device"))
            for line in _lines(path)
            if not _anothers_device(line.split()[0])
        ),
        "network adapters": frozenset(os.listdir("/sys/class/net")),
        "beds": frozenset(str(folder.path) for folder in state.folders()),
        "files": _files(marks),
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


def _marks() -> dict[int, str]:
    """Process -> the identifier of its testbed; "" where it has none.

    Some daemons write over the environment they were started with: theirs is their parent's.
    """
    parents: dict[int, int] = {}
    marks: dict[int, str] = {}
    for entry in _PROC.glob("[0-9]*"):
        # A process may end while it is looked at.
        with suppress(OSError, IndexError, ValueError):
            pid = int(entry.name)
            # The name before it may hold blanks and parentheses itself.
            parents[pid] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            marks[pid] = _mark((entry / "environ").read_bytes())
    return {pid: _inherited(pid, marks, parents) for pid in parents}


def _mark(environment: bytes) -> str:
    wanted = f"{MARK}=".encode()
    found = [word for word in environment.split(b"\0") if word.startswith(wanted)]
    return found[-1].removeprefix(wanted).decode(errors="replace") if found else ""


def _inherited(pid: int, marks: Mapping[int, str], parents: Mapping[int, int]) -> str:
    seen: set[int] = set()
    while pid in parents and pid not in seen:
        if mark := marks.get(pid):
            return mark
        seen.add(pid)
        pid = parents[pid]
    return ""


def _namespaces(marks: Mapping[int, str]) -> frozenset[str]:
    """Every network, mount and process namespace that some process is in."""
    everybodys, anothers = set(), set()
    for pid, mark in marks.items():
        for kind in ("net", "mnt", "pid"):
            with suppress(OSError):
                name = os.readlink(_PROC / str(pid) / "ns" / kind)
                everybodys.add(name)
                if _anothers(mark):
                    anothers.add(name)
    # Daemons without hosts are in the namespaces that this process is in, too: no testbed's own.
    shared = {os.readlink(path) for path in (_PROC / "self/ns").iterdir()}
    return frozenset(everybodys - (anothers - shared))


def _files(marks: Mapping[int, str]) -> frozenset[str]:
    """Every file in the places of this machine that file systems' daemons use by themselves."""
    found = {
        str(path)
        for pattern in _SHARED_PLACES
        for path in Path("/").glob(pattern[1:])
        if not (path.parent == state.MEMORY and _anothers_name(path.name))
        and not _anothers_running(path.name, marks)
    }
    found |= {str(path) for path in Path(tempfile.gettempdir()).glob("dfslab*")}
    for place in map(Path, _SYSTEM_PLACES):
        for top in place.glob("*"):
            if top.name.startswith(_SYSTEMS):
                found |= {str(top), *map(str, top.rglob("*"))}
    return frozenset(found)


def _processes(marks: Mapping[int, str]) -> frozenset[str]:
    """Processes that carry the mark of some bed."""
    return frozenset(
        f"{pid} {_text(_PROC / str(pid) / 'comm')}"
        for pid, mark in marks.items()
        if mark and not _anothers(mark)
    )


def _anothers(identifier: str) -> bool:
    """Whether that is a testbed of another state folder."""
    return bool(identifier) and not identifier.startswith(state.own_prefix())


def _anothers_name(name: str) -> bool:
    """Whether a control group or a folder in memory is named after a testbed of another folder."""
    return name.startswith(_NAMED) and _anothers(name.removeprefix(_NAMED))


def _anothers_running(name: str, marks: Mapping[int, str]) -> bool:
    """Whether a file is named after a running process that is of no testbed of this folder."""
    digits = re.search(r"\d+$", name)
    pid = int(digits[0]) if digits else -1
    return pid in marks and (not marks[pid] or _anothers(marks[pid]))


def _in_anothers_folder(path: Path) -> bool:
    """Whether a path lies in a folder with the marker of a testbed of another state folder."""
    return any(_anothers(_text(folder / state.MARKER)) for folder in path.parents)


def _anothers_device(device: str) -> bool:
    """Whether a loop device ("major:minor") now holds the disk of another folder's testbed."""
    image = _image(Path("/sys/dev/block") / device)
    return bool(image) and _in_anothers_folder(Path(image))


def _image(device: Path) -> str:
    """The file behind a loop device, by the device's folder; "" for none."""
    return _text(device / "loop/backing_file")


def _lines(path: Path) -> frozenset[str]:
    return frozenset(line for line in _text(path).splitlines() if line)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
