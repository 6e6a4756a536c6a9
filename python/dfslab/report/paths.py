"""Shortens call paths for tables."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.documents.traces.call_path import CallPath

MOST_PATH = 100


def short_path(path: CallPath, most: int = MOST_PATH) -> str:
    """A path with steps omitted if it is longer than `most` characters.

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
    """The end of a path as text of at most `most` characters."""
    short = short_path(path, most)
    return short if len(short) <= most else f"…{short[1 - most :]}"


def _joined(steps: Sequence[str], kept: Sequence[bool]) -> str:
    shown: list[str] = []
    for step, is_kept in zip(steps, kept, strict=True):
        if is_kept or shown[-1] != "…":
            shown.append(step if is_kept else "…")
    return "/".join(shown)
