"""Selects calls of Darshan's extended traces (DXT), and recognises binary logs.

DXT records each MPI-IO call, and also the POSIX calls that this MPI-IO call made. If a file has
calls of both kinds, only the POSIX calls are kept, because they reached the file system.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dfslab.imports.contract import FileCall

# Pattern of the first bytes of a log. A log begins with the version of its format, such as "3.41".
MAGIC = re.compile(rb"\d+\.\d+\0")
POSIX, MPIIO = "POSIX", "MPIIO"
# A recorded call as the pair (Darshan module that recorded the call, call). The module is POSIX or
# MPIIO.
ModuleCall = tuple[str, FileCall]


def is_binary_log(head: bytes) -> bool:
    """Whether the bytes are the beginning of a binary Darshan log."""
    return MAGIC.match(head) is not None


def calls_of_lowest(recorded: Iterable[ModuleCall]) -> list[FileCall]:
    """Returns the calls that reached the file system, sorted by start time.

    MPI-IO calls on a file are left out if the file also has POSIX calls. These POSIX calls are the
    accesses that the MPI-IO calls made.
    """
    calls = [one for one in recorded if one[1].size_bytes > 0]
    observed = {done.path for module, done in calls if module == POSIX}
    found = [done for module, done in calls if module == POSIX or done.path not in observed]
    return sorted(found, key=lambda done: done.start_s)
