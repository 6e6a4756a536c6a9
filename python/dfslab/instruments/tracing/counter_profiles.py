"""Converts the counters of servers into call profiles, which have sums for each kind of call.

A counter does not record individual calls, so the profiles have no spans and no quantiles. Total,
shortest and longest durations are present only if the server records them. No value is estimated.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from dfslab import discover
from dfslab.imports import plain_file
from dfslab.instruments.tracing import callprofile
from dfslab.instruments.tracing.callprofile import CallTreeRow, File
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.counter_format import CounterFormat, Counters, NotUnderstood
from dfslab.testbeds.capabilities import Counting

# Largest size of a file with counters. Counter dumps of servers have a few kilobytes.
MOST_BYTES = 64 << 20
HEAD_BYTES = 1 << 18


def formats() -> dict[str, CounterFormat]:
    """Returns the formats of servers' counters. Keys are names of file systems. File systems
    without such a format are not included.
    """
    folders = discover.members(discover.FILE_SYSTEMS)
    return {
        name: discover.declared(folder / "counters.py", "FORMAT", CounterFormat)
        for name, folder in folders.items()
        if (folder / "counters.py").is_file()
    }


def recognise(path: Path) -> str:
    """Returns the name of the file system whose servers wrote the counters in a file. Returns "" if
    the file has no known counters.
    """
    head = plain_file.beginning(path, HEAD_BYTES)
    return next((name for name, one in formats().items() if one.recognise(head)), "")


def read(path: Path) -> list[tuple[str, File]]:
    """Returns (name, profile) for every process whose counters are in the file. Raises InputError,
    with the reason, if the file cannot be read as counters.
    """
    text = plain_file.content(path, MOST_BYTES, "trace").decode(errors="replace")
    return [(str(path), file) for file in understood(recognise(path), text, path.name)]


def understood(system: str, text: str, name: str, empty: bool = False) -> list[File]:
    """Returns the profiles of the processes whose counters are in `text`, which has the format of
    the file system `system`.

    `name` labels the text in errors. Raises InputError if the text does not have this format, or if
    no call was counted and `empty` is false.
    """
    known = formats()[system]
    try:
        found = known.read(text, name)
    except NotUnderstood as error:
        raise InputError("trace", name, f"{known.source}: {error}") from error
    files = [_file(f"{system}-{one.service}", one) for one in found]
    if not empty and not any(row.count for file in files for row in file.nodes):
        raise InputError("trace", name, f"{known.source}: has no call")
    return files


def _file(service: str, reported: Counters) -> File:
    """Converts the counters of one process to a call profile."""
    places = {row.step: place for place, row in enumerate(reported.rows)}
    rows = [
        CallTreeRow(
            above=places[row.above] if row.above else -1,
            step=row.step,
            kind=row.kind,
            count=row.count,
            errors=row.errors,
            bytes=row.bytes,
            timed=row.total_ns is not None,
            total_ns=row.total_ns or 0,
            min_ns=row.min_ns,
            max_ns=row.max_ns,
        )
        for row in reported.rows
    ]
    return _with_own_times(
        File(
            format=callprofile.FORMAT,
            service=service,
            instance=reported.instance,
            pid=0,
            started_unix_ns=0,
            written_unix_ns=0,
            last=True,
            trees=0,
            open_calls=0,
            counted=True,
            losses=callprofile.Losses(),
            points=[],
            nodes=rows,
        )
    )


def _with_own_times(file: File) -> File:
    """Returns the profile with self times added.

    The self time of a row is its total time minus the total times of its child rows.
    """
    below = [0] * len(file.nodes)
    for row in file.nodes:
        if row.above >= 0 and row.kind != "detail":
            below[row.above] += row.total_ns
    rows = [
        row.model_copy(update={"self_ns": max(0, row.total_ns - part)})
        for row, part in zip(file.nodes, below, strict=True)
    ]
    return file.model_copy(update={"nodes": rows})


def between(earlier: Iterable[File], later: Sequence[File]) -> list[File]:
    """Returns one profile for each process, with the calls between two readings of its counters.

    If a process restarted between the readings, its counters began at zero again. Its profile then
    has all calls of the later reading.
    """
    before = {(file.service, file.instance): file for file in earlier}
    found = []
    for file in later:
        was = before.get((file.service, file.instance))
        reported = callprofile.since(was, file) if was else file
        restarted = any(row.count < 0 or row.total_ns < 0 for row in reported.nodes)
        found.append(file if restarted else _with_own_times(reported))
    return found


def record(testbed: Counting, system: str, command: Sequence[str], folder: Path) -> int:
    """Runs a command on the first client host of a mounted testbed. Returns the exit status of the
    command.

    Writes one profile for each server to `folder`, with the calls that the server counted during
    the command. If the file system also recorded single calls, writes these calls to `folder`, too.
    """
    host = testbed.clients[0]
    script = f'cd {shlex.quote(str(testbed.mount_point))} && exec "$@"'
    with testbed.tracing(folder):
        before = _counted(testbed, system)
        # The command's output goes to stderr, because standard output is reserved for the profile.
        done = subprocess.run(
            host.command(["sh", "-c", script, "sh", *command]),
            env=dict(host.env),
            stdout=sys.stderr,
        )
        after = _counted(testbed, system)
    for number, file in enumerate(between(before, after), 1):
        if any(row.count for row in file.nodes):
            path = folder / f"{file.service}-{number}{callprofile.SUFFIX}"
            path.write_text(callprofile.written(file), encoding="utf-8")
    return done.returncode


def _counted(testbed: Counting, system: str) -> list[File]:
    texts = testbed.counters().items()
    return [file for name, text in texts for file in understood(system, text, name, empty=True)]
