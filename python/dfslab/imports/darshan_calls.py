"""Calls in Darshan's extended traces (DXT), and the mark of a binary log.

DXT records an MPI-IO call and the POSIX calls that the MPI-IO call made. For files with both kinds
of calls, only the POSIX calls are kept, because these reached the file system.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dfslab.imports.contract import FileCall

# Pattern of the first bytes of a log. A log begins with the version of its format, such as "3.41".
MAGIC = re.compile(rb"\d+\.\d+\0")
POSIX, MPIIO = "POSIX", "MPIIO"
# A recorded call, as a pair: the name of the Darshan module that recorded it (POSIX or MPIIO), and
# the call.
ModuleCall = tuple[str, FileCall]


def is_binary_log(head: bytes) -> bool:
    """Whether the bytes are the beginning of a binary Darshan log."""
    return MAGIC.match(head) is not None


def calls_of_lowest(recorded: Iterable[ModuleCall]) -> list[FileCall]:
    """Returns the calls that reached the file system, sorted by start time.

    If a file has POSIX calls, its MPI-IO calls are left out, because each MPI-IO call is recorded
    again as the POSIX calls that it made.
    """
    calls = [one for one in recorded if one[1].size_bytes > 0]
    observed = {done.path for module, done in calls if module == POSIX}
    found = [done for module, done in calls if module == POSIX or done.path not in observed]
    return sorted(found, key=lambda done: done.start_s)
