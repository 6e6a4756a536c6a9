"""Gains that are withheld, because the measurements of a run contradict the model.

A withheld gain has no figure: neither in a sentence, nor in a document, nor in the order of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel

WITHHELD = "withheld"
# Largest number of changes that a note on withheld gains names. JSON has all of them.
MOST_NAMED = 6


class WithheldClients(BaseModel):
    """The gain of twice as many clients, if it is withheld. `withheld`: the reasons."""

    withheld: list[str]

    @property
    def judgement(self) -> str:
        """The words that are shown instead of a gain: that it is withheld, and the first reason."""
        return f"{WITHHELD} ({self.withheld[0]})"


def withheld_note(changes: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Returns one note for each reason why gains are withheld. A note names the changes, at most
    MOST_NAMED of them, in the given order.

    `changes`: (change, reasons why its gain is withheld).
    """
    by_reason: dict[str, dict[str, None]] = {}
    for change, reasons in changes:
        by_reason.setdefault(reasons[0], {})[change] = None
    found = []
    for reason, names in by_reason.items():
        shown = ", ".join(list(names)[:MOST_NAMED])
        if len(names) > MOST_NAMED:
            shown += f" and {len(names) - MOST_NAMED} more (--json has all)"
        found.append(f"Withheld gains: {shown}. Reason: {reason}.")
    return found
