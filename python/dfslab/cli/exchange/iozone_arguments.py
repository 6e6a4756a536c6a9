"""Converts the options of an iozone 3 command line to a workload. Raises an error that names the
option if an option has no counterpart in the workload."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dfslab.spec import units
from dfslab.spec.design import LevelValue
from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError

KIB = 1024
SIZE = re.compile(r"(\d+)([kmg]?)", re.IGNORECASE)
POWERS = {"": 1, "k": 1, "m": 2, "g": 3}
# The tests that each test number (option -i) selects in the workload `iozone`. Each test is given
# as (name, whether it repeats an earlier test). The option -+n omits the tests that repeat an
# earlier test.
TESTS: dict[int, tuple[tuple[str, bool], ...]] = {
    0: (("write", False), ("rewrite", True)),
    1: (("read", False), ("reread", True)),
    2: (("random_read", False), ("random_write", False)),
    3: (("backward_read", False),),
    4: (("record_rewrite", False),),
    5: (("stride_read", False),),
    8: (("mixed", False),),
    9: (("pwrite", False),),
    10: (("pread", False),),
}
WRITES = ("write", "pwrite")
# The tests, each with the name that iozone's throughput summary gives to the processes of that
# test.
WORKERS = {
    "write": "initial writers",
    "rewrite": "rewriters",
    "read": "readers",
    "reread": "re-readers",
    "random_read": "random readers",
    "random_write": "random writers",
    "backward_read": "reverse readers",
    "record_rewrite": "record rewriters",
    "stride_read": "stride readers",
    "mixed": "mixed workload",
    "pwrite": "pwrite writers",
    "pread": "pread readers",
}
# Options without a value that are accepted and ignored. -c includes the time of close, which
# dfslab always does. -C, -M and -R only change the layout of the output. The option -T (in the next
# list) runs clients as threads. This is dfslab's default unless -t starts processes.
NOTHING_TO_SET = ("-c", "-C", "-M", "-R")
PLAIN = ("-I", "-o", "-+D", "-e", "-B", "-T", "-+n", *NOTHING_TO_SET)
VALUED = ("-r", "-s", "-i", "-t", "-l", "-u", "-j", "-f", "-+m")
LISTED = "-F"
AUTOMATIC = "sizes are not varied; name one record (-r) and one size (-s), or sweep a scenario"
UNITS = "rates are printed in kB/s"
CONTENTS = "contents are not compared or chosen"
FILES = "no file is written except those of the test"
ASYNCHRONOUS = "transfers are made one after the other, by read and write"
CACHES = "caches are not dropped between tests; workload.cache = cold of a scenario drops them"
DELAYS = "transfers follow each other without a delay"
PLACES = "clients are on this machine; docs/guide/many-nodes.md has several nodes"
# The rejected options, each with the reason.
REFUSED: dict[str, str] = {
    **dict.fromkeys(("-a", "-A", "-g", "-n", "-q", "-y", "-z", "-S", "-L"), AUTOMATIC),
    **dict.fromkeys(("-N", "-O", "-+A"), UNITS),
    **dict.fromkeys(("-V", "-+d", "-+y", "-+C", "-+w", "-+a", "-+P"), CONTENTS),
    **dict.fromkeys(("-b", "-Q", "-X", "-Y", "-+l", "-+L", "-+O", "-+f"), FILES),
    **dict.fromkeys(("-H", "-k", "-D", "-G", "-E", "-Z", "-+r", "-+R"), ASYNCHRONOUS),
    **dict.fromkeys(("-p", "-U", "-+U", "-+X"), CACHES),
    **dict.fromkeys(("-J", "-d", "-+H", "-+S"), DELAYS),
    **dict.fromkeys(("-+h", "-+s", "-+t", "-+N", "-+b", "-+v", "-+V"), PLACES),
    "-K": "records are taken in order, or at random in test 2",
    "-m": "one buffer is used",
    "-P": "processors are not bound",
    "-W": "files are not locked",
    "-w": "files are removed at the end: nothing is left behind",
    "-x": "no process stops when the first one ends; all write and read their whole file",
    "-+p": "a mixed test has as many reads as writes",
    "-+q": "there is no pause before a test",
    "-+B": "the mixed test is at random",
    "-+T": "rates are not printed over time",
    "-+u": "the processor's use is in the result: --json",
    "-+x": "sizes are not multiplied",
    "-+i": "the workload is what the options say",
    "-+Z": "files are the test's own",
    "-+k": "each test keeps its files until the end",
    "-+z": "latencies are in the result: --json",
    "-h": "`man iozone` has iozone's help; `dfslab compat --help` has this command's",
    "-v": "`dfslab --version` has the version",
}
LOCAL = ("localhost", "127.0.0.1")
JOINABLE = ("-r", "-s", "-i", "-t", "-l", "-u", "-j", "-f")


@dataclass
class Options:
    """The parsed options of one command line: options without a value, options with a value,
    numbers of tests, and file names."""

    flags: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    tests: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def workload(words: Sequence[str]) -> tuple[dict[str, LevelValue | list[str]], str]:
    """Converts a command line of iozone. Returns a pair: the settings of the workload `iozone`, and
    the directory of its files ("" if the command line names none).

    Raises InputError if an option has no counterpart in the workload. The error names the option
    and the reason.
    """
    given = _options(words)
    record = _size(given, "-r", "4k")
    size = _size(given, "-s", "512k")
    if size < record:
        allowed = f"must be at least the record, {record} B"
        raise InputError("iozone.-s", given.values.get("-s"), allowed)
    clients = _clients(given)
    direct = "-I" in given.flags
    found: dict[str, LevelValue | list[str]] = {
        "name": "iozone",
        "tests": _tests(given),
        "file_size": f"{size} B",
        "transfer_size": f"{record} B",
        "clients": clients,
        "processes": clients if clients > 1 and "-T" not in given.flags else 0,
        "sync_io": _forced(given),
        "fsync": "-e" in given.flags,
        "mmap": "-B" in given.flags,
    }
    if direct:
        found["cache"] = "direct"
    if "-j" in given.values:
        found["stride"] = _number(given.values["-j"], "-j")
    return found, _directory(given, clients)


def summary(rates: Sequence[tuple[str, float]], clients: int) -> str:
    """Returns the text of iozone's throughput summary, with one line for each test.

    `rates`: pairs of a test's name and the bytes per second of all clients together.
    """
    width = max((len(WORKERS[test]) for test, _ in rates), default=0)
    return "\n".join(
        f"\tChildren see throughput for {clients:>2} {WORKERS[test]:<{width}} \t= "
        f"{bytes_per_s / KIB:>10.2f} kB/sec"
        for test, bytes_per_s in rates
    )


def _options(words: Sequence[str]) -> Options:
    """Parses a command line. Raises InputError that lists all options that are rejected, each with
    its reason."""
    refused = {word: REFUSED[word] for word in map(_refused, words) if word}
    if refused:
        reasons = "; ".join(f"{option}: {reason}" for option, reason in refused.items())
        raise InputError("iozone", " ".join(refused), f"is not honoured: {reasons}")
    found = Options()
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        name, value = (word[:2], word[2:]) if _is_joined(word) else (word, "")
        if name in PLAIN:
            found.flags.add(name)
        elif name == LISTED:
            while waiting and not waiting[0].startswith("-"):
                found.files.append(waiting.pop(0))
        elif name in VALUED:
            if not value and (not waiting or waiting[0].startswith("-")):
                raise InputError(f"iozone.{name}", None, "needs a value")
            value = value or waiting.pop(0)
            if name == "-i":
                found.tests.append(value)
            found.values[name] = value
        else:
            allowed = f"is no option; honoured are {' '.join([*VALUED, LISTED, *PLAIN])}"
            raise InputError("iozone", word, allowed)
    return found


def _forced(given: Options) -> str:
    """Returns what each write call forces to disk before it returns. This is "all" (data and
    metadata) with the option -o (O_SYNC), "data" with the option -+D (O_DSYNC), otherwise
    "none"."""
    return "all" if "-o" in given.flags else "data" if "-+D" in given.flags else "none"


def _is_joined(word: str) -> bool:
    return word[:2] in JOINABLE and len(word) > 2


def _refused(word: str) -> str:
    """Returns the rejected option that a word of the command line contains; "" if it contains
    none."""
    if not word.startswith("-"):
        return ""
    if word in REFUSED:
        return word
    name = word[:3] if word.startswith("-+") else word[:2]
    return name if name in REFUSED and word[len(name) :].isalnum() else ""


def _size(given: Options, option: str, default: str) -> int:
    """Returns the value of `option`, a size, in bytes. Uses `default` if the option is not given. A
    number without a unit is in KiB. Raises InputError if the text is not a size above 0."""
    text = given.values.get(option, default)
    matched = SIZE.fullmatch(text)
    if not matched or not int(matched[1]):
        allowed = "must be a number of KiB, or a number with k, m or g"
        raise InputError(f"iozone.{option}", text, allowed)
    return int(matched[1]) * int(math.pow(KIB, POWERS[matched[2].lower()]))


def _number(text: str, option: str) -> int:
    number = units.whole_number(text)
    if not number:
        raise InputError(f"iozone.{option}", text, "must be a number from 1 on")
    return number


def _clients(given: Options) -> int:
    """Returns the number of client processes, which the options -t, -l and -u state. Returns 1 if
    none of them is given. Raises InputError if their values differ."""
    counts = {
        option: _number(given.values[option], option)
        for option in ("-t", "-l", "-u")
        if option in given.values
    }
    if len(set(counts.values())) > 1:
        allowed = "one number of processes is run at a time: -t, or equal -l and -u"
        raise InputError("iozone", " ".join(counts), allowed)
    return next(iter(counts.values()), 1)


def _tests(given: Options) -> list[str]:
    """Returns the names of the requested tests, in iozone's order. Without the option -i, these are
    tests 0 to 5. With the option -+n, the tests that repeat an earlier test are left out. Raises
    InputError if the first test does not write, because the tests that read need the files of test
    0."""
    numbers = {_test(text) for text in given.tests} or {number for number in TESTS if number < 6}
    found = [
        test
        for number in sorted(numbers)
        for test, is_again in TESTS[number]
        if not (is_again and "-+n" in given.flags)
    ]
    if found[0] not in WRITES:
        raise InputError("iozone.-i", given.tests[0], "needs -i 0 as well: it writes the files")
    return found


def _test(text: str) -> int:
    allowed = f"must be one of {', '.join(map(str, TESTS))}"
    number = units.whole_number(text)
    if number is None or number not in TESTS:
        stdio = " (6 and 7 use stdio, 11 and 12 vectors)" if text in ("6", "7", "11", "12") else ""
        raise InputError("iozone.-i", text, allowed + stdio)
    return number


def _directory(given: Options, clients: int) -> str:
    """Returns the directory of all files; "" if no option names one. Three options can name the
    directory: -f, -F and the file of client nodes (-+m). Raises InputError if these options name
    several directories."""
    named = [str(Path(one).parent) for one in (*given.files, *_given(given.values, "-f"))]
    if given.files and len(given.files) != clients:
        allowed = f"must name one file for each of the {clients} processes (-t)"
        raise InputError("iozone.-F", " ".join(given.files), allowed)
    for path in _given(given.values, "-+m"):
        named += _nodes(path, clients)
    if len(set(named)) > 1:
        allowed = "must be one directory, of which each process has its own file"
        raise InputError("iozone", ", ".join(sorted(set(named))), allowed)
    return named[0] if named else ""


def _given(values: Mapping[str, str], option: str) -> list[str]:
    return [values[option]] if option in values else []


def _nodes(path: str, clients: int) -> list[str]:
    """Returns the directories that the file of client nodes (option -+m) lists. A line has the form
    NODE DIRECTORY PATH_OF_IOZONE (iozone's manual) or NODE PATH_OF_IOZONE DIRECTORY (Kumar 2018,
    section 3.3). Raises InputError if a line has another form, if a node is not this machine, or if
    there are fewer lines than clients."""
    lines = [line.split() for line in inputs.text("iozone.-+m", Path(path)).splitlines()]
    lines = [line for line in lines if line and not line[0].startswith("#")]
    for line in lines:
        if len(line) != 3:
            allowed = "must have three words: node, directory, path of iozone"
            raise InputError(f"{path}", " ".join(line), allowed)
        if line[0] not in LOCAL:
            raise InputError(f"{path}", line[0], f"must be localhost: {PLACES}")
    if len(lines) < clients:
        allowed = f"must have a line for each of the {clients} processes"
        raise InputError("iozone.-+m", path, allowed)
    return [line[1] if line[2].endswith("iozone") else line[2] for line in lines]
