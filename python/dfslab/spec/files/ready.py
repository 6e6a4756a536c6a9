"""Finds the ready scenarios by name, independently of the working directory."""

from __future__ import annotations

import difflib
from pathlib import Path

from dfslab.spec.input_error import InputError

# Folders with ready scenarios. The first is part of the installed package, the second of a source
# tree.
_PACKAGE = Path(__file__).parents[2]
FOLDERS = (_PACKAGE / "scenarios", _PACKAGE.parents[1] / "scenarios")


def files() -> dict[str, Path]:
    """Returns the files of the ready scenarios by the names of the scenarios, sorted by name."""
    found = {path.stem: path for folder in FOLDERS for path in folder.glob("*.toml")}
    return dict(sorted(found.items()))


def scenario_file(given: Path) -> Path:
    """Returns the file of a scenario: `given`, if it exists or is a path rather than a plain name;
    otherwise the file of the ready scenario of that name.

    Raises InputError if no ready scenario has the name; the error suggests a similar one.
    """
    is_name = given.parent == Path() and given.suffix in ("", ".toml")
    if given.exists() or not is_name:
        return given
    known = files()
    if given.stem in known:
        return known[given.stem]
    close = difflib.get_close_matches(given.stem, list(known), n=1)
    hint = f"did you mean {close[0]}?" if close else "such as quickstart (`dfslab list`)"
    allowed = f"no such file, and no ready scenario has this name; {hint}"
    raise InputError("scenario", str(given), allowed)
