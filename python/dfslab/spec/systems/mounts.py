"""The types by which dfslab recognises a file system from its mount, or from a server's answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dfslab.spec.systems.discovery import Command, SystemDiscovery

Fact = int | str | list[str] | list[int] | dict[str, str]


@dataclass(frozen=True, kw_only=True)
class StorageLayout:
    """How a directory is stored. The layout has the names of the servers that store the directory
    (None: not reported), and other facts, such as the stripe size, by name."""

    servers: list[str] | None = None
    facts: Mapping[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ExistingFileSystem:
    """A file system that dfslab did not start: its kind, its place, its size in bytes and its
    layout.

    `file_system` is the name of dfslab's description of this file system; "" if there is no
    description. `type`, `source` and `options` are the type, source and options of the mount;
    options are separated by commas. `servers` are the names of the file system's servers.
    `mounted_at` is the mount point; "" if the file system was reached by a uri. `version` is the
    version that the servers report; "" if unknown. `facts` are attributes and the layout.
    """

    file_system: str
    type: str
    source: str
    servers: list[str]
    size_bytes: int
    free_bytes: int
    mounted_at: str = ""
    version: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    options: str = ""

    def document(self) -> dict[str, Fact]:
        """Returns the fields, except the mount options, as flat JSON data. A mounted file system
        has a mount point in the data, but no version. A file system that was reached by a uri has a
        version, but no mount point."""
        if self.mounted_at:
            return {
                "mounted_at": self.mounted_at,
                "type": self.type,
                "source": self.source,
                "file_system": self.file_system,
                "size_bytes": self.size_bytes,
                "free_bytes": self.free_bytes,
                "servers": self.servers,
                **self.facts,
            }
        return {
            "file_system": self.file_system,
            "type": self.type,
            "source": self.source,
            "version": self.version,
            "servers": self.servers,
            "size_bytes": self.size_bytes,
            "free_bytes": self.free_bytes,
            **self.facts,
        }


def nothing_understood(attributes: Mapping[str, str]) -> StorageLayout:
    """Returns an empty layout. This is the default `understood` of `KnownMount`, for file systems
    whose extended attributes do not describe a layout."""
    return StorageLayout()


def nothing_discovered(found: ExistingFileSystem, command: Command) -> SystemDiscovery:
    """Returns an empty deployment. This is the default `discover` of `KnownMount`, for file systems
    that report nothing about their deployment."""
    return SystemDiscovery()


@dataclass(frozen=True, kw_only=True)
class KnownMount:
    """What the `existing.py` of a file system's folder declares, as `EXISTING`.

    mount_types: types in the table of mounts that only mounts of this file system have.
    sources: beginnings of the sources that mounts of this file system have in that table.
    attributes: extended attributes of a directory that describe its layout.
    understood(attributes): returns the servers and the layout that these attributes describe.
    schemes: schemes of the uris of this file system that `ask` can query.
    ask(uri, web_address): returns the running file system at a uri; raises InputError without an
        answer.
    discover(found, command): returns the deployment that the file system `found` reports. It runs
        commands by `command`, which only read.
    """

    mount_types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    understood: Callable[[Mapping[str, str]], StorageLayout] = nothing_understood
    schemes: tuple[str, ...] = ()
    ask: Callable[[str, str], ExistingFileSystem] | None = None
    discover: Callable[[ExistingFileSystem, Command], SystemDiscovery] = nothing_discovered

    def matches(self, kind: str, source: str) -> bool:
        """Returns whether a mount of type `kind` from `source` is a mount of this file system."""
        return kind in self.mount_types or any(source.startswith(one) for one in self.sources)
