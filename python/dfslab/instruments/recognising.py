"""Inspects a file system that already exists, and reports its kind, its servers and its layout.

Nothing is written. The information comes from the table of mounts, the file system's size, the
extended attributes of one directory, and answers of a server. The rules that recognise a file
system are in the file `existing.py` of its folder.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from dfslab import discover
from dfslab.spec.files.answering import is_directory
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.discovery import Command, SystemDiscovery
from dfslab.spec.systems.mounts import ExistingFileSystem, KnownMount

MOUNTS = Path("/proc/self/mountinfo")
# Both patterns match the source of a mount. _HOSTS matches the form `servers:path`. _PORTS matches
# a list of servers with ports and without a path.
_HOSTS = re.compile(r"((?:[\w.-]+(?::\d+)?,?)+):")
_PORTS = re.compile(r"(?:mfs#)?((?:[\w.-]+:\d+,?)+)$")


def existing(place: str, web_address: str = "") -> ExistingFileSystem:
    """Returns what is known of an existing file system: its kind, source, servers, size and layout.
    `place` is a directory on its mount, or the URI of its server.

    Raises InputError if `place` is neither an existing directory nor a URI at which a file system
    answers.
    """
    if "://" in place:
        return _queried(place, web_address)
    directory = Path(place)
    if not is_directory(directory):
        raise InputError("mount", place, "must be an existing directory or a uri like hdfs://HOST")
    kind, source, point, options = _mount(directory.resolve())
    size = os.statvfs(directory)
    name, known = _known(kind, source)
    attributes = _attributes(directory, known.attributes)
    layout = known.understood(attributes)
    return ExistingFileSystem(
        mounted_at=point,
        type=kind,
        source=source,
        file_system=name,
        size_bytes=size.f_blocks * size.f_frsize,
        free_bytes=size.f_bavail * size.f_frsize,
        servers=_servers(source) if layout.servers is None else layout.servers,
        facts={**attributes, **layout.facts},
        options=options,
    )


def mount_type(directory: Path) -> str:
    """Returns the type of the mount that holds a directory, such as "ext4"; "" if the directory
    does not exist on this machine or the table of mounts cannot be read."""
    try:
        return _mount(directory.resolve(strict=True))[0]
    except OSError:
        return ""


def discovered(found: ExistingFileSystem, command: Command) -> SystemDiscovery:
    """Returns what an existing file system reports about its deployment. The answer is empty if
    dfslab has no rule for this file system.

    `command` runs a command that only reads, and returns its output.
    """
    known = _described().get(found.file_system)
    return SystemDiscovery() if known is None else known.discover(found, command)


def recognised_types() -> list[str]:
    """Returns the types of mounts that dfslab can recognise."""
    return sorted({one for known in _described().values() for one in known.mount_types})


def _described() -> dict[str, KnownMount]:
    """Returns the rules that recognise mounts. Keys are names of file systems. Only file systems
    that have a file `existing.py` are included.
    """
    folders = discover.members(discover.FILE_SYSTEMS)
    files = {name: folder / "existing.py" for name, folder in folders.items()}
    return {
        name: discover.declared(path, "EXISTING", KnownMount)
        for name, path in files.items()
        if path.exists()
    }


def _queried(uri: str, web_address: str) -> ExistingFileSystem:
    scheme = uri.partition(":")[0]
    answering = {
        one: known.ask for known in _described().values() if known.ask for one in known.schemes
    }
    if scheme not in answering:
        schemes = ", ".join(f"{one}://" for one in sorted(answering))
        allowed = f"must begin with {schemes}, or be a directory in which it is mounted"
        raise InputError("mount", uri, allowed)
    return answering[scheme](uri, web_address)


def _known(kind: str, source: str) -> tuple[str, KnownMount]:
    """Returns (name of a file system, rule) for the rule that recognises a mount of type `kind`
    with the source `source`. The name is "" if no rule recognises the mount.
    """
    for name, known in _described().items():
        if known.matches(kind, source):
            return name, known
    return "", KnownMount()


def _attributes(directory: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Returns those extended attributes of the directory whose names are in `names`."""
    found = {}
    for name in names:
        try:
            found[name] = os.getxattr(directory, name).decode(errors="replace").rstrip("\0")
        except OSError:
            continue
    return found


def _mount(directory: Path) -> tuple[str, str, str, str]:
    """Returns (type, source, mount point, options) of the innermost mount that contains the
    directory.
    """
    best = ("", "", "", "")
    for line in MOUNTS.read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        point = _decoded(fields.split()[4])
        kind, source, *superblock = (_decoded(field) for field in rest.split())
        options = ",".join([fields.split()[5], *superblock])
        inside = directory == Path(point) or Path(point) in directory.parents
        if inside and len(point) >= len(best[2]):
            best = (kind, source, point, options)
    return best


def _decoded(field: str) -> str:
    """Returns a field of the mount table as plain text. The kernel writes blanks and `#` as octal
    escapes."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal.group(1), 8)), field)


def _servers(source: str) -> list[str]:
    """Returns the server addresses in the source of a mount. The list is empty if the source has
    none."""
    named = _PORTS.match(source) or _HOSTS.match(source)
    return named.group(1).split(",") if named else []
