"""Places where clients run, and how a load's clients are shared out among them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A client host: its name, and what comes before a command so that it runs there."""

    name: str
    prefix: tuple[str, ...] = ()


HERE = Place("this machine")


def split(clients: int, places: int) -> list[range]:
    """Contiguous slices of the clients, as even as can be, the larger ones first.

    Client numbers stay those of the whole load, and with them every client's stream.
    """
    assert clients > 0
    assert places > 0
    each, more = divmod(clients, places)
    ends = [each * place + min(place, more) for place in range(places + 1)]
    return [range(start, end) for start, end in zip(ends, ends[1:], strict=False)]
