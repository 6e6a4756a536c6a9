"""The callback that shows a user what a long call is doing."""

from __future__ import annotations

from collections.abc import Callable

# Takes one line of text, such as "starting 3 datanodes".
Notify = Callable[[str], None]


def silent(text: str) -> None:
    """Discards a progress message."""
