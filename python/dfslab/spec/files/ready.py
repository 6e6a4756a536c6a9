"""Finds the ready scenarios by name, wherever the command is called."""

from __future__ import annotations

import difflib
from pathlib import Path

from dfslab.spec.input_error import InputError

# Folders with ready scenarios: of the installed package, and of a source tree.
_PACKAGE = Path(__file__).parents[2]
FOLDERS = (_PACKAGE / "scenarios", _PACKAGE.parents[1] / "scenarios")


def names() -> list[str]:
    """The names of all ready scenarios, sorted."""
    return sorted({path.stem for folder in FOLDERS for path in folder.glob("*.toml")})


def scenario_file(given: Path) -> Path:
    """The file of a scenario: `given` if it exists, else the ready scenario of that name.

    InputError for a name without a file, with the most similar ready scenario.
    """
    is_name = given.parent == Path() and given.suffix in ("", ".toml")
    if given.exists() or not is_name:
        return given
    for folder in FOLDERS:
        if (found := folder / f"{given.stem}.toml").is_file():
            return found
    close = difflib.get_close_matches(given.stem, names(), n=1)
    hint = f"did you mean {close[0]}?" if close else "such as quickstart (`dfslab list`)"
    allowed = f"no such file, and no ready scenario has this name; {hint}"
    raise InputError("scenario", str(given), allowed)
