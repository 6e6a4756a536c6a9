"""Options of mdtest (1.9 to 4.0) that a scenario cannot express, each with the reason."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.spec.input_error import InputError

STONEWALL = "phases end after their items, not after a time"
# The options of mdtest that dfslab rejects, each with the reason. Some of them take a value. The
# value is the next word or is joined to the option.
REFUSED: dict[str, str] = {
    "-W": STONEWALL,
    "-x": STONEWALL,
    "-Y": "a phase does not end with sync; -y is an fsync after each write",
    "-X": "contents are not compared",
    "--verify-read": "contents are not compared",
    "--verify-write": "contents are not compared",
    "-R": "items are looked at in the order in which they were made",
    "-G": "the contents of files are not chosen",
    "--dataPacketType": "the contents of files are not chosen",
    "-B": "phases are always separated by barriers",
    "-k": "files are created by open, not by mknod",
    "-c": "the tree is not made by task 0 alone",
    "-S": "files are not shared by tasks",
    "-s": "the number of tasks is fixed; -np is that number",
    "-f": "the number of tasks is fixed; -np is that number",
    "-l": "the number of tasks is fixed; -np is that number",
    "-p": "there is no pause before an iteration",
    "-M": "all tasks are on this machine",
    "-Z": "tables of single tasks are not printed",
    "--savePerOpDataCSV": "tables of single operations are not written",
    "--saveRankPerformanceDetails": "tables of single tasks are not written",
    "--run-cmd-before-phase": "no command is run between phases",
    "--run-cmd-after-phase": "no command is run between phases",
    "--allocateBufferOnGPU": "buffers are in main memory",
}
# Options whose value may be joined to them, such as -R7. (-R takes the seed of a random order.)
JOINED = ("-R", "-W", "-G", "-x", "-s", "-f", "-l", "-p")
# The phases that options of mdtest select. The key is the phase's letter in these options. The
# value is the last word of the phase's line in the summary.
PHASES = {"C": "creation", "T": "stat", "E": "read", "r": "removal"}
OTHERS = "phases that were not named ran as preparation and removal, and are not printed"
OF_BACK_ENDS = ("--hdfs.", "--posix.", "--dfs.", "--S3.", "--rados.", "--cephfs.", "--gfarm.")


def refuse(words: Sequence[str]) -> None:
    """Raises InputError that lists every rejected option in `words`, each with its reason. Does
    nothing if there is no such option."""
    found: dict[str, str] = {}
    for word in words:
        option = _option(word)
        if option:
            reason = REFUSED.get(option, "only a mounted directory is measured (-a POSIX)")
            found.setdefault(option, reason)
    if found:
        reasons = "; ".join(f"{option}: {reason}" for option, reason in found.items())
        raise InputError("mdtest", " ".join(found), f"is not honoured: {reasons}")


def _option(word: str) -> str:
    """Returns the rejected option that a word of the command line contains; "" if it contains
    none."""
    name = word.partition("=")[0]
    if name in REFUSED or name.startswith(OF_BACK_ENDS):
        return name
    joined = word[:2] in JOINED and not word.startswith("--") and word[2:].lstrip("=").isdigit()
    return word[:2] if joined else ""


def phases(words: Sequence[str]) -> str:
    """Returns the letters of the phases that a command line selects; "" if it selects all or
    none."""
    found = "".join(letter for letter in PHASES if f"-{letter}" in words)
    return "" if found == "".join(PHASES) else found


def is_named(line: str, named: str) -> bool:
    """Returns whether a line of the summary belongs to one of the selected phases, which `named`
    lists. If no phase is selected, returns True for every line."""
    return not named or any(line.endswith(PHASES[letter]) for letter in named)
