"""An agent: runs one part of a load where its controller started it, and leaves nothing behind.

One JSON document a line. In: a plan, then `{"start_at_monotonic_s": t}` or
`{"start_at_unix_s": t}`. Out: `{"ready": ...}` once prepared, and again wherever all wait for each
other (`run.turns`), `{"progress": [share, phase], "seen": [...]}` now and then, and at the end
`{"report": ..., "spans": ..., "recorded": ...}` or `{"error": kind, "text": ...}`.

The end of the input, SIGTERM and SIGINT stop it: what it made is removed, also when its controller
has vanished. With `--keep FILE` the answer goes to a file as well, and once the load has started
the end of the input stops it no more, only `{"stop": true}` does: a long run is then not lost with
the connection. FILE with `.lock` added is locked for as long as the agent lives.
"""

from __future__ import annotations

import argparse
import base64
import fcntl
import json
import os
import select
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from dfslab import _core
from dfslab.fleet.watch import Seen
from dfslab.spec.clock import REAL, Clock

TELL_EVERY_S = 0.2
BLOCK_BYTES = 1 << 16


class Stopped(Exception):
    """The controller has gone, or wants no more."""


class ProtocolError(Exception):
    """What the controller said makes no sense here."""


class Lines:
    """Lines of a descriptor, read without a buffer that `select` would not know of."""

    def __init__(self, descriptor: int):
        self._descriptor = descriptor
        self._buffer = bytearray()

    def check(self) -> None:
        """Stopped when the input has ended; what else has arrived is kept."""
        while select.select([self._descriptor], [], [], 0)[0]:
            self._take()

    def waiting(self) -> bool:
        """Whether a whole document is here."""
        return b"\n" in self._buffer

    def _take(self) -> None:
        block = os.read(self._descriptor, BLOCK_BYTES)
        if not block:
            raise Stopped("the controller has gone")
        self._buffer += block

    def next(self) -> dict[str, Any]:
        """The next document; Stopped at the end of the input."""
        while b"\n" not in self._buffer:
            self._take()
        line, _, rest = self._buffer.partition(b"\n")
        self._buffer = rest
        try:
            document = json.loads(line)
        except ValueError as error:
            raise ProtocolError(f"{bytes(line[:60])!r} is no JSON document: {error}") from error
        if not isinstance(document, dict):
            raise ProtocolError(f"{bytes(line[:60])!r} is no JSON object")
        return document


class Agent:
    """One load for one controller; what it found is kept in a file where one is given."""

    def __init__(self, lines: Lines, out: int, keep: Path | None = None):
        self._lines = lines
        self._out = out
        self._keep = keep
        self._told_s = 0.0
        self._seen = Seen()
        self._started = self._alone = False

    def run(self) -> None:
        """Take the plan, run it, answer."""
        try:
            plan = self._lines.next()
            report, spans, recorded = _core.run_load(
                json.dumps(plan), self._progress, self._gate, self._watch
            )
        except Stopped as stopped:
            # Mostly nobody reads this any more; whoever does learns what could not be removed.
            left = getattr(stopped, "__notes__", [])
            self._say({"error": "stopped", "text": str(stopped), "left": left})
        except ProtocolError as error:
            self._say({"error": "protocol", "text": str(error)})
        except _core.InputError as error:
            self._say({"error": "input", "text": str(error)})
        except _core.RunError as error:
            self._say({"error": "run", "text": str(error)})
        else:
            kept = {"spans": spans, "recorded": base64.b64encode(recorded).decode()}
            answer = {"report": json.loads(report), **kept}
            if self._keep is not None:
                write_atomically(self._keep, {"plan": plan, "answer": answer})
            self._say(answer)

    def _gate(self) -> float:
        """Ready; the agreed start as this process reads CLOCK_MONOTONIC.

        Once alone it begins its later phases when it gets there: nobody is left to agree with.
        """
        clocks = {
            "monotonic_s": REAL.monotonic_s(),
            "unix_s": REAL.unix_ns() * 1e-9,
            "boot": boot(),
        }
        self._say({"ready": clocks})
        try:
            told = {} if self._alone else self._lines.next()
        except Stopped:
            if self._keep is None or not self._started:
                raise
            self._alone, told = True, {}
        if told.get("stop"):
            raise Stopped("stopped by the controller")
        start_s = REAL.monotonic_s() if self._alone else start_of(told)
        self._started = True
        return start_s

    def _watch(self, *counts: int) -> None:
        self._seen = self._seen.then(Seen(*counts))

    def _progress(self, share: float, phase: str) -> None:
        if not self._alone:
            self._check()
        now_s = REAL.monotonic_s()
        if now_s >= self._told_s + TELL_EVERY_S:
            self._told_s = now_s
            self._say({"progress": [share, phase], "seen": self._seen})
            self._seen = self._seen._replace(latency_ns_max=0)

    def _check(self) -> None:
        """Stopped when the controller wants that, or has gone and the answer is for it alone."""
        try:
            self._lines.check()
        except Stopped:
            if self._keep is None or not self._started:
                raise
            self._alone = True
        if self._started and self._lines.waiting() and self._lines.next().get("stop"):
            raise Stopped("stopped by the controller")

    def _say(self, document: Mapping[str, Any]) -> None:
        if self._alone:
            return
        left = memoryview(json.dumps(document).encode() + b"\n")
        try:
            while left:
                left = left[os.write(self._out, left) :]
        except BrokenPipeError as error:
            if self._keep is None or not self._started:
                raise Stopped("the controller has gone") from error
            self._alone = True


def write_atomically(path: Path, document: Mapping[str, Any]) -> None:
    """A JSON file that is there whole or not at all."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(json.dumps(document), "utf-8")
    beside.replace(path)


def lock_beside(path: Path) -> Path:
    """The file that an agent which keeps its answer in `path` holds locked while it lives."""
    return path.with_name(f"{path.name}.lock")


def boot() -> str:
    """The kernel's name for the time since it was started: whoever shares it shares its clock."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_of(told: Mapping[str, Any], clock: Clock = REAL) -> float:
    """The start that a controller tells, as a reading of this machine's CLOCK_MONOTONIC.

    A start in Unix time is as good as the two machines' clocks are synchronised.
    """
    for key, offset_s in (
        ("start_at_monotonic_s", 0.0),
        ("start_at_unix_s", clock.monotonic_s() - clock.unix_ns() * 1e-9),
    ):
        if isinstance(told.get(key), int | float):
            return float(told[key]) + offset_s
    raise ProtocolError(f"{told}: neither start_at_monotonic_s nor start_at_unix_s")


def _stop(number: int, _frame: object) -> NoReturn:
    raise Stopped(f"stopped by {signal.Signals(number).name}")


def main() -> None:
    """Serve the controller at the other end of the standard streams."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    parser = argparse.ArgumentParser(prog="dfslab.fleet.agent")
    parser.add_argument("--keep", type=Path)
    keep = parser.parse_args().keep
    # Stopped here: the controller has gone, and nobody is left to be told.
    with suppress(Stopped), _held(keep):
        Agent(Lines(sys.stdin.fileno()), sys.stdout.fileno(), keep).run()
        return
    sys.exit(1)


@contextmanager
def _held(keep: Path | None) -> Iterator[None]:
    """The lock that says to other processes, of other namespaces too, that this one lives."""
    if keep is None:
        yield
        return
    with lock_beside(keep).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    main()
