"""States which properties of a net a written file lacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Loss:
    """A property that a format cannot express. `count` is the number of things with the property,
    `thing` the noun for one of them, and `becomes` says how the file treats the property."""

    what: str
    count: int
    thing: str
    becomes: str


def lines(form: str, losses: Iterable[Loss]) -> list[str]:
    """Returns a line for each loss of at least one thing. `form` is the name of the format."""
    return [
        f"{form} has no words for {one.what}: {one.count} {one.thing}{'s' * (one.count > 1)}, "
        f"{one.becomes}"
        for one in losses
        if one.count
    ]
