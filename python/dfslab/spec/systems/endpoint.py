"""The address of a running file system and the settings of the client that calls it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class JavaConfiguration:
    """The configuration with which Hadoop's own client calls a testbed: the folder of the
    configuration files, and the version of Hadoop.
    """

    folder: str
    version: str


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A running file system. Fields that do not apply to it are empty.

    - `directory`: an existing directory, as a path of the mount or in the file system's own
      namespace.
    - `uri`: the address of the file system's metadata server or object store.
    - `server`, `export`: an NFS server and the path that it exports.
    - `client`: "java" for Hadoop's client, "" for the load generator's own client.
    - `shared_client`: whether all threads of a process share one client and its connections.
    - `class_path`: jars of a Hadoop client in addition to Hadoop's own.
    - `properties`: properties of Hadoop's configuration, which take precedence over its files.
    - `java`: the configuration of a testbed for Hadoop's client; None without a testbed.
    """

    directory: str = ""
    uri: str = ""
    server: str = ""
    export: str = ""
    client: Literal["", "java"] = ""
    shared_client: bool = False
    class_path: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    java: JavaConfiguration | None = None
