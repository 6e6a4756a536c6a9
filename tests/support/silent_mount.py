"""A FUSE file system that never answers a call. Tests use this file system to check the behaviour
of dfslab when a file system hangs. The mount needs root rights.

The messages have the format of the Linux header include/uapi/linux/fuse.h. A request begins with
its length, the number of the operation and a unique number. An answer begins with its length, an
error number and the unique number of the request.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

INIT = 26
REQUEST = struct.Struct("<IIQ")
# Answer to the request INIT: the major and minor version of the protocol, and its limits. All other
# fields are 0.
INIT_ANSWER = struct.Struct("<IIIIHHI40x")
READ_BYTES = 1 << 17
MNT_FORCE, MNT_DETACH = 1, 2
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def silent_mount(place: Path) -> Iterator[Path]:
    """Mounts a file system at `place` that accepts calls and never answers them. Unmounts it at the
    end of the `with` block.

    The kernel does not end a process that waits for such a call, even after SIGKILL. Therefore the
    mount's connection is aborted at the end. All waiting calls then fail.
    """
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    if _libc.mount(b"silent", bytes(place), b"fuse.silent", 0, options.encode()):
        number = ctypes.get_errno()
        os.close(device)
        raise OSError(number, os.strerror(number), str(place))
    try:
        request = os.read(device, READ_BYTES)
        length, operation, unique = REQUEST.unpack_from(request)
        assert operation == INIT, "the kernel begins with INIT"
        body = INIT_ANSWER.pack(7, 31, 0, 0, 12, 9, 4096)
        os.write(device, REQUEST.pack(REQUEST.size + len(body), 0, unique) + body)
        threading.Thread(target=_accept, args=(device,), daemon=True).start()
        yield place
    finally:
        _libc.umount2(bytes(place), MNT_FORCE)  # calls in progress now fail with ENOTCONN
        _libc.umount2(bytes(place), MNT_DETACH)
        os.close(device)


def _accept(device: int) -> None:
    """Reads requests without answering them, until the kernel's connection ends."""
    with suppress(OSError):
        while os.read(device, READ_BYTES):
            pass
