"""The type of a callback that receives progress messages: texts for the user on the activity of a
long call."""

from __future__ import annotations

from collections.abc import Callable

# A function that receives one line of text, such as "starting 3 datanodes".
Notify = Callable[[str], None]


def silent(text: str) -> None:
    """Ignores a progress message. It is the default callback of functions that report progress."""
