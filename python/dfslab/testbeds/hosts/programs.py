"""Finds the programs of this machine."""

from __future__ import annotations

import os
import shutil

# Folders of programs for administrators. Debian leaves them out of the PATH of other users.
SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def find_program(command: str) -> str | None:
    """Returns the path of the executable `command`; None if it is not installed. The folders for
    administrators (SYSTEM_FOLDERS) are searched even if PATH lacks them."""
    path = os.environ.get("PATH", os.defpath)
    return shutil.which(command, path=os.pathsep.join((path, *SYSTEM_FOLDERS)))
