"""Lists all resources that testbeds use on this machine, by kind, so that leftovers can be
detected.

Each testbed has a record in a state folder. Other processes may use other state folders, and their
testbeds may start and end at any time. The list therefore leaves out the resources of testbeds
whose records are in other state folders.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dfslab.spec.clock import REAL, Clock
from dfslab.testbeds import state
from dfslab.testbeds.hosts import control_groups
from dfslab.testbeds.hosts.process import MARK

_PROC = Path("/proc")
# Largest number of seconds to wait until resources are removed. The removal of a testbed takes
# seconds on a busy machine, so the limit is reached only if a resource is never removed.
SETTLE_S = 60.0
# _SYSTEM_PLACES are the default folders in which daemons keep data. _SYSTEMS are the first letters
# of the names that daemons' files have in these folders.
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
# Prefix of the names of in-memory folders and control groups. The testbed's id follows the prefix.
_NAMED = "dfslab-"
Holdings = dict[str, frozenset[str]]


def holdings() -> Holdings:
    """Returns the current resources of this machine that may belong to testbeds, by kind. The kinds
    are namespaces, mounts, loop devices, processes, control groups, disk limits, network adapters,
    folders of testbeds, and daemon files."""
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
            str(path) for path in control_groups.everybody() if not _anothers_name(path.name)
        ),
        "disk limits": frozenset(
            f"{path.name} {line}"
            for path in sorted(control_groups.ROOT.glob("blkio/blkio.throttle.*_device"))
            for line in _lines(path)
            if not _anothers_device(line.split()[0])
        ),
        "network adapters": frozenset(os.listdir("/sys/class/net")),
        "beds": frozenset(str(folder.path) for folder in state.folders()),
        "files": _files(marks),
    }


def left_over(before: Holdings, after: Holdings) -> list[str]:
    """Returns one line of text for every resource that is in `after` but not in `before`."""
    return [f"{kind}: {thing}" for kind in before for thing in sorted(after[kind] - before[kind])]


def settled(before: Holdings, limit_s: float = SETTLE_S, clock: Clock = REAL) -> list[str]:
    """Returns the resources that exist now but are not in `before`, one line of text for each.

    Waits up to `limit_s` seconds until the kernel has cleaned up ended processes.
    """
    deadline = clock.monotonic_s() + limit_s
    while (left := left_over(before, holdings())) and clock.monotonic_s() < deadline:
        clock.sleep(0.1)
    return left


def _marks() -> dict[int, str]:
    """Returns a dictionary from the PID of every process to the id of the testbed to which the
    process belongs; "" if it belongs to no testbed.

    The id is read from the environment with which the process was started. Some daemons overwrite
    this environment; they get the id of their parent process.
    """
    parents: dict[int, int] = {}
    marks: dict[int, str] = {}
    for entry in _PROC.glob("[0-9]*"):
        # A process may end while it is inspected, so errors are ignored.
        with suppress(OSError, IndexError, ValueError):
            pid = int(entry.name)
            # The command name precedes this field and may contain blanks and parentheses.
            parents[pid] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            marks[pid] = _mark((entry / "environ").read_bytes())
    return {pid: _inherited(pid, marks, parents) for pid in parents}


def _mark(environment: bytes) -> str:
    wanted = f"{MARK}=".encode()
    found = [word for word in environment.split(b"\0") if word.startswith(wanted)]
    return found[-1].removeprefix(wanted).decode(errors="replace") if found else ""


def _inherited(pid: int, marks: Mapping[int, str], parents: Mapping[int, int]) -> str:
    visited: set[int] = set()
    while pid in parents and pid not in visited:
        if mark := marks.get(pid):
            return mark
        visited.add(pid)
        pid = parents[pid]
    return ""


def _namespaces(marks: Mapping[int, str]) -> frozenset[str]:
    """Returns every network, mount and process namespace on this machine, except those of testbeds
    of another state folder."""
    everybodys, anothers = set(), set()
    for pid, mark in marks.items():
        for kind in ("net", "mnt", "pid"):
            with suppress(OSError):
                name = os.readlink(_PROC / str(pid) / "ns" / kind)
                everybodys.add(name)
                if _anothers(mark):
                    anothers.add(name)
    # The daemons of a testbed without emulated hosts run in the namespaces of this process. These
    # namespaces are therefore listed, although a testbed of another state folder may use them too.
    shared = {os.readlink(path) for path in (_PROC / "self/ns").iterdir()}
    return frozenset(everybodys - (anothers - shared))


def _files(marks: Mapping[int, str]) -> frozenset[str]:
    """Returns every file in the default data folders of daemons, and dfslab's temporary files.

    Files that belong to testbeds of another state folder are excluded.
    """
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
    return frozenset(
        f"{pid} {_text(_PROC / str(pid) / 'comm')}"
        for pid, mark in marks.items()
        if mark and not _anothers(mark)
    )


def _anothers(identifier: str) -> bool:
    """Returns whether the testbed with this id has its record in another state folder than the one
    that this process uses. Returns false for an empty id."""
    return bool(identifier) and not identifier.startswith(state.own_prefix())


def _anothers_name(name: str) -> bool:
    """Returns whether the name of a control group or in-memory folder has the id of a testbed of
    another state folder."""
    return name.startswith(_NAMED) and _anothers(name.removeprefix(_NAMED))


def _anothers_running(name: str, marks: Mapping[int, str]) -> bool:
    """Returns whether a file name ends with the PID of a process that is not of a testbed in this
    process's state folder: the process belongs to no testbed, or its testbed has its record in
    another state folder."""
    digits = re.search(r"\d+$", name)
    pid = int(digits[0]) if digits else -1
    return pid in marks and (not marks[pid] or _anothers(marks[pid]))


def _in_anothers_folder(path: Path) -> bool:
    """Returns whether a path is in a folder whose marker has the id of a testbed of another state
    folder."""
    return any(_anothers(_text(folder / state.MARKER)) for folder in path.parents)


def _anothers_device(device: str) -> bool:
    """Returns whether the loop device "major:minor" is a disk of a testbed that has its record in
    another state folder than the one that this process uses."""
    image = _image(Path("/sys/dev/block") / device)
    return bool(image) and _in_anothers_folder(Path(image))


def _image(device: Path) -> str:
    """Returns the path of the file that backs a loop device. Returns "" if the device has none.

    `device`: the device's folder in sysfs.
    """
    return _text(device / "loop/backing_file")


def _lines(path: Path) -> frozenset[str]:
    return frozenset(line for line in _text(path).splitlines() if line)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
