"""Tests that every name in the code map of ARCHITECTURE.md exists: a file or folder of its room, a
function or class that a file of the room defines, or a command. A room is a folder of the
repository for which the code map has a row."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from dfslab.cli.command_table import COMMANDS

ROOT = Path(__file__).parents[2]
QUOTED = re.compile(r"`([^`]+)`")
ALTERNATIVES = re.compile(r"\{([^{}]+)\}")
# A name that can be looked up: a word, or a path or pattern of files. Text with spaces or options,
# such as a command line, is not looked up.
LOOKED_UP = re.compile(r"[\w./*]+")
DEFINED = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?(?:def|class|fn|struct|mod) (\w+)", re.MULTILINE)
SOURCES = (".py", ".rs", ".java")
# Names that the code map may contain although no file and no definition of their room has the name.
# The values are the reasons.
KEPT = {
    "Stream": "a class of spec/streams, which workloads return",
    "__init__.pyi": "a file next to api.py",
    "live.jsonl": "a file that a run writes",
    "net.py": "a file of a file system's folder",
}


def rows(text: str) -> Iterator[tuple[list[Path], list[str]]]:
    """Yields the folders or files of each room of the code map, and the names in its description.
    A room may be several folders, as in `models/{queue,fit}`, or a pattern: NAME is any folder."""
    part = text[text.index("## Code map") : text.index("## The walk")]
    for line in part.splitlines():
        if line.startswith("| `"):
            rooms, described = line.strip("| ").split(" | ", 1)
            found = [room for one in QUOTED.findall(rooms) for room in _expanded(one)]
            yield [Path(one) for one in found], QUOTED.findall(described)
    for item in re.split(r"\n(?=- `)", part)[1:]:
        room, described = item.split(": ", 1)
        yield [Path(one) for one in _expanded(QUOTED.findall(room)[0])], QUOTED.findall(described)


def _expanded(room: str) -> list[str]:
    """Returns the rooms of a pattern, as the shell expands braces. NAME becomes `*`."""
    parts = ALTERNATIVES.split(room.replace("NAME", "*"))
    choices = [one.split(",") if place % 2 else [one] for place, one in enumerate(parts)]
    return ["".join(one) for one in itertools.product(*choices)]


@cache
def names_in(room: Path) -> frozenset[str]:
    """Returns the names of all files (with and without suffix) and folders of a room, and of the
    functions, classes and modules that its sources define."""
    found: set[str] = set()
    for top in ROOT.glob(str(room)):
        for path in (top, *top.rglob("*")):
            if "__pycache__" not in path.parts:
                found |= {path.name, path.stem}
                if path.suffix in SOURCES:
                    found |= set(DEFINED.findall(path.read_text(encoding="utf-8")))
    return frozenset(found)


def exists(name: str, rooms: list[Path]) -> bool:
    """Returns whether a name is a file, a folder or a definition of one of the rooms, a path in the
    repository or in the package, or a command."""
    if name in KEPT or name in COMMANDS or not LOOKED_UP.fullmatch(name):
        return True
    if "/" in name or "*" in name:
        tops = (Path(), Path("python/dfslab"), *rooms)
        return any(any(ROOT.glob(str(top / (name + end)))) for top in tops for end in ("", ".*"))
    return any(name in names_in(room) for room in rooms)


def wrong(text: str) -> list[str]:
    """Returns one line for each room and each name of the code map `text` that does not exist."""
    found = []
    for rooms, names in rows(text):
        found += [
            f"{room}: is no folder or file" for room in rooms if not any(ROOT.glob(str(room)))
        ]
        found += [f"{rooms[0]}: {name}" for name in names if not exists(name, rooms)]
    return found


def test_every_name_of_the_code_map_exists():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(list(rows(text))) > 40, "the code map was not found"
    assert not wrong(text)


def test_a_wrong_name_of_the_code_map_is_found():
    row = "| `python/dfslab/nets` | `build`, `net_parts`, `nets/formats`, `nets/none` |\n"
    gone = "| `python/dfslab/{nets,lost}` | none |\n"
    assert wrong(f"## Code map\n{row}{gone}## The walk\n") == [
        "python/dfslab/nets: net_parts",
        "python/dfslab/nets: nets/none",
        "python/dfslab/lost: is no folder or file",
    ]


def test_every_exception_is_needed():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    names = {name for _, found in rows(text) for name in found}
    assert not KEPT.keys() - names
