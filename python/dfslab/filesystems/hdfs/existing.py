"""Reads the state of a running HDFS from its NameNode's web interface, without changing it."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import TypeVar

from pydantic import Field

from dfslab.documents.document import Document
from dfslab.filesystems.hdfs.daemon_location import Attributes, NameNodeInfo, NameSystem, only
from dfslab.filesystems.hdfs.facts import address
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.discovery import Command, SystemDiscovery
from dfslab.spec.systems.mounts import ExistingFileSystem, Fact, KnownMount

SCHEMES = ("hdfs",)
WEB_PORT = 9870
ANSWER_LIMIT_S = 60.0
# Largest number of files of the directory whose replication and block size are read.
LOOKED_AT = 100
# Proxy settings are ignored, because the NameNode is in the local network.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class FileStatus(Document):
    """A file or directory, as the NameNode lists it."""

    type: str
    replication: int
    block_size_bytes: int = Field(alias="blockSize")


class FileStatuses(Document):
    """The members of a directory, in the form of WebHDFS."""

    listed: list[FileStatus] = Field(alias="FileStatus")


class DirectoryListing(Document):
    """The reply to the WebHDFS request LISTSTATUS."""

    statuses: FileStatuses = Field(alias="FileStatuses")


class ContentSummary(Document):
    """The number of files below a directory, and their bytes (replicas counted once)."""

    files: int = Field(alias="fileCount")
    length_bytes: int = Field(alias="length")


class ContentSummaryAnswer(Document):
    """The reply to the WebHDFS request GETCONTENTSUMMARY."""

    summary: ContentSummary = Field(alias="ContentSummary")


Answer = TypeVar("Answer", bound=Document)
Found = TypeVar("Found")


def ask(uri: str, web_address: str = "") -> ExistingFileSystem:
    """Returns the state of HDFS that the NameNode at `uri` reports: servers, sizes, and the layout
    of the files in the URI's directory.

    `web_address` is HOST:PORT of the NameNode's web interface, by default its usual port. Raises
    InputError when the URI names no host, when nothing answers there, or when the directory does
    not exist.
    """
    parts = urllib.parse.urlsplit(uri)
    if not parts.hostname:
        raise InputError("mount", uri, "must name a NameNode, like hdfs://HOST:PORT/DIRECTORY")
    door = f"http://{web_address or f'{parts.hostname}:{WEB_PORT}'}"
    namenode, state = _bean(door, NameNodeInfo), _bean(door, NameSystem)
    directory = _directory(door, parts.path or "/")
    return ExistingFileSystem(
        file_system="hdfs",
        type="hdfs",
        source=uri,
        version=namenode.version,
        servers=sorted(node.address or name for name, node in namenode.live_nodes.items()),
        size_bytes=state.size_bytes,
        free_bytes=state.free_bytes,
        facts={"files": state.files, "blocks": state.blocks, **directory},
    )


def _directory(door: str, path: str) -> dict[str, Fact]:
    """Returns facts about the directory `path`.

    Two facts are the number of files below the directory and their bytes. The other facts are the
    replications and block sizes of the files in the directory, of which at most LOOKED_AT are
    examined. `door` is the URL of the NameNode's web interface.
    """
    listed = _web(door, path, "LISTSTATUS", DirectoryListing).statuses.listed
    files = [one for one in listed if one.type == "FILE"][:LOOKED_AT]
    summary = _web(door, path, "GETCONTENTSUMMARY", ContentSummaryAnswer).summary
    return {
        "directory": path,
        "directory_files": summary.files,
        "directory_bytes": summary.length_bytes,
        "replication_seen": sorted({one.replication for one in files}),
        "block_size_bytes_seen": sorted({one.block_size_bytes for one in files}),
    }


def _bean(door: str, kind: type[Attributes]) -> Attributes:
    url = f"{door}/jmx?qry={kind.NAME}"
    return _read(url, lambda answer: only(kind, answer)) or kind()


def _web(door: str, path: str, operation: str, kind: type[Answer]) -> Answer:
    url = f"{door}/webhdfs/v1{urllib.parse.quote(path)}?op={operation}"
    return _read(url, kind.model_validate_json)


def _read(url: str, read: Callable[[bytes], Found]) -> Found:
    try:
        with _OPENER.open(url, timeout=ANSWER_LIMIT_S) as answer:
            return read(answer.read())
    except urllib.error.HTTPError as error:
        reply = error.read().decode(errors="replace")
        reason = "no such directory" if "FileNotFound" in reply else f"{error.code} {error.reason}"
        raise InputError("mount", url, f"must be readable: {reason}") from error
    except (OSError, ValueError) as error:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        allowed = f"must be a NameNode's web address, or --web HOST:PORT names it: {cause}"
        raise InputError("mount", url, allowed) from error


def discover(found: ExistingFileSystem, command: Command) -> SystemDiscovery:
    """Returns the NameNode and the DataNodes. Replication and block size are included if they are
    the same for all files of the directory."""
    names = {"replication": "replication_seen", "block_size": "block_size_bytes_seen"}
    settings = {}
    for key, fact in names.items():
        values = found.facts.get(fact)
        if isinstance(values, list) and len(values) == 1:
            settings[key] = float(values[0])
    host, port = address(found.source)
    return SystemDiscovery(
        instances={"namenode": 1, "datanode": len(found.servers)},
        settings=settings,
        addresses={"namenode": (f"{host}:{port}",), "datanode": tuple(found.servers)},
        sources=("the NameNode",),
    )


EXISTING = KnownMount(schemes=SCHEMES, ask=ask, discover=discover)
