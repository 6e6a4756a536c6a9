"""Empties the cache in the process of a CephFS client (ceph-fuse): names and file data."""

from __future__ import annotations

from collections.abc import Callable

from dfslab.filesystems.cephfs.ceph_json import ClientStatus
from dfslab.spec.clock import REAL, Clock

# OPTION is Ceph's option for the largest number of names that a client process caches, and
# DEFAULT_NAMES is its default. When the process drops a name, it also drops the file's inode and
# its cached data.
OPTION, DEFAULT_NAMES = "client_cache_size", 16384
# Intervals in seconds for waiting until the cache is empty. A client process drops names and
# releases their inodes once a second (client_tick_interval). The cache therefore counts as empty
# when the number of inodes has not changed for SETTLED_S. The process is queried every POLL_S.
SETTLED_S, POLL_S = 1.5, 0.25
# Longest wait for an empty cache, in seconds. The limit is needed because the cache never becomes
# empty while applications use files all the time.
LIMIT_S = 10.0


def empty(command: Callable[..., str], clock: Clock = REAL) -> None:
    """Makes one client process drop all names and file data that no application uses. Then sets the
    size of its cache to the default again.

    `command(*words)` sends an administrative command to the process and returns the reply as text.
    The function returns when the cache is empty, but at the latest after LIMIT_S seconds.
    """
    command("config", "set", OPTION, "0")
    try:
        _await_empty(command, clock)
    finally:
        command("config", "set", OPTION, str(DEFAULT_NAMES))


def _await_empty(command: Callable[..., str], clock: Clock) -> None:
    deadline_s = clock.monotonic_s() + LIMIT_S
    inodes, since_s = -1, clock.monotonic_s()
    while (now_s := clock.monotonic_s()) < deadline_s:
        status = ClientStatus.model_validate_json(command("status"))
        if status.names > status.used_names or status.inodes != inodes:
            inodes, since_s = status.inodes, now_s
        elif now_s >= since_s + SETTLED_S:
            return
        clock.sleep(POLL_S)
