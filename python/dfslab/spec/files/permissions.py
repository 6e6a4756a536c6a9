"""Says which permission keeps this user from a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Barrier:
    """The permission that keeps this user from a file. `path`: the file, or the folder above it,
    whose permissions are too narrow. `is_input`: whether something was to be read there."""

    path: Path
    reason: str
    is_input: bool

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def barrier(path: Path) -> Barrier:
    """Returns the permission that keeps this user from the file `path`, which this user could not
    read or write."""
    user = f"user {os.geteuid()} may not"
    change = "change its permissions, or use `sudo`"
    for folder in reversed(path.parents):
        if not os.access(folder, os.X_OK):
            return Barrier(folder, f"{user} enter it; {change}", is_input=True)
    mode = os.R_OK | os.X_OK if path.is_dir() else os.R_OK
    if path.exists() and not os.access(path, mode):
        return Barrier(path, f"{user} read it; {change}", is_input=True)
    place = path if path.is_dir() else path.parent
    if not os.access(place, os.W_OK):
        another = "name another folder, or use `sudo`"
        return Barrier(place, f"{user} write there; {another}", is_input=False)
    return Barrier(path, f"{user} use it in this way; {change}", is_input=False)
