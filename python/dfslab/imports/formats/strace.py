"""Imports file operations of processes from the output of `strace -f -T -ttt` or `strace -f -T
-tt`.

Each system call becomes operations that the load generator can execute: open, close, read or write
at an offset, or an operation on a name. The importer tracks file descriptors, working directories,
and what child processes inherit. Failed calls and calls outside the requested directory are
omitted.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from dfslab.imports import plain_file, strace_stamps
from dfslab.imports.contract import CallImporter, FileCall, Recording
from dfslab.spec.streams.vocabulary import OperationName

TITLE = "System calls: the output of strace -f -T -ttt -y"
CALL = re.compile(r"^(\w+)\((.*)\)\s+=\s+(-?\d+|0x[0-9a-f]+|\?)(?:<[^>]*>)?(.*)$")
STARTED = re.compile(r"\w+\(")
# The duration of a call in seconds, which strace -T appends to the call's line.
DURATION = re.compile(r"<(\d+\.\d+)>$")
RESUMED = re.compile(r"^<\.\.\. (\w+) resumed>(.*)$")
UNFINISHED = "<unfinished ...>"
# Lines on signals, on the end of processes, and on processes that strace stops to trace.
EVENT = re.compile(r"\+\+\+ |--- |<\.\.\. |\[ |strace: |\?\?\?\?")
DETACHED = "<detached ...>"
ARGUMENT = re.compile(r'"((?:\\.|[^"\\])*)"(?:\.\.\.)?|[^,{\["(]+|[{\[(]')
CLOSING = {"{": "}", "[": "]", "(": ")"}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f", "a": "\a", "b": "\b", "e": "\x1b"}
SPAWNING = ("clone", "clone3", "fork", "vfork")
# The reasons for which a recorded call becomes no operation.
FAILED = "failed in the recording"
CUT_OFF = "cut off at the end of the recording"
NOT_BEGUN = "began before the recording"
NOT_ENDED = "did not end within the recording"
BOOKKEEPING = "touches no file: descriptors, offsets, processes"
NOTHING_MOVED = "end of file: no byte moved"
NO_FILE = "not on a file by name"
# System calls that act on a path. The value for each call is a pair: the operation, and the
# position of the path among the call's arguments.
NAMED: dict[str, tuple[OperationName, int]] = {
    "stat": ("stat", 0),
    "lstat": ("stat", 0),
    "newfstatat": ("stat", 1),
    "statx": ("stat", 1),
    "fstatat64": ("stat", 1),
    "stat64": ("stat", 0),
    "lstat64": ("stat", 0),
    "access": ("exists", 0),
    "faccessat": ("exists", 1),
    "faccessat2": ("exists", 1),
    "unlink": ("delete", 0),
    "unlinkat": ("delete", 1),
    "mkdir": ("mkdir", 0),
    "mkdirat": ("mkdir", 1),
    "rmdir": ("rmdir", 0),
    "chmod": ("chmod", 0),
    "fchmodat": ("chmod", 1),
    "setxattr": ("set_xattr", 0),
    "getxattr": ("get_xattr", 0),
    "truncate": ("truncate", 0),
}
# The keys are system calls that act on a file descriptor and transfer no data. The values are the
# operations that these calls become.
HELD: dict[str, OperationName] = {
    "fsync": "fsync",
    "fdatasync": "fsync",
    "fstat": "stat",
    "getdents64": "list",
    "getdents": "list",
    "flock": "lock",
    "fchmod": "chmod",
    "ftruncate": "truncate",
    "fsetxattr": "set_xattr",
    "fgetxattr": "get_xattr",
}

# System calls that change only descriptors, offsets, working directories or processes. They change
# no file.
TRACKED = frozenset(
    (*SPAWNING, "chdir", "dup", "dup2", "dup3", "fcntl", "lseek", "_llseek", "fchdir")
)
TRANSFERS = frozenset(("read", "readv", "write", "writev"))

# A parsed system call: (operation, path, offset, size, new path).
Parsed = tuple[OperationName, str, int, int, str]


@dataclass
class _Open:
    """An open file description: the path of the file, the current offset in bytes (`place`), and
    whether writes append to the file. Duplicated descriptors share one open file description."""

    path: str
    place: int = 0
    appends: bool = False


@dataclass
class _Process:
    """The state of a traced process: its working directory, and its open files by descriptor."""

    directory: str
    files: dict[int, _Open] = field(default_factory=dict)


def recognises(head: bytes) -> bool:
    """Whether the first line has the form of strace's output, with a timestamp and a system
    call."""
    if strace_stamps.is_daytime(head):
        return True
    found = strace_stamps.UNIX.match(
        head.decode(errors="surrogateescape").lstrip().partition("\n")[0]
    )
    return found is not None and STARTED.match(found[4]) is not None


def read(path: Path, recording: Recording) -> Iterator[FileCall]:
    """Returns the operations in a file. Raises ValueError with the first line that cannot be
    parsed."""
    with plain_file.lines(path) as lines:
        return _sorted(lines, recording)


def _sorted(lines: Iterator[str], recording: Recording) -> Iterator[FileCall]:
    return iter(sorted(_Trace(recording).read(lines), key=lambda call: call.start_s))


class _Trace:
    def __init__(self, recording: Recording) -> None:
        self._under = recording.under.rstrip("/") or "/"
        self._started_in = recording.started_in
        self._leave_out = recording.leave_out
        self._processes: dict[int, _Process] = {}
        # For each process with an unfinished call: its start, its text and its line.
        self._unfinished: dict[int, tuple[float, str, int]] = {}
        # For each reason to leave out a line: the number of the first such line.
        self._first_line: dict[str, int] = {}
        # The known sizes of files in bytes, by path. A write that appends begins at this offset.
        self._ends: dict[str, int] = {}

    def read(self, lines: Iterator[str]) -> Iterator[FileCall]:
        stamps = strace_stamps.Stamps()
        for number, line in enumerate(lines, 1):
            found = stamps.split(line.rstrip("\n"), number)
            if found is None:
                continue
            process, time_s, text = found.process, found.time_s, found.text
            if text.endswith(UNFINISHED):
                self._leave_out_unfinished(process)
                begun = text.removesuffix(UNFINISHED).rstrip()
                self._unfinished[process] = (time_s, begun, number)
                continue
            if resumed := RESUMED.match(text):
                if process not in self._unfinished:
                    self._leave_out_line(number, resumed[1], NOT_BEGUN)
                    continue
                time_s, begun, _ = self._unfinished.pop(process)
                text = begun + resumed[2]
            if call := CALL.match(text):
                yield from self._checked(number, time_s, process, call)
            elif not EVENT.match(text) and not text.endswith(DETACHED):
                self._incomplete(number, text, line.endswith("\n"))
        for process in list(self._unfinished):
            self._leave_out_unfinished(process)

    def _leave_out_unfinished(self, process: int) -> None:
        """Leaves out the call of a process whose end is missing, if the process has one."""
        if (begun := self._unfinished.pop(process, None)) is not None:
            self._leave_out_line(begun[2], begun[1].partition("(")[0], NOT_ENDED)

    def _leave_out_line(self, number: int, name: str, reason: str) -> None:
        """Leaves out the call in line `number`, for a reason that names the first such line."""
        first = self._first_line.setdefault(reason, number)
        self._leave_out(name, f"{reason} (first: line {first})")

    def _incomplete(self, number: int, text: str, is_whole: bool) -> None:
        """Leaves out an incomplete line if it is the last line of a recording that ended within
        this line. Raises ValueError for any other line that is neither a call nor an event."""
        if is_whole or not STARTED.match(text):
            allowed = (
                "a call has the form NAME(ARGUMENTS) = RESULT; remove the line, or record again"
            )
            raise ValueError(f"line {number}: {text[:60]!r} is no whole call: {allowed}")
        self._leave_out_line(number, text.partition("(")[0], CUT_OFF)

    def _checked(
        self, number: int, time_s: float, process: int, call: re.Match[str]
    ) -> Iterator[FileCall]:
        """Yields the operations of one system call, which `process` started at the time `time_s`.
        Raises ValueError, which names the line `number`, if the arguments do not fit the call.
        """
        try:
            yield from self._call(time_s, process, call)
        except (IndexError, ValueError) as error:
            reason = f"line {number}: {call[1]} has other arguments than strace writes"
            raise ValueError(reason) from error

    def _call(self, time_s: float, process: int, call: re.Match[str]) -> Iterator[FileCall]:
        name, answer = call[1], call[3]
        state = self._state(process)
        if answer == "?" or answer.startswith("-"):
            self._leave_out(name, FAILED)
            return
        arguments, result = list(split(call[2])), int(answer, 0)
        made = [
            FileCall(time_s, process, operation, path, offset, size, new_path)
            for operation, path, offset, size, new_path in self._done(
                state, name, arguments, result
            )
        ]
        if not made:
            self._leave_out(name, _why_nothing(name, result))
            return
        taken = DURATION.search(call[4])
        made[-1] = replace(made[-1], call=name, duration_s=float(taken[1]) if taken else None)
        yield from (one for one in made if self._is_under(one.path))

    def _state(self, process: int) -> _Process:
        return self._processes.setdefault(process, _Process(self._started_in))

    def _is_under(self, path: str) -> bool:
        return path == self._under or path.startswith(f"{self._under.rstrip('/')}/")

    def _done(
        self, state: _Process, name: str, arguments: list[str], result: int
    ) -> Iterator[Parsed]:
        if name in ("open", "openat", "creat", "openat2"):
            yield from self._opened(state, name, arguments, result)
        elif name in SPAWNING:
            self._spawned(state, arguments, result)
        elif name in ("chdir", "dup", "dup2", "dup3", "fcntl"):
            _moved(state, name, arguments, result)
        elif name in ("rename", "renameat", "renameat2"):
            old, new = (0, 1) if name == "rename" else (1, 3)
            paths = [_joined(state, arguments, at, name != "rename") for at in (old, new)]
            self._renamed(*paths)
            yield "rename", paths[0], 0, 0, paths[1]
        elif name in NAMED:
            operation, at = NAMED[name]
            if name == "unlinkat" and "AT_REMOVEDIR" in arguments[-1]:
                operation = "rmdir"
            path = _joined(state, arguments, at, at == 1)
            if operation == "delete":
                self._ends.pop(path, None)
            if path:
                yield operation, path, 0, 0, ""
        elif name in ("copy_file_range", "sendfile"):
            # For each of the two calls, the positions among the arguments of (descriptor of the
            # source, descriptor of the destination). copy_file_range has the source first, sendfile
            # has the destination first.
            ends = (0, 2) if name == "copy_file_range" else (1, 0)
            for at, call in zip(ends, ("read", "write"), strict=True):
                copied = _held(state, arguments[at:])
                if copied is not None:
                    yield from self._on_held(state, call, arguments, result, copied)
        elif (held := _held(state, arguments)) is not None:
            yield from self._on_held(state, name, arguments, result, held)

    def _opened(
        self, state: _Process, name: str, arguments: list[str], result: int
    ) -> Iterator[Parsed]:
        at = 0 if name in ("open", "creat") else 1
        path = _joined(state, arguments, at, at == 1)
        flags = "O_CREAT|O_TRUNC" if name == "creat" else arguments[at + 1]
        state.files[result] = _Open(path, 0, "O_APPEND" in flags)
        if "O_DIRECTORY" in flags:
            return
        if "O_TRUNC" in flags:
            self._ends[path] = 0
        if "O_CREAT" in flags:
            yield "create", path, 0, 0, ""
        yield "open", path, 0, 0, ""

    def _spawned(self, state: _Process, arguments: list[str], result: int) -> None:
        """Tracks a new thread or process, whose number is `result`.

        A thread shares the descriptor table of its creator, a child process gets a copy.
        """
        shared = any("CLONE_FILES" in argument for argument in arguments)
        files = state.files if shared else dict(state.files)
        self._processes[result] = _Process(state.directory, files)

    def _on_held(
        self, state: _Process, name: str, arguments: list[str], result: int, held: _Open
    ) -> Iterator[Parsed]:
        if name == "close":
            del state.files[_number(arguments[0])]
            yield "close", held.path, 0, 0, ""
        elif name in ("read", "readv", "write", "writev") and result:
            if held.appends and "write" in name:
                held.place = self._ends.get(held.path, 0)
            yield self._transferred(name, held.path, held.place, result)
            held.place += result
        elif name in ("pread64", "preadv", "pwrite64", "pwritev") and result:
            yield self._transferred(name, held.path, _number(arguments[3]), result)
        elif name in ("lseek", "_llseek"):
            held.place = result
        elif name in HELD:
            yield HELD[name], held.path, 0, 0, ""

    def _transferred(self, name: str, path: str, place: int, size: int) -> Parsed:
        self._ends[path] = max(self._ends.get(path, 0), place + size)
        return "pread" if "read" in name else "pwrite", path, place, size, ""

    def _renamed(self, old: str, new: str) -> None:
        """Updates the paths of open files after a rename."""
        self._ends[new] = self._ends.pop(old, 0)
        for process in self._processes.values():
            for held in process.files.values():
                if held.path == old:
                    held.path = new


def _why_nothing(name: str, result: int) -> str:
    """Returns the reason why a successful system call becomes no operation, for example because it
    moved no byte. `result`: the return value of the system call."""
    if name in TRACKED:
        return BOOKKEEPING
    return NOTHING_MOVED if name in TRANSFERS and not result else NO_FILE


def _moved(state: _Process, name: str, arguments: list[str], result: int) -> None:
    if name == "chdir":
        state.directory = _joined(state, arguments, 0, False)
    elif (held := _held(state, arguments)) is not None and (
        name != "fcntl" or "F_DUPFD" in arguments[1]
    ):
        state.files[result] = held


def _held(state: _Process, arguments: list[str]) -> _Open | None:
    number = arguments[0].partition("<")[0] if arguments else ""
    return state.files.get(int(number)) if number.isdigit() else None


def _joined(state: _Process, arguments: list[str], at: int, has_directory: bool) -> str:
    """Returns the absolute path that a system call acts on. `at`: position of the path among the
    arguments.

    A relative path starts at the working directory. If `has_directory`, the argument before the
    path is AT_FDCWD (the working directory) or the descriptor of another directory, at which the
    path starts. An empty path stands for the file of the descriptor in the first argument; if that
    file is unknown, returns "".
    """
    path = arguments[at]
    if not path:
        held = _held(state, arguments)
        return held.path if held else ""
    start = state.directory
    if has_directory and not arguments[at - 1].startswith("AT_FDCWD"):
        held = _held(state, arguments[at - 1 :])
        start = held.path if held else start
    return posixpath.normpath(posixpath.join(start, path))


def _number(text: str) -> int:
    return int(text.partition("<")[0], 0)


def split(text: str) -> Iterator[str]:
    """Yields the arguments of a system call.

    Strings are yielded without their quotes, structures as unparsed text.
    """
    parts: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == ",":
            yield "".join(parts)
            parts, at = [], at + 1
            continue
        found = ARGUMENT.match(text, at)
        if found is None:
            parts, at = [*parts, text[at]], at + 1
        elif text[at] in CLOSING:
            end = _end(text, at)
            parts, at = [*parts, text[at:end]], end
        else:
            # Spaces are stripped only around unquoted text, because a quoted name may end in
            # spaces.
            plain = found[1] is None
            parts, at = [*parts, found[0].strip() if plain else _unescaped(found[1])], found.end()
    yield "".join(parts)


def _end(text: str, at: int) -> int:
    """Returns the offset just after the bracket that closes the bracket at the offset `at`.
    Brackets inside strings are ignored.
    """
    depth = 0
    while at < len(text):
        if text[at] == '"':
            found = ARGUMENT.match(text, at)
            at = found.end() if found else len(text)
            continue
        depth += (text[at] in CLOSING) - (text[at] in CLOSING.values())
        at += 1
        if not depth:
            break
    return at


def _unescaped(text: str) -> str:
    octal = r"\\([0-7]{1,3}|x[0-9a-f]{2}|.)"

    def plain(found: re.Match[str]) -> str:
        word = found[1]
        if word[0] in "01234567":
            return chr(int(word, 8))
        return chr(int(word[1:], 16)) if len(word) == 3 else ESCAPES.get(word, word)

    return re.sub(octal, plain, text)


IMPORTER = CallImporter(TITLE, recognises, read)
