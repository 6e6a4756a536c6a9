"""An agent: runs one part of a load where its controller started it, and leaves nothing behind.

One JSON document a line. In: a plan, then `{"start_at_monotonic_s": t}` or
`{"start_at_unix_s": t}`. Out: `{"ready": ...}` once prepared, and again before each later phase of
the stream, `{"progress": [share, phase]}` now and then, and at the end
`{"report": ..., "spans": ..., "recorded": ...}` or `{"error": kind, "text": ...}`.

The end of the input, SIGTERM and SIGINT stop it: what it made is removed, also when its controller
has vanished.
"""

from __future__ import annotations

import base64
import json
import os
import select
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from dfslab import _core

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
    """One load for one controller."""

    def __init__(self, lines: Lines, out: int):
        self._lines = lines
        self._out = out
        self._told_s = 0.0

    def run(self) -> None:
        """Take the plan, run it, answer."""
        try:
            plan = self._lines.next()
            report, spans, recorded = _core.run_load(json.dumps(plan), self._progress, self._gate)
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
            answer = {"spans": spans, "recorded": base64.b64encode(recorded).decode()}
            self._say({"report": json.loads(report), **answer})

    def _gate(self) -> float:
        """Ready; the agreed start as this process reads CLOCK_MONOTONIC."""
        clocks = {"monotonic_s": time.monotonic(), "unix_s": time.time(), "boot": boot()}
        self._say({"ready": clocks})
        return start_of(self._lines.next())

    def _progress(self, share: float, phase: str) -> None:
        self._lines.check()
        now_s = time.monotonic()
        if now_s >= self._told_s + TELL_EVERY_S:
            self._told_s = now_s
            self._say({"progress": [share, phase]})

    def _say(self, document: Mapping[str, Any]) -> None:
        left = memoryview(json.dumps(document).encode() + b"\n")
        try:
            while left:
                left = left[os.write(self._out, left) :]
        except BrokenPipeError as error:
            raise Stopped("the controller has gone") from error


def boot() -> str:
    """The kernel's name for the time since it was started: whoever shares it shares its clock."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_of(told: Mapping[str, Any]) -> float:
    """The start that a controller tells, as a reading of this machine's CLOCK_MONOTONIC.

    A start in Unix time is as good as the two machines' clocks are synchronised.
    """
    for key, offset_s in (
        ("start_at_monotonic_s", 0.0),
        ("start_at_unix_s", time.monotonic() - time.time()),
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
    try:
        Agent(Lines(sys.stdin.fileno()), sys.stdout.fileno()).run()
    except Stopped:
        sys.exit(1)


if __name__ == "__main__":
    main()
