"""What is known of a file system that is only reached through Hadoop: roles, parameters, access."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dfslab.spec.filesystem import Facts, Role
from dfslab.spec.parameters import Parameter, Parameters

TITLE = "Any file system that Hadoop's client knows"
SOURCE = "Hadoop 3.4 FileSystem API and its specification; core-default.xml"
ROLES = (Role("client", "client", "ClientNode"), Role("store", "data", "Store"))

PARAMETERS = Parameters(
    Parameter(
        "chunk_size",
        "Bytes that are handed on at a time while a file is moved",
        "B",
        "derived",
        65536.0,
        "",
        "dfs.client-write-packet-size, a client's buffer",
    ),
    Parameter(
        "client_call_cpu", "Client time of one call (Java, its protocol)", "s", "calibrated", 2e-4
    ),
    Parameter("lookup_cpu", "Store time of a call that only looks", "s", "calibrated", 2e-4),
    Parameter(
        "update_cpu", "Store time of a call that changes what there is", "s", "calibrated", 5e-4
    ),
    Parameter("entry_cpu", "Store time of one listed entry", "s", "calibrated", 5e-6),
    Parameter(
        "client_byte_cpu", "Client time of a byte moved (copy, checksum)", "s/B", "calibrated", 1e-9
    ),
    Parameter(
        "store_byte_cpu", "Store time of a byte moved (copy, checksum)", "s/B", "calibrated", 1e-9
    ),
)

ACCESS_KEYS = ("uri", "directory", "shared_client", "class_path", "properties")
# Where a client's classes are not: what Hadoop and Java say then.
MISSING = ("No FileSystem for scheme", "ClassNotFoundException", "NoClassDefFoundError")


def check(parameters: Mapping[str, Any], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """All that is behind the client is one store."""
    return [] if instances["store"] == 1 else [("store", "exactly one store is described")]


def _parts(uri: str) -> tuple[str, str]:
    """What the client is opened at, and the directory there. ValueError says what an address is."""
    opened = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]*", uri)
    path = uri[opened.end() :] if opened else ""
    if opened is None or path[:1] not in ("", "/"):
        raise ValueError("needs SCHEME://HOST:PORT/DIRECTORY, s3a://BUCKET or file:///DIRECTORY")
    return opened[0] + "/", path


def address(uri: str) -> tuple[str, int] | None:
    """Who has to answer there before a load begins; None where no one port is named."""
    opened, _ = _parts(uri)
    # Several masters are one address: whichever leads answers.
    if "," in opened:
        return None
    parsed = urlsplit(opened)
    return (parsed.hostname, parsed.port) if parsed.hostname and parsed.port else None


def target(access: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The load generator's target at `access["uri"]`, by the Java client that it has there."""
    # Only who wants Hadoop's client looks for its jars.
    from dfslab.filesystems.hdfs import java

    opened, path = _parts(access["uri"])
    told = java.client({})
    named = access.get("class_path") or os.environ.get("HADOOP_CLASSPATH", "").split(":")
    # Before Hadoop's: a client that brings libraries of its own works with those versions of them.
    own = [str(Path(part).expanduser().absolute()) for part in named if part]
    return {
        **told,
        "kind": "hadoop",
        "uri": opened,
        "root": f"{path.rstrip('/')}/{access.get('directory', '').strip('/')}".rstrip("/") or "/",
        "class_path": ":".join([str(java.QUIET), *own, told["class_path"]]),
        "properties": dict(access.get("properties") or {}),
        "shared_client": bool(access.get("shared_client")),
    }


def advice(said: str) -> str:
    """What helps against an error, as far as that is known."""
    if any(sign in said for sign in MISSING):
        return "name the client's jars in file_system.access.class_path or HADOOP_CLASSPATH"
    return ""


FACTS = Facts(
    title=TITLE,
    source=SOURCE,
    roles=ROLES,
    parameters=PARAMETERS,
    access_keys=ACCESS_KEYS,
    check=check,
    target=target,
    address=address,
    advice=advice,
)
