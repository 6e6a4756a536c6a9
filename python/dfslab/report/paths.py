"""Shortens call paths so that they fit into table cells."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.documents.traces.call_path import CallPath

MOST_PATH = 100


def short_path(path: CallPath, most: int = MOST_PATH) -> str:
    """Returns a call path as text. If the text would be longer than `most` characters, inner steps
    are omitted.

    The start of the path, its changes of process and its end are kept.
    """
    steps = path.names
    kept = [True] * len(steps)
    for place in range(1, len(steps) - 2):
        if len(_joined(steps, kept)) <= most:
            break
        kept[place] = ":" in steps[place]
    return _joined(steps, kept)


def path_end(path: CallPath, most: int) -> str:
    """Returns a call path as text of at most `most` characters.

    If the path is still too long without its inner steps, only its end is returned.
    """
    short = short_path(path, most)
    return short if len(short) <= most else f"…{short[1 - most :]}"


def _joined(steps: Sequence[str], kept: Sequence[bool]) -> str:
    shown: list[str] = []
    for step, is_kept in zip(steps, kept, strict=True):
        if is_kept or shown[-1] != "…":
            shown.append(step if is_kept else "…")
    return "/".join(shown)
