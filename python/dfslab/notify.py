"""The type of a callback that receives progress messages: texts for the user on the activity of a
long call. Also a line on the terminal that shows the progress of a call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TextIO

# The control sequence of terminals that erases from the cursor to the end of the line.
ERASE_LINE = "\x1b[K"

# A function that receives one line of text, such as "starting 3 datanodes".
Notify = Callable[[str], None]


def silent(text: str) -> None:
    """Ignores a progress message. This function is the default callback of functions that report
    progress."""


@contextmanager
def progress_line(
    text: Callable[[], str], stream: TextIO | None = None, every_s: float = 1.0
) -> Iterator[None]:
    """Shows a line on a terminal while the body runs, and replaces it every `every_s` seconds by
    the text that `text` returns. The line is removed at the end.

    `stream`: the terminal, by default standard error. Shows nothing if the stream is no terminal.
    """
    shown = sys.stderr if stream is None else stream
    if not shown.isatty():
        yield
        return
    ended = Event()

    def show() -> None:
        while not ended.wait(every_s):
            shown.write(f"\r{ERASE_LINE}{text()}")
            shown.flush()

    thread = Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        shown.write(f"\r{ERASE_LINE}")
        shown.flush()
