"""Whether a command prints no progress (`--quiet`)."""

from __future__ import annotations

from contextvars import ContextVar

# A variable of the context, so that commands that run one after the other in a process do not
# inherit the option.
QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


class SilentReporter:
    """A progress callback that prints nothing."""

    watch = None

    def __call__(self, done: float, total: float, text: str, *_: float) -> None:
        """Receives progress and ignores it."""
