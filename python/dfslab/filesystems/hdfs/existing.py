"""Reads the state of a running HDFS from its NameNode's web interface, without changing it."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from dfslab.spec.model import InputError
from dfslab.spec.systems.mounts import KnownMount

SCHEMES = ("hdfs",)
WEB_PORT = 9870
ANSWER_LIMIT_S = 60.0
# The number of files of the directory whose replication and block size are read.
LOOKED_AT = 100
# Proxy settings are ignored: the NameNode is in the local network.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(uri: str, web_address: str = "") -> dict[str, Any]:
    """Servers, sizes, defaults, and the layout of the files in the URI's directory.

    `web_address` is HOST:PORT of the NameNode's web interface, by default its usual port.
    InputError when nothing answers there or the directory does not exist.
    """
    parts = urllib.parse.urlsplit(uri)
    if not parts.hostname:
        raise InputError("mount", uri, "must name a NameNode, like hdfs://HOST:PORT/DIRECTORY")
    door = f"http://{web_address or f'{parts.hostname}:{WEB_PORT}'}"
    namenode = _bean(door, "NameNodeInfo")
    state = _bean(door, "FSNamesystemState")
    live = json.loads(namenode.get("LiveNodes", "{}"))
    return {
        "file_system": "hdfs",
        "type": "hdfs",
        "source": uri,
        "version": namenode.get("SoftwareVersion", ""),
        "servers": sorted(node.get("xferaddr", name) for name, node in live.items()),
        "size_bytes": state.get("CapacityTotal", 0),
        "free_bytes": state.get("CapacityRemaining", 0),
        "files": state.get("FilesTotal", 0),
        "blocks": state.get("BlocksTotal", 0),
        **_directory(door, parts.path or "/"),
    }


def _directory(door: str, path: str) -> dict[str, Any]:
    """Defaults of the server, and the replications and block sizes found among the directory's
    files."""
    listed = _web(door, path, "LISTSTATUS")["FileStatuses"]["FileStatus"]
    files = [one for one in listed if one["type"] == "FILE"][:LOOKED_AT]
    summary = _web(door, path, "GETCONTENTSUMMARY")["ContentSummary"]
    return {
        "directory": path,
        "directory_files": summary["fileCount"],
        "directory_bytes": summary["length"],
        "replication_seen": sorted({one["replication"] for one in files}),
        "block_size_bytes_seen": sorted({one["blockSize"] for one in files}),
    }


def _bean(door: str, name: str) -> dict[str, Any]:
    beans = _read(f"{door}/jmx?qry=Hadoop:service=NameNode,name={name}")["beans"]
    return beans[0] if beans else {}


def _web(door: str, path: str, operation: str) -> dict[str, Any]:
    return _read(f"{door}/webhdfs/v1{urllib.parse.quote(path)}?op={operation}")


def _read(url: str) -> dict[str, Any]:
    try:
        with _OPENER.open(url, timeout=ANSWER_LIMIT_S) as answer:
            found: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError as error:
        reply = error.read().decode(errors="replace")
        reason = "no such directory" if "FileNotFound" in reply else f"{error.code} {error.reason}"
        raise InputError("mount", url, f"must be readable: {reason}") from error
    except (OSError, ValueError) as error:
        raise InputError("mount", url, f"must be a NameNode's web door: {error}") from error
    return found


EXISTING = KnownMount(schemes=SCHEMES, ask=ask)
