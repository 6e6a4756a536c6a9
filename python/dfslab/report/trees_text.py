"""Formats a number of call trees as text."""

from __future__ import annotations


def trees_text(number: int) -> str:
    """Returns the number of call trees with its noun, such as "1 call tree"."""
    return f"{number:,} call tree{'s' if number != 1 else ''}"
