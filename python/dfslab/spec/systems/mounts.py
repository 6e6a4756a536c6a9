"""The types by which dfslab recognises a file system from its mount, or from a server's answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dfslab.spec.systems.discovery import Command, SystemDiscovery

Fact = int | str | list[str] | list[int] | dict[str, str]


@dataclass(frozen=True, kw_only=True)
class StorageLayout:
    """How a directory is stored: the names of its servers (None: not reported), and other facts,
    such as the stripe size, by name.
    """

    servers: list[str] | None = None
    facts: Mapping[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ExistingFileSystem:
    """A file system that dfslab did not start: its kind, where it is, its size in bytes and its
    layout.

    file_system: the name of its description; "" where none is known. type, source: those of the
    mount. mounted_at: its mount point; "" where it was reached by a uri. facts: attributes and
    layout. options: the options of the mount, separated by commas.
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
        """Returns all fields as flat JSON data."""
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
    """The default of `KnownMount.understood`: extended attributes give no layout."""
    return StorageLayout()


def nothing_discovered(found: ExistingFileSystem, command: Command) -> SystemDiscovery:
    """The default of `KnownMount.discover`: the file system reports nothing of its deployment."""
    return SystemDiscovery()


@dataclass(frozen=True, kw_only=True)
class KnownMount:
    """What the `existing.py` of a file system's folder declares, as `EXISTING`.

    mount_types, sources: file system types, and prefixes of sources, in the table of mounts.
    attributes: extended attributes of a directory that describe its layout.
    understood(attributes): servers and layout read from these attributes.
    schemes: schemes of uris that `ask(uri, web_address)` answers; InputError without an answer.
    discover(found, command): the deployment that the file system reports, by commands that only
        read.
    """

    mount_types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    understood: Callable[[Mapping[str, str]], StorageLayout] = nothing_understood
    schemes: tuple[str, ...] = ()
    ask: Callable[[str, str], ExistingFileSystem] | None = None
    discover: Callable[[ExistingFileSystem, Command], SystemDiscovery] = nothing_discovered

    def matches(self, kind: str, source: str) -> bool:
        """Whether a mount of type `kind` from `source` is a mount of this file system."""
        return kind in self.mount_types or any(source.startswith(one) for one in self.sources)
