"""Opens the files that dfslab keeps in run folders, which must be regular files.

The functions here refuse pipes and, for writing, symbolic links. Opening a pipe would wait until
another program opens it, too. Writing through a symbolic link would change a file elsewhere.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

NOT_REGULAR = "is no regular file"


def opened(path: Path, flags: int) -> int:
    """Opens a regular file and returns its descriptor. `flags` are those of `os.open`; a missing
    file is created if they contain O_CREAT.

    Raises OSError if the file cannot be opened, if it is a pipe, a folder or a device, or if it is
    a symbolic link and `flags` allow writing.
    """
    is_written = flags & os.O_ACCMODE != os.O_RDONLY
    # Without O_NONBLOCK, opening a pipe would wait. The flag has no effect on regular files.
    flags |= os.O_NONBLOCK | os.O_CLOEXEC | (os.O_NOFOLLOW if is_written else 0)
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        # Opening a symbolic link, a folder or a pipe for writing gives one of these errors.
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise _refused(path) from error
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise _refused(path)


def content(path: Path) -> bytes:
    """Returns the bytes of a regular file. Raises OSError like `opened`."""
    with os.fdopen(opened(path, os.O_RDONLY), "rb") as file:
        return file.read()


def _refused(path: Path) -> OSError:
    return OSError(errno.EINVAL, NOT_REGULAR, str(path))
