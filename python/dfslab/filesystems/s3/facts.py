"""Declares the roles, parameters (with sources) and access of S3."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qs, urlparse

from dfslab.spec.streams.target import OpendalTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "An object store that speaks S3"
SOURCE = "Amazon S3 API Reference (2006-03-01); Apache OpenDAL's service for it"
ROLES = (Role("client", "client", "ClientNode"), Role("store", "data", "ObjectStore"))

PARAMETERS = Parameters(
    Parameter(
        "part_size",
        "Bytes of a part of an object that is sent in several",
        "B",
        "filesystem",
        2.0**23,
        "Pp2",
        "S3: 5 MiB to 5 GiB",
        minimum=5 * 2.0**20,
    ),
    Parameter(
        "chunk_size",
        "Bytes that are handed on at a time while an object is read",
        "B",
        "derived",
        65536.0,
        "",
        "a client's buffer of a socket",
    ),
    Parameter(
        "client_call_cpu", "Client time of one request (signature, HTTP)", "s", "calibrated", 1e-4
    ),
    Parameter("lookup_cpu", "Store time of a request that only looks", "s", "calibrated", 3e-4),
    Parameter(
        "update_cpu", "Store time of a request that changes what there is", "s", "calibrated", 1e-3
    ),
    Parameter("entry_cpu", "Store time of one listed object", "s", "calibrated", 5e-6),
    Parameter("client_byte_cpu", "Client time of a byte moved", "s/B", "calibrated", 1e-9),
    Parameter(
        "store_byte_cpu", "Store time of a byte moved (copy, checksum)", "s/B", "calibrated", 2e-9
    ),
)

ACCESS_KEYS = ("uri", "directory", "shared_client")
SCHEMES = ("s3", "fs", "memory")
HTTP_PORTS = {"http": 80, "https": 443}


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns one pair for each violated rule: the name of a parameter or role, and what is
    required of it. The only rule is that there is exactly one store, because the client uses a
    single address."""
    return [] if instances["store"] == 1 else [("store", "exactly one store is described")]


def address(uri: str) -> tuple[str, int] | None:
    """Returns the (host, port) that must answer before a workload run begins. Returns None if the
    URI names no endpoint.

    Raises ValueError if the URI has no valid form; the message shows the valid forms.
    """
    parsed = urlparse(uri)
    if parsed.scheme not in SCHEMES:
        allowed = "needs s3://BUCKET/PREFIX?endpoint=URL&region=NAME, fs:///DIRECTORY or memory:///"
        raise ValueError(allowed)
    endpoint = urlparse(parse_qs(parsed.query).get("endpoint", [""])[0])
    if not endpoint.hostname:
        return None
    return endpoint.hostname, endpoint.port or HTTP_PORTS.get(endpoint.scheme, 443)


def target(endpoint: Endpoint, parameters: Mapping[str, float]) -> OpendalTarget:
    """Returns the load generator's target at `endpoint.uri`, which is called through OpenDAL."""
    return OpendalTarget(
        uri=endpoint.uri,
        root=endpoint.directory or "/",
        part_size_bytes=int(parameters["part_size"]),
        shared_client=endpoint.shared_client,
    )


FACTS = Facts(
    title=TITLE,
    source=SOURCE,
    roles=ROLES,
    parameters=PARAMETERS,
    access_keys=ACCESS_KEYS,
    check=check,
    target=target,
    address=address,
)
