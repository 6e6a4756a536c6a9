"""Finds the ready scenarios (those that come with dfslab) by name, independently of the working
directory."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from dfslab.spec.input_error import InputError

# Folders with ready scenarios. The first is part of the installed package, the second of a source
# tree.
_PACKAGE = Path(__file__).parents[2]
FOLDERS = (_PACKAGE / "scenarios", _PACKAGE.parents[1] / "scenarios")
# Addresses as users write them, such as hdfs://host:8020/ and server:/export. `Path` has replaced
# the two slashes by one.
_URI = re.compile(r"^([a-z][a-z0-9+.-]*):/(?=[^/])")
_SCHEMES = ("hdfs", "s3", "s3a", "gs", "http", "https", "file")
_EXPORT = re.compile(r"^[\w.-]+:/")


def files() -> dict[str, Path]:
    """Returns the files of the ready scenarios by the names of the scenarios, sorted by name."""
    found = {path.stem: path for folder in FOLDERS for path in folder.glob("*.toml")}
    return dict(sorted(found.items()))


def scenario_file(given: Path) -> Path:
    """Returns the file of a scenario: `given` if this path exists. Otherwise returns the file of
    the ready scenario with the name `given`. Some paths of missing files are returned unchanged,
    and the caller reports that the file is missing: a path with a folder, if no ready scenario has
    the file's name, and a name with another extension than .toml.

    A name that ends in .toml or has a slash is the path of a file, never a ready scenario. A user
    who mistypes the path of a file can therefore not start a ready scenario by mistake.

    Raises InputError in these cases:
    - `given` is an address.
    - `given` is a plain name, and no ready scenario has this name. The error suggests a similar
      name.
    - `given` is the name or path of a missing file. The error suggests a ready scenario of a
      similar name.
    """
    if given.exists():
        return given
    refuse_address(given)
    known = files()
    close = difflib.get_close_matches(given.stem.lower(), list(known), n=1)
    if given.parent != Path() or given.suffix:
        if given.suffix in ("", ".toml") and (given.parent == Path() or given.stem in known):
            meant = f"; did you mean the ready scenario {close[0]} (no path)?" if close else ""
            raise InputError("scenario", str(given), f"no such file{meant}")
        return given
    if given.stem in known:
        return known[given.stem]
    hint = f"did you mean {close[0]}?" if close else "such as quickstart (`dfslab list`)"
    allowed = f"no such file, and no ready scenario has this name; {hint}"
    raise InputError("scenario", str(given), allowed)


def refuse_address(given: Path) -> None:
    """Raises InputError if `given` is an address where a file or directory is expected. The error
    names the command for such an address. Returns without effect if `given` exists."""
    text = str(given)
    if given.exists():
        return
    if (match := _URI.match(text)) and match[1] in _SCHEMES:
        address = f"{match[1]}://{text[match.end() :]}"
        if match[1] in ("http", "https", "file"):
            allowed = "is an address; download the file, and give its path"
        else:
            allowed = f"is an address; `dfslab init {address}` writes a scenario of what is there"
        raise InputError("scenario", address, allowed)
    if _EXPORT.match(text):
        allowed = "is an export of a server; mount it, and give the directory of the mount"
        raise InputError("scenario", text, allowed)
