"""The option `--quiet` of the commands, which switches off the printing of progress."""

from __future__ import annotations

from contextvars import ContextVar

# A context variable, so that several commands in one process do not inherit each other's option.
QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


class SilentReporter:
    """A progress callback that prints nothing."""

    watch = None

    def __call__(self, done: float, total: float, text: str, *_: float) -> None:
        """Receives progress and ignores it."""
