"""Converts file traces of other tools to the operations that the workload `replay` executes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dfslab.imports import contract
from dfslab.imports.contract import CallImporter, FileCall, Recording, Replay
from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError
from dfslab.spec.streams.vocabulary import Given, OperationName

KEY = "workload.trace"
# Largest number of bytes that Linux moves in one call (read(2): 0x7ffff000).
MOST_CALL_BYTES = 0x7FFFF000
# Largest offset at which an operation in a file may end. This keeps all offsets within signed
# 64-bit numbers.
MOST_OFFSET_BYTES = 1 << 62
# Largest number of bytes that the load generator transfers in one call.
MOST_TRANSFER_BYTES = 1 << 30


def load(path: Path, form: str, recording: Recording, clients: int) -> Replay:
    """Reads a trace with the importer named `form`, and distributes the processes of the trace
    among `clients` clients.

    Raises InputError if the importer cannot read the file; the message names the importers that
    recognise it.
    """
    with inputs.seekable(KEY, [path]) as files:
        return _read(files[0], form, recording, clients)


def _read(path: Path, form: str, recording: Recording, clients: int) -> Replay:
    """Reads a recording like `load`, but only from a regular file. Raises InputError if the file
    cannot be read or has no operation below the requested directory."""
    importer = contract.importer(form)
    try:
        if not isinstance(importer, CallImporter):
            return importer.read(path)
        found = replay(under(importer.read(path, recording), recording.under), clients)
        if not found.given:
            raise ValueError(f"holds no operation on files under {recording.under}")
        return found
    except OSError as error:
        raise inputs.unreadable(KEY, path, error) from error
    except ValueError as error:
        others = [name for name in contract.recognised(path) if name != form]
        hint = f"; it looks like form = {' or '.join(map(repr, others))}" if others else ""
        raise InputError(KEY, str(path), f"{error}{hint}") from error


def under(trace: Iterable[FileCall], directory: str) -> Iterator[FileCall]:
    """Yields the calls on files below a directory, and all calls on block devices, which have no
    path."""
    start = directory.rstrip("/") + "/"
    for call in trace:
        if not call.path.startswith("/") or f"{call.path}/".startswith(start):
            yield call


def replay(trace: Iterable[FileCall], clients: int) -> Replay:
    """Converts a trace to operations of a stream. The files of the trace become numbers, and its
    processes become clients.

    The first client that uses a file owns the file. Only the owner creates, renames, removes and
    resizes the file and sets its attributes. If another client does this in the trace, the
    operation is reassigned to the owner. Operations that cannot succeed, such as a second create or
    a close without an open, are omitted. If a client accesses a file that it has not opened, an
    open is added before this access. A `get_xattr` becomes a `set_xattr` if no attribute of the
    file was set yet.
    """
    return _Replaying(clients).all(trace)


class _Replaying:
    def __init__(self, clients: int) -> None:
        self._clients = clients
        self._found = Replay()
        self._processes: dict[int, int] = {}
        self._files: dict[str, tuple[int, int]] = {}
        self._next: dict[int, int] = {}
        self._held: set[tuple[int, int, int]] = set()
        self._tagged: set[tuple[int, int]] = set()
        self._first_s: float | None = None

    def all(self, trace: Iterable[FileCall]) -> Replay:
        for done in trace:
            process = self._processes.setdefault(done.process, len(self._processes))
            self._one(done, process % self._clients)
        return self._found

    def _one(self, done: FileCall, client: int) -> None:
        for part in _parts(done):
            self._part(part, client)

    def _part(self, done: FileCall, client: int) -> None:
        is_new = done.path not in self._files
        if is_new and done.operation == "rmdir":
            self._drop(done)
            return
        owner, file = self._file(done.path, client)
        operation = done.operation
        if operation == "create" and not is_new:
            self._drop(done)
            return
        holds = (client, owner, file)
        if operation == "open" and holds in self._held:
            self._drop(done)
            return
        if operation in ("close", "pread", "pwrite", "fsync") and holds not in self._held:
            if operation == "close":
                self._drop(done)
                return
            # The trace has no open of this file by this process, so open the file before the
            # operation.
            opening = replace(done, duration_s=None)
            self._say(opening, client, "open", owner, file)
            self._held.add(holds)
        if operation == "get_xattr" and (owner, file) not in self._tagged:
            operation = "set_xattr"
        if operation == "set_xattr":
            self._tagged.add((owner, file))
        self._follow(done, operation, holds)
        self._say(done, client, operation, owner, file)

    def _follow(
        self, done: FileCall, operation: OperationName, holds: tuple[int, int, int]
    ) -> None:
        """Updates the set of open files and the map from names to files after `operation`. `holds`
        identifies an open file in the set by (client, owner of the file, number of the file).
        """
        if operation == "open":
            self._held.add(holds)
        elif operation == "close":
            self._held.discard(holds)
        elif operation in ("delete", "rmdir"):
            self._held -= {held for held in self._held if held[1:] == holds[1:]}
            del self._files[done.path]
        elif operation == "rename":
            self._files[done.new_path] = self._files.pop(done.path)

    def _file(self, path: str, client: int) -> tuple[int, int]:
        if path not in self._files:
            number = self._next.get(client, 0)
            self._next[client] = number + 1
            self._files[path] = (client, number)
        return self._files[path]

    def _say(
        self, done: FileCall, client: int, operation: OperationName, owner: int, file: int
    ) -> None:
        names = (
            "create",
            "rename",
            "delete",
            "truncate",
            "append",
            "write",
            "mkdir",
            "rmdir",
            "set_xattr",
        )
        if self._first_s is None:
            self._first_s = done.start_s
        moves = operation in ("pread", "pwrite")
        self._found.given.append(
            Given(
                client=owner if operation in names else client,
                operation=operation,
                file=file,
                owner=owner,
                size_bytes=done.size_bytes if moves else 0,
                offset_bytes=done.offset_bytes if moves else 0,
            )
        )
        self._found.starts_s.append(done.start_s - self._first_s)
        self._found.durations_s.append(done.duration_s)

    def _drop(self, done: FileCall) -> None:
        if done.call:
            self._found.dropped[done.call] += 1


def _parts(done: FileCall) -> Iterator[FileCall]:
    """Splits a call into calls of at most MOST_TRANSFER_BYTES bytes, the most that the load
    generator transfers in one call.

    Raises ValueError for a call that moves more than MOST_CALL_BYTES, or that ends beyond
    MOST_OFFSET_BYTES. Otherwise, a malformed trace could fill the disk.
    """
    end_bytes = done.offset_bytes + done.size_bytes
    if done.size_bytes > MOST_CALL_BYTES or end_bytes > MOST_OFFSET_BYTES:
        where = f"{done.operation} of {done.size_bytes} bytes at offset {done.offset_bytes}"
        allowed = f"at most {MOST_CALL_BYTES} bytes, below offset {MOST_OFFSET_BYTES}"
        raise ValueError(f"holds a {where}; a system call moves {allowed}")
    if done.operation not in ("pread", "pwrite") or done.size_bytes <= MOST_TRANSFER_BYTES:
        yield done
        return
    for moved in range(0, done.size_bytes, MOST_TRANSFER_BYTES):
        size_bytes = min(MOST_TRANSFER_BYTES, done.size_bytes - moved)
        offset_bytes = done.offset_bytes + moved
        # The parts have no duration, because only the duration of the whole call is known.
        yield replace(done, offset_bytes=offset_bytes, size_bytes=size_bytes, duration_s=None)


def times_of(found: Replay, factor: float) -> list[list[float]]:
    """Returns, for each client, the times at which the replay starts the client's operations, in
    seconds after the start of the run.

    The start of an operation is its recorded time divided by `factor`. If this time is earlier than
    the start of the client's previous operation, the previous start is used.
    """
    times: list[list[float]] = [[] for _ in range(1 + max(one.client for one in found.given))]
    for one, start_s in zip(found.given, found.starts_s, strict=True):
        own = times[one.client]
        # Reassigned operations may be out of order. A start is therefore never earlier than the
        # previous start.
        own.append(max(start_s / factor, own[-1] if own else 0.0))
    return times


def largest_transfer(given: Sequence[Given]) -> int:
    """Returns the size of the largest operation in bytes; at least 1."""
    return max(1, *(one.size_bytes for one in given))
