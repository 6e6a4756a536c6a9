"""Recognises a mount of NFS, and reads the size of its requests from the options of the mount."""

from __future__ import annotations

import re

from dfslab.spec.systems.discovery import Command, SystemDiscovery, with_port
from dfslab.spec.systems.mounts import ExistingFileSystem, KnownMount

MOUNT_TYPES = ("nfs", "nfs4")
NFS_PORT = 2049
_SIZE = re.compile(r"(?:^|,)wsize=(\d+)")
_ADDRESS = re.compile(r"(?:^|,)addr=([^,]+)")


def discover(found: ExistingFileSystem, command: Command) -> SystemDiscovery:
    """Returns the server's address, the number of servers, and the bytes of one request
    (`request_size`).

    The address is in the mount's options or, if they lack it, in the mount's source. The number of
    servers is always 1. `request_size` is left out if the mount's options do not state it (wsize).
    """
    size, address = _SIZE.search(found.options), _ADDRESS.search(found.options)
    host = address[1] if address else found.source.partition(":")[0]
    return SystemDiscovery(
        instances={"server": 1},
        settings={"request_size": float(size[1])} if size else {},
        addresses={"server": (with_port(host, NFS_PORT),)},
        sources=("options of the mount",),
    )


EXISTING = KnownMount(mount_types=MOUNT_TYPES, discover=discover)
