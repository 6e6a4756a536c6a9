"""Places where clients run, and how a load's clients are shared out among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Place:
    """A client host: its name, and what comes before a command so that it runs there."""

    name: str
    prefix: tuple[str, ...] = ()


HERE = Place("this machine")


def directly(work: Callable[[], Any]) -> Any:
    """Do `work` where this process is."""
    return work()


@dataclass(frozen=True)
class Nodes:
    """Nodes that Dask knows: those that have joined the scheduler at an address.

    `within` does work where that address can be reached, such as on the network of a bed's host.
    `wanted` of the nodes take part (0: all that are there), each with so many processes, once
    `expected` nodes have joined.
    """

    scheduler: str
    wanted: int = 0
    processes: int = 1
    expected: int = 1
    within: Callable[[Callable[[], Any]], Any] = directly


@dataclass(frozen=True)
class ClusterKind:
    """How a cluster is obtained, and what its library is told."""

    name: str = "dask"
    options: Mapping[str, Any] = field(default_factory=dict)


def split(clients: int, places: int) -> list[range]:
    """Contiguous slices of the clients, as even as can be, the larger ones first.

    Client numbers stay those of the whole load, and with them every client's stream.
    """
    assert clients > 0
    assert places > 0
    each, more = divmod(clients, places)
    ends = [each * place + min(place, more) for place in range(places + 1)]
    return [range(start, end) for start, end in zip(ends, ends[1:], strict=False)]
