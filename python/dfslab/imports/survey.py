"""Reads a recorded trace to plan its replay. The survey determines the format of the trace, the
application's directory, the number of clients, and which recorded calls become operations."""

from __future__ import annotations

import heapq
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from dfslab.imports import call_stream, contract, plain_file, strace_stamps
from dfslab.imports.contract import CallImporter, FileCall, Recording, Replay, StreamImporter
from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError

FILE, ROOT = "FILE", "--root"
OUTSIDE = "outside the application's directory"
WRONG_STATE = "file was already open, made or closed"
# Directories from which programs read files of the system when they start. The list has the
# directories of the File System Hierarchy Standard 3.0, and those of Nix and snap packages.
SYSTEM = tuple(
    f"/{name}/"
    for name in (
        *("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "nix", "proc", "run"),
        *("sbin", "snap", "sys", "usr", "var/cache", "var/lib"),
    )
)
# Pattern of the paths of programs, interpreters and their libraries, in whatever directory they are
# installed.
LIBRARY = re.compile(
    r"/lib(?:32|64|x32)?/|/s?bin/|/site-packages/|/pyvenv\.cfg$|\.(?:so|jar)(?:\.|$)"
)
# The application's directory is the deepest directory that contains at least this fraction of the
# counted calls (see `root_of`). The fraction is below 1, because an application may also access a
# log or a temporary file elsewhere.
ROOT_SHARE = 0.8
# Operations by which programs search for files. A program may search many directories for a file
# that is in only one of them.
SEARCHES = frozenset(("stat", "exists", "get_xattr"))
# Operations that make, remove or truncate files. Other processes may rely on their effects.
NAMING = frozenset(("create", "rename", "delete", "mkdir", "rmdir", "truncate"))
# Number of lines at the start of strace's output in which the working directory of the first
# process is searched.
FIRST_LINES = 5000
# Pattern of text in strace's output that contains a working directory. Either `strace -y` printed
# the directory after AT_FDCWD, or the call getcwd of a shell returned the directory.
WORKING = re.compile(r'AT_FDCWD<(/[^>]*)>|getcwd\("(/[^"]*)"')
MOST_CLIENTS = 64


@dataclass(frozen=True)
class TraceRequest:
    """What the user states about a trace. The survey guesses values that the user does not state
    (empty texts and the number 0).

    `form`: name of the importer. `root`: the application's directory. `started_in`: working
    directory of the first process. `clients`: number of clients of the replay.
    """

    form: str = ""
    root: str = ""
    started_in: str = ""
    clients: int = 0


@dataclass(frozen=True)
class TraceSurvey:
    """The content of a trace, and the plan of its replay.

    `form`: name of the importer. `taken`: the number of calls that become operations, by the name
    of the call. `left_out`: the number of other calls, by (name of the call, reason for leaving it
    out). `is_root_guessed`: whether the application's directory `root` is only a guess. `names`: by
    operation of the replay, the number of calls by their name in the trace, such as write for the
    operation pwrite.
    `started_in`: working directory of the first process. `clients`: number of clients of the
    replay.
    """

    form: str
    root: str
    started_in: str
    clients: int
    replay: Replay
    taken: Counter[str]
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    is_root_guessed: bool = False
    names: Mapping[str, Counter[str]] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """Returns an upper bound of the bytes that the files of the replay occupy at the same
        time."""
        ends: dict[tuple[int | None, int], int] = {}
        for one in self.replay.given:
            key = (one.owner, one.file)
            ends[key] = max(ends.get(key, 0), one.offset_bytes + one.size_bytes)
        return sum(ends.values())


def survey(path: Path, requested: TraceRequest) -> TraceSurvey:
    """Reads a trace and plans its replay.

    Raises InputError if the trace cannot be read or has no file operation. The error names the
    input that is wrong: FILE, or an option of the command.
    """
    if path.is_dir():
        raise InputError(FILE, str(path), "is a folder; needs the file that holds the trace")
    if not path.is_file():
        there = "is a pipe or device; save it to a file first" if path.exists() else "no such file"
        raise InputError(FILE, str(path), there)
    try:
        form = requested.form or _form(path)
        importer = contract.importer(form)
        if isinstance(importer, StreamImporter):
            return _of_stream(path, form, importer, requested)
        return _of_calls(path, form, importer, requested)
    except OSError as error:
        raise inputs.unreadable(FILE, path, error) from error
    except InputError:
        raise
    except ValueError as error:
        raise InputError(FILE, str(path), _with_other_forms(path, form, str(error))) from error


def _form(path: Path) -> str:
    """Returns the name of the importer that recognises the file. Raises InputError unless there is
    exactly one such importer."""
    head = plain_file.beginning(path, contract.HEAD_BYTES)
    found = contract.recognised(path)
    if len(found) == 1:
        return found[0]
    wrong = plain_file.damage(path, contract.HEAD_BYTES) or plain_file.foreign_encoding(head)
    if wrong or not head:
        raise InputError(FILE, str(path), wrong or "is empty")
    if not found and strace_stamps.is_unstamped(head):
        raise InputError(FILE, str(path), "is of strace without times: use strace -f -T -ttt")
    known = ", ".join(found or contract.importers())
    text = "is read by several forms" if found else "is in no known form"
    raise InputError(FILE, str(path), f"{text}; --form names one of {known}")


def _with_other_forms(path: Path, form: str, text: str) -> str:
    others = [name for name in contract.recognised(path) if name != form]
    return f"{text}; it looks like --form {' or '.join(others)}" if others else text


def _of_stream(
    path: Path, form: str, importer: StreamImporter, requested: TraceRequest
) -> TraceSurvey:
    """Returns the survey of a stream that dfslab's load generator recorded. Such a file states the
    client of each operation, and has no directories. Raises InputError if the user requests a
    directory, or a number of clients that differs from the file's.
    """
    for option, value in ((ROOT, requested.root), ("--started-in", requested.started_in)):
        if value:
            raise InputError(option, value, f"is for traces with paths; {form} has none")
    found = importer.read(path)
    clients = 1 + max(one.client for one in found.given)
    if requested.clients not in (0, clients):
        raise InputError("--clients", requested.clients, f"the recorded load has {clients} clients")
    taken = Counter[str](one.operation for one in found.given)
    return TraceSurvey(form, "/", "/", clients, found, taken)


def _of_calls(
    path: Path, form: str, importer: CallImporter, requested: TraceRequest
) -> TraceSurvey:
    left_out = Counter[tuple[str, str]]()

    def leave_out(call: str, reason: str) -> None:
        left_out[call, reason] += 1

    started_in = requested.started_in or _started_in(path) if form == "strace" else "/"
    calls = list(importer.read(path, Recording("/", started_in, leave_out)))
    if not calls:
        raise ValueError("holds no operation on files")
    root = requested.root and posixpath.normpath(requested.root)
    if root and not root.startswith("/"):
        raise InputError(ROOT, requested.root, "must be an absolute directory of the trace")
    root = root or root_of(calls)
    kept = list(call_stream.under(calls, root))
    if not kept:
        where = root_of(calls)
        raise InputError(
            ROOT, root, f"no call of the trace is on files in this folder; most are in {where}"
        )
    taken = Counter(one.call for one in kept if one.call)
    for name, number in (Counter(one.call for one in calls if one.call) - taken).items():
        left_out[name, OUTSIDE] += number
    clients = requested.clients or clients_of(kept)
    processes = len({one.process for one in kept})
    if clients > processes:
        allowed = f"the trace has {processes} processes with calls in {root}; at most that many"
        raise InputError("--clients", clients, allowed)
    found = call_stream.replay(kept, clients)
    names: dict[str, Counter[str]] = {}
    for one in kept:
        if one.call:
            names.setdefault(one.operation, Counter())[one.call] += 1
    for name, number in found.dropped.items():
        left_out[name, WRONG_STATE] += number
        taken[name] -= number
    is_guess = not requested.root and root != "/"
    return TraceSurvey(form, root, started_in, clients, found, +taken, left_out, is_guess, names)


def _started_in(path: Path) -> str:
    """Returns the first working directory that occurs in the first FIRST_LINES lines of strace's
    output; "/" if there is none."""
    with plain_file.lines(path) as lines:
        for line in islice(lines, FIRST_LINES):
            if found := WORKING.search(line):
                return found[1] or found[2]
    return "/"


def root_of(calls: Sequence[FileCall]) -> str:
    """Returns the application's directory: the deepest one that contains at least the fraction
    ROOT_SHARE of the counted calls.

    Calls in the system's directories and calls of SEARCHES are not counted, unless all calls are of
    these kinds. Returns "/" for block devices, which have no paths. Raises InputError with the key
    `--root` if no directory contains that share of the calls.
    """
    paths = [one for one in calls if one.path.startswith("/")]
    if not paths:
        return "/"
    own = [one for one in paths if not _is_of_system(one.path)] or paths
    used = [one for one in own if one.operation not in SEARCHES] or own
    folders = Counter(_folder(one) for one in used)
    root = "/"
    while True:
        inner = Counter[str]()
        for folder, number in folders.items():
            if folder != root and f"{folder}/".startswith(root.rstrip("/") + "/"):
                rest = folder[len(root.rstrip("/")) + 1 :]
                inner[posixpath.join(root, rest.partition("/")[0])] += number
        largest = inner.most_common(1)
        if not largest or largest[0][1] < ROOT_SHARE * len(used):
            break
        root = largest[0][0]
    if root == "/" and inner:
        shown = ", ".join(f"{name} ({n / len(used):.0%})" for name, n in inner.most_common(3))
        raise InputError(ROOT, None, f"the trace's calls are in {shown}: name one directory")
    return root


def _is_of_system(path: str) -> bool:
    """Returns whether a file belongs to the system or to a library, and not to the application's
    data."""
    return f"{path}/".startswith(SYSTEM) or LIBRARY.search(path) is not None


def _folder(call: FileCall) -> str:
    """Returns the directory on which a call acts. If the call lists a directory, this directory is
    returned; otherwise, the directory that contains the file.
    """
    return call.path if call.operation == "list" else posixpath.dirname(call.path)


def clients_of(calls: Sequence[FileCall]) -> int:
    """Returns the number of clients that replay a trace. This is the largest number of processes
    with a call in progress at the same time, but at most MOST_CLIENTS.

    Returns 1 if one process makes, removes or truncates a file and another process uses the file's
    name. Several clients would not keep the order of these operations, because clients do not wait
    for each other.
    """
    users: dict[str, set[int]] = {}
    named: set[str] = set()
    for one in calls:
        for path in filter(None, (one.path, one.new_path)):
            users.setdefault(path, set()).add(one.process)
            if one.operation in NAMING:
                named.add(path)
    if any(len(users[path]) > 1 for path in named):
        return 1
    return min(MOST_CLIENTS, max(_in_progress(calls), default=1))


def _in_progress(calls: Sequence[FileCall]) -> Iterator[int]:
    """Yields one number for each call, in the order of start times: the number of processes that
    have a call in progress when this call starts. The process of this call is included.
    """
    ends: list[tuple[float, int]] = []
    active = Counter[int]()
    for one in sorted(calls, key=lambda call: call.start_s):
        while ends and ends[0][0] <= one.start_s:
            _, process = heapq.heappop(ends)
            active[process] -= 1
            if not active[process]:
                del active[process]
        active[one.process] += 1
        heapq.heappush(ends, (one.start_s + (one.duration_s or 0.0), one.process))
        yield len(active)
