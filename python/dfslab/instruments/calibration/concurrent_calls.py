"""Measures how many files per second one stream, and several streams, create and delete.

Each stream is a process. Threads of one Python process would wait for each other in the
interpreter, so their rate would be that of about one stream on every file system.

The module is also the program of a stream: `concurrent_calls DIRECTORY FILES SECONDS`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dfslab.spec.clock import REAL

MODULE = "dfslab.instruments.calibration.concurrent_calls"
STREAMS = 8
# A stream ends after FILES files, or after LIMIT_S seconds.
FILES, LIMIT_S = 1000, 0.5
# All streams begin each phase this many seconds after the order to begin, so that they overlap.
AHEAD_S = 0.02
# Most attempts. An attempt is repeated if several streams were slower than a single stream.
ATTEMPTS = 3
FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL
UNITS = {
    "file_creates_alone": "1/s",
    "file_deletes_alone": "1/s",
    "file_creates": "1/s",
    "file_deletes": "1/s",
}


@dataclass(frozen=True)
class FileRates:
    """Files that all streams together created and deleted per second."""

    creates: float
    deletes: float


def measure(folder: Path) -> dict[str, float]:
    """Measures the rates of one stream and of STREAMS streams, in new directories of `folder`.

    Several streams that are slower than one stream show that other work disturbed the measurement.
    The measurement is then repeated, up to ATTEMPTS times. Other work only lowers rates, so the
    highest rate of the attempts is returned.
    """
    alone, together = [], []
    for attempt in range(ATTEMPTS):
        alone.append(_rates(folder / f"alone-{attempt}", 1))
        together.append(_rates(folder / f"together-{attempt}", STREAMS))
        first, all_streams = _highest(alone), _highest(together)
        if all_streams.creates >= first.creates and all_streams.deletes >= first.deletes:
            break
    return {
        "file_creates_alone": first.creates,
        "file_deletes_alone": first.deletes,
        "file_creates": all_streams.creates,
        "file_deletes": all_streams.deletes,
    }


def _highest(rates: Sequence[FileRates]) -> FileRates:
    return FileRates(max(one.creates for one in rates), max(one.deletes for one in rates))


def _rates(folder: Path, streams: int) -> FileRates:
    folder.mkdir()
    with streams_of(folder, streams) as processes:
        return FileRates(_phase(processes), _phase(processes))


@contextmanager
def streams_of(folder: Path, streams: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Yields the processes of the streams, each of which waits to begin. All processes have ended
    at the end of the context, so no process creates a file later.

    The processes are in another session: an interrupt by the keyboard reaches this process only.
    """
    words = [sys.executable, "-P", "-m", MODULE]
    pipe = subprocess.PIPE
    processes: list[subprocess.Popen[str]] = []
    try:
        for number in range(streams):
            given = [str(folder / str(number)), str(FILES), str(LIMIT_S)]
            processes.append(
                subprocess.Popen(
                    [*words, *given], stdin=pipe, stdout=pipe, text=True, start_new_session=True
                )
            )
        for one in processes:
            _answer(one)
        yield processes
    finally:
        for one in processes:
            with suppress(OSError):
                one.communicate()


def _phase(processes: Sequence[subprocess.Popen[str]]) -> float:
    """Lets all streams do their next phase. Returns their files per second, from the first begin to
    the last end."""
    begin_s = REAL.monotonic_s() + AHEAD_S
    for one in processes:
        assert one.stdin is not None, "stdin is a pipe"
        one.stdin.write(f"{begin_s}\n")
        one.stdin.flush()
    found = [_answer(one) for one in processes]
    began_s, ended_s = min(one[0] for one in found), max(one[1] for one in found)
    return sum(one[2] for one in found) / max(1e-9, ended_s - began_s)


def _answer(process: subprocess.Popen[str]) -> tuple[float, float, int]:
    """Returns (began_s, ended_s, files) of a stream's phase. Raises the stream's OSError."""
    assert process.stdout is not None, "stdout is a pipe"
    line = process.stdout.readline()
    if not line:
        raise OSError(f"a stream of the probe ended with code {process.wait()}")
    began_s, ended_s, files, *error = json.loads(line)
    if error:
        raise OSError(*error)
    return began_s, ended_s, files


def _stream(folder: str, files: int, limit_s: float) -> None:
    """Works as one stream: creates files in the new directory `folder` and then deletes them. Each
    phase begins at the time in the next line of standard input. The stream ends if its standard
    input is closed."""
    os.mkdir(folder)
    made: list[str] = []

    def create(path: str) -> None:
        os.close(os.open(path, FLAGS))
        made.append(path)

    _print(0.0, 0.0, 0)
    phases: list[tuple[Callable[[str], None], Sequence[str]]] = [
        (create, [f"{folder}/{at}" for at in range(files)]),
        (os.unlink, made),
    ]
    for call, paths in phases:
        begin_s = sys.stdin.readline()
        if not begin_s:
            return
        REAL.sleep(max(0.0, float(begin_s) - REAL.monotonic_s()))
        _print(*_timed(call, paths, limit_s))


def _timed(call: Callable[[str], None], paths: Sequence[str], limit_s: float) -> list[float]:
    """Calls `call` for each path until the time limit. Returns [began_s, ended_s, calls]."""
    began_s, calls = REAL.monotonic_s(), 0
    until_s = began_s + limit_s
    for path in paths:
        call(path)
        calls += 1
        if REAL.monotonic_s() >= until_s:
            break
    return [began_s, REAL.monotonic_s(), calls]


def _print(*values: float | str | None) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        _stream(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
    except OSError as error:
        _print(0.0, 0.0, 0, error.errno or 0, error.strerror or "", sys.argv[1])
