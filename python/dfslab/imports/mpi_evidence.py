"""Derives facts about a workload from the command lines of IOR and mdtest. The plausibility rules
use these facts as evidence."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from dfslab.documents.evidence import Cache, Coverage, Evidence, Hardware, Work

# IOR_VALUES: the one-letter options of IOR that take a value. The value is the remainder of the
# word or the next word. IOR_SHIFTS: options that make a task read data that another task wrote.
IOR_VALUES = "aAbdDfGhiJlmMNoOpqsStTuUX"
IOR_SHIFTS = ("C", "Z", "Q")


def options(command: str, with_value: str) -> dict[str, str]:
    """Parses a command line. Returns a dictionary from each option to its value. The key is the
    letter of the option, or the name of an option that begins with "--". The value is "" for an
    option without a value.

    `with_value` has the letters of the options that take a value. Several letters may share a word.
    The value of an option is the remainder of its word or, if the word ends, the next word.
    """
    found: dict[str, str] = {}
    pending = ""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    for word in words:
        if pending and not word.startswith("-"):
            found[pending] = f"{found[pending]} {word}".strip()
            pending = ""
        elif word.startswith("--"):
            name, _, value = word.partition("=")
            found[name] = value
        elif re.match(r"-[A-Za-z]", word):
            pending = _letters(word[1:], with_value, found)
    return found


def _letters(word: str, with_value: str, found: dict[str, str]) -> str:
    """Adds the options in `word` to `found`. If the last option in the word takes the next word as
    its value, returns the letter of this option; otherwise returns "".
    """
    for place, letter in enumerate(word):
        if letter in with_value:
            value = word[place + 1 :].lstrip("=")
            found[letter] = f"{found.get(letter, '')} {value}".strip()
            return "" if value else letter
        found[letter] = ""
    return ""


@dataclass(frozen=True)
class IorTest:
    """The description of a test at the beginning of IOR's output. The description has the command
    line, the number of tasks, the number of nodes, and the size of all data in bytes
    (`size_bytes`). A field that IOR did not report is None or "".
    """

    command: str
    tasks: int | None
    nodes: int | None
    size_bytes: float | None


def of_ior(access: str, test: IorTest, duration_s: float | None) -> Evidence:
    """Returns the evidence about the reads or writes of an IOR test. `access`: "read" or "write".
    `duration_s`: duration of the access in seconds; None if it is not reported."""
    command, size_bytes = test.command, test.size_bytes
    given = options(command, IOR_VALUES)
    is_known = bool(command)
    both = ("w" in given) == ("r" in given)
    shifted = any(key in given for key in IOR_SHIFTS)
    cache: Cache | None = "direct" if "B" in given or "--posix.odirect" in given else None
    ends_early = "D" in given and "stonewallingwearout" not in given.get("O", "").lower()
    return Evidence(
        work=Work.model_construct(
            operation="read" if access == "read" else "write",
            bytes_moved=None if "D" in given else size_bytes,
            data_size=size_bytes,
            duration=duration_s or None,
            clients=test.tasks,
            cache=cache,
            forced=("e" in given or "Y" in given) if is_known else None,
            reads_own_writes=both and not shifted if is_known else None,
        ),
        hardware=Hardware.model_construct(client_nodes=test.nodes),
        coverage=Coverage.model_construct(ends_with_first=ends_early if is_known else None),
    )


def of_mdtest(operation: str, command: str, tasks: int | None, nodes: int | None) -> Evidence:
    """Returns the evidence about one phase of mdtest.

    `tasks` and `nodes` are the numbers of tasks and nodes, or None if they are not reported. With
    mdtest's option -N, a task works on files that a task on another node created. The files are
    then not in the cache of the task's node.
    """
    given = options(command, "abdDeGHiIlLnNpRsTVwWxXzZ")
    is_cached = operation in ("stat", "read") and "N" not in given and bool(command)
    return Evidence(
        work=Work.model_construct(
            operation="metadata",
            clients=tasks,
            reads_own_writes=is_cached if nodes is not None and nodes > 1 else None,
        ),
        hardware=Hardware.model_construct(client_nodes=nodes),
    )
