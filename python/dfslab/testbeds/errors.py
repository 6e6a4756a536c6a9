"""The error of testbeds, which has a kind, an operation, a context and the last lines of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

ErrorKind = Literal["missing_program", "download", "launch", "died", "not_ready", "failed", "state"]
LOG_LINES_SHOWN = 12
LOG_BYTES_READ = 16384


class TestbedError(Exception):
    """A testbed could not be started, used or taken down. The error's text is one line, followed by
    the last lines of a log.

    `kind` is the type of failure, `operation` the action that failed, and `context` the reason.
    `log_lines` are the last lines of the daemon's log; empty if it has no log.
    """

    def __init__(
        self, kind: ErrorKind, operation: str, context: str, log_lines: tuple[str, ...] = ()
    ) -> None:
        self.kind, self.operation, self.context = kind, operation, context
        self.log_lines = log_lines
        super().__init__(str(self))

    def __str__(self) -> str:
        return "\n  | ".join((f"{self.operation}: {self.context}", *self.log_lines))


def last_lines(log_path: Path, count: int = LOG_LINES_SHOWN) -> tuple[str, ...]:
    """Returns the last `count` non-empty lines of a log. Returns an empty tuple if there is no
    log."""
    try:
        with log_path.open("rb") as log:
            log.seek(0, 2)
            log.seek(max(0, log.tell() - LOG_BYTES_READ))
            text = log.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ()
    return tuple(line.rstrip() for line in text.splitlines() if line.strip())[-count:]
