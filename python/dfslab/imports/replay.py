"""Conversion of file traces into the replayed operations of a stream."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dfslab.imports import dxt, strace
from dfslab.imports.strace import Done
from dfslab.spec.model import InputError
from dfslab.spec.streams.vocabulary import OPERATIONS, Given, OperationName

# The canonical form of core/workload/operation.rs: client, kind, index, file, bytes, bytes of a
# transfer, offset, owner, phase; then when it was begun, ns after the start.
RECORDED = struct.Struct("<IIQQQQQIIQ")
# blkparse: device, processor, number, seconds, process, action, what, sector + sectors.
BLOCK_LINE = re.compile(
    r"^\s*(\d+,\d+)\s+\d+\s+\d+\s+([\d.]+)\s+(\d+)\s+Q\s+([A-Z]+)"
    r"\s+(\d+) \+ (\d+)"
)
SECTOR_BYTES = 512
KEY = "workload.trace"


@dataclass
class Replay:
    """Operations for core's `given`, their start times (s after the first, or after a recorded
    run's start), and bytes of one transfer (0: those of the largest operation)."""

    given: list[Given] = field(default_factory=list)
    starts_s: list[float] = field(default_factory=list)
    transfer_bytes: int = 0


def load(path: Path, form: str, under: str, started_in: str, clients: int) -> Replay:
    """Read a trace and assign its processes to `clients`. InputError if it is no trace."""
    try:
        if form == "recorded":
            return recorded(path.read_bytes())
        if form == "darshan":
            return _filled(replay(dxt.log(path), clients), under)
        with path.open(encoding="utf-8", errors="surrogateescape") as lines:
            readers = {"dxt": dxt.text, "blkparse": blkparse}
            read = readers.get(form, lambda text: strace.read(text, under, started_in))
            return _filled(replay(read(lines), clients), under)
    except OSError as error:
        raise InputError(KEY, str(path), f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(KEY, str(path), str(error)) from error


def _filled(found: Replay, under: str) -> Replay:
    if not found.given:
        raise ValueError(f"holds no operation on files under {under}")
    return found


def recorded(content: bytes) -> Replay:
    """A stream recorded by the load generator. ValueError if the content is no such stream."""
    if not content or len(content) % RECORDED.size:
        raise ValueError(f"is no recorded stream: not a multiple of {RECORDED.size} bytes")
    found, counts = Replay(), dict[int, int]()
    for row in RECORDED.iter_unpack(content):
        client, kind, index, file, size, transfer, offset, owner, _, begun_ns = row
        found.transfer_bytes = max(found.transfer_bytes, transfer)
        # An older format (without times) may have a matching file size: check the indices.
        if index != counts.get(client, 0):
            raise ValueError(f"is no recorded stream: client {client} has no operation {index} now")
        counts[client] = index + 1
        if kind >= len(OPERATIONS):
            raise ValueError(f"is no recorded stream: there is no operation {kind}")
        found.given.append(
            Given(
                client=client,
                operation=OPERATIONS[kind],
                file=file,
                size_bytes=size,
                offset_bytes=offset,
                owner=owner,
            )
        )
        found.starts_s.append(begun_ns * 1e-9)
    return found


def blkparse(lines: Iterable[str]) -> list[Done]:
    """Queued reads and writes in the output of `blkparse`; each device is one file, which begins
    at the lowest sector in the trace."""
    found: list[tuple[str, float, int, OperationName, int, int]] = []
    for line in lines:
        if (part := BLOCK_LINE.match(line)) and (("R" in part[4]) != ("W" in part[4])):
            operation: OperationName = "pread" if "R" in part[4] else "pwrite"
            sector, sectors = int(part[5]), int(part[6])
            if sectors:
                found.append((part[1], float(part[2]), int(part[3]), operation, sector, sectors))
    lowest: dict[str, int] = {}
    for device, _, _, _, sector, _ in found:
        lowest[device] = min(sector, lowest.get(device, sector))
    found.sort(key=lambda one: one[1])
    return [
        Done(
            start_s,
            process,
            operation,
            device,
            (sector - lowest[device]) * SECTOR_BYTES,
            sectors * SECTOR_BYTES,
        )
        for device, start_s, process, operation, sector, sectors in found
    ]


def replay(trace: Iterable[Done], clients: int) -> Replay:
    """Map files to numbers and processes to clients; the first client to use a file owns it.

    Only the owner creates, renames, removes and resizes a file; such an operation of another
    process is reassigned to the owner. Impossible operations (a second create, a close without an
    open) are omitted.
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

    def all(self, trace: Iterable[Done]) -> Replay:
        for done in trace:
            process = self._processes.setdefault(done.process, len(self._processes))
            self._one(done, process % self._clients)
        return self._found

    def _one(self, done: Done, client: int) -> None:
        is_new = done.path not in self._files
        if is_new and done.operation == "rmdir":
            return
        owner, file = self._file(done.path, client)
        operation = done.operation
        if operation == "create" and not is_new:
            return
        holds = (client, owner, file)
        if operation == "open" and holds in self._held:
            return
        if operation in ("close", "pread", "pwrite", "fsync") and holds not in self._held:
            if operation == "close":
                return
            # The file was opened before the trace began, or by another process: open it first.
            self._say(done, client, "open", owner, file)
            self._held.add(holds)
        if operation == "get_xattr" and (owner, file) not in self._tagged:
            operation = "set_xattr"
        if operation == "set_xattr":
            self._tagged.add((owner, file))
        self._follow(done, operation, holds)
        self._say(done, client, operation, owner, file)

    def _follow(self, done: Done, operation: OperationName, holds: tuple[int, int, int]) -> None:
        """Update open files and the map from names to files by an operation."""
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
        self, done: Done, client: int, operation: OperationName, owner: int, file: int
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


def times_of(found: Replay, factor: float) -> list[list[float]]:
    """Scheduled starts per client, s after the run's start, accelerated by `factor`."""
    times: list[list[float]] = [[] for _ in range(1 + max(one.client for one in found.given))]
    for one, start_s in zip(found.given, found.starts_s, strict=True):
        own = times[one.client]
        # Reassigned operations may be out of order, so keep the times ascending.
        own.append(max(start_s / factor, own[-1] if own else 0.0))
    return times


def largest_transfer(given: Sequence[Given]) -> int:
    """The largest size of an operation in bytes; at least 1."""
    return max(1, *(one.size_bytes for one in given))
