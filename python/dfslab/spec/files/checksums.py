"""Checks files against a list of SHA-256 checksums in the form of `sha256sum`: one line for each
file, with the checksum and the path relative to a folder.
"""

from __future__ import annotations

import hashlib
from pathlib import Path


def read(path: Path) -> dict[str, str]:
    """Returns a dictionary from each relative path in the list to its checksum."""
    pairs = (line.split("  ", 1) for line in path.read_text().splitlines() if line)
    return {name: checksum for checksum, name in pairs}


def sha256(path: Path) -> str:
    """Returns the checksum of a file as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def difference(folder: Path, expected: dict[str, str]) -> str:
    """Compares the listed files that exist in a folder with their expected checksums.

    Returns "" if all checksums are equal. Otherwise returns one line that names the first file that
    differs, its checksum and the expected checksum.
    """
    for name, checksum in sorted(expected.items()):
        if (folder / name).is_file() and (found := sha256(folder / name)) != checksum:
            return f"{name} has the SHA-256 checksum {found}, but {checksum} is expected"
    return ""


def difference_of_all(folder: Path, expected: dict[str, str]) -> str:
    """Checks that a folder has exactly the listed files, with the expected checksums.

    Returns "" if the folder has exactly these files. Otherwise returns one line that names a file
    that is not listed, is missing, or differs.
    """
    found = {path.name for path in folder.iterdir()}
    if unlisted := sorted(found - expected.keys()):
        return f"{unlisted[0]} has no expected checksum"
    if missing := sorted(expected.keys() - found):
        return f"{missing[0]} is missing"
    return difference(folder, expected)
