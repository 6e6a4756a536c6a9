"""Declares the roles, parameters and access of a file system that is accessed only through Hadoop's
client.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from dfslab.spec.streams.target import HadoopTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.parameters import Parameter, Parameters

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
# Error texts of Hadoop and Java when a client's classes are missing.
MISSING = ("No FileSystem for scheme", "ClassNotFoundException", "NoClassDefFoundError")


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns one pair for each violated rule: the name of a parameter or role, and what is
    required of it. The only rule is that there is exactly one store behind the client."""
    return [] if instances["store"] == 1 else [("store", "exactly one store is described")]


def _parts(uri: str) -> tuple[str, str]:
    """Splits a URI into the part that names the file system, such as `s3a://BUCKET/`, and the
    directory in it. Raises ValueError if `uri` has no valid form; the message shows the valid
    forms."""
    opened = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]*", uri)
    path = uri[opened.end() :] if opened else ""
    if opened is None or path[:1] not in ("", "/"):
        raise ValueError("needs SCHEME://HOST:PORT/DIRECTORY, s3a://BUCKET or file:///DIRECTORY")
    return opened[0] + "/", path


def address(uri: str) -> tuple[str, int] | None:
    """Returns the (host, port) that must answer before a workload run begins. Returns None if the
    URI names several masters, no host or no port."""
    opened, _ = _parts(uri)
    # The text names several masters, separated by commas, and only the leading master answers.
    # There is therefore no single port to wait for.
    if "," in opened:
        return None
    parsed = urlsplit(opened)
    return (parsed.hostname, parsed.port) if parsed.hostname and parsed.port else None


def target(endpoint: Endpoint, parameters: Mapping[str, float]) -> HadoopTarget:
    """Returns the load generator's target at `endpoint.uri`, which calls the Java client of that
    file system.
    """
    # Import here, so that Hadoop's jars are looked up only when this client is used.
    from dfslab.filesystems.hdfs import java

    opened, path = _parts(endpoint.uri)
    client = java.client()
    named = endpoint.class_path or os.environ.get("HADOOP_CLASSPATH", "").split(":")
    # On the class path, the jars that the user names come before Hadoop's own jars. If a library is
    # in both, the client needs the version that the user named.
    own = [str(Path(part).expanduser().absolute()) for part in named if part]
    return HadoopTarget(
        uri=opened,
        root=f"{path.rstrip('/')}/{endpoint.directory.strip('/')}".rstrip("/") or "/",
        shared_client=endpoint.shared_client,
        class_path=":".join([str(java.QUIET), *own, client.class_path]),
        configuration=client.configuration,
        properties=dict(endpoint.properties),
    )


def advice(message: str) -> str:
    """Returns advice for an error message of the client; "" when there is none."""
    if any(sign in message for sign in MISSING):
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
