"""Places where clients run, and how a load's clients are shared out among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dfslab.spec.model import InputError


@dataclass(frozen=True)
class Place:
    """A client host: its name, and what comes before a command so that it runs there.

    What clients make on a `passing` one goes with it, as with a bed that ends with its session.
    """

    name: str
    prefix: tuple[str, ...] = ()
    passing: bool = False


HERE = Place("this machine")


# How long who is interrupted waits for clients that clean up what would stay.
CLEAN_UP_LIMIT_S = 120.0
# And where all of it goes anyway: clients may be in a call that a slow server does not answer.
PASSING_LIMIT_S = 2.0


def patience_s(passing: bool) -> float:
    """How long agents may take to end after an interruption."""
    return PASSING_LIMIT_S if passing else CLEAN_UP_LIMIT_S


def directly(work: Callable[[], Any]) -> Any:
    """Do `work` where this process is."""
    return work()


@dataclass(frozen=True)
class Nodes:
    """Nodes that Dask knows: those that have joined the scheduler at an address.

    `within` does work where that address can be reached, such as on the network of a bed's host.
    `wanted` of the nodes take part (0: all that are there), each with so many processes, once
    `expected` nodes have joined. `passing` as for a place.
    """

    scheduler: str
    wanted: int = 0
    processes: int = 1
    expected: int = 1
    within: Callable[[Callable[[], Any]], Any] = directly
    passing: bool = False


@dataclass(frozen=True)
class ClusterKind:
    """How a cluster is obtained, and what its library is told."""

    name: str = "dask"
    options: Mapping[str, Any] = field(default_factory=dict)

    def nodes(self, wanted: int) -> int:
        """How many nodes it will have when so many are wanted; SSH hosts are as many as are listed.

        InputError when they are fewer than wanted, or none beside the first, the scheduler's.
        """
        if self.name != "ssh":
            return max(1, wanted)
        hosts = self.options.get("hosts")
        if not isinstance(hosts, list) or len(hosts) < 2:
            allowed = "must list the host of the scheduler, and after it a host for each node"
            raise InputError("run.cluster.hosts", hosts, allowed)
        told = self.options.get("worker_options")
        each = told.get("n_workers", 1) if isinstance(told, dict) else 1
        there = (len(hosts) - 1) * each
        if wanted > there:
            allowed = f"run.cluster.hosts lists {there} after that of the scheduler"
            raise InputError("workload.nodes", wanted, allowed)
        return there


def split(clients: int, places: int) -> list[range]:
    """Contiguous slices of the clients, as even as can be, the larger ones first.

    Client numbers stay those of the whole load, and with them every client's stream.
    """
    assert clients > 0
    assert places > 0
    each, more = divmod(clients, places)
    ends = [each * place + min(place, more) for place in range(places + 1)]
    return [range(start, end) for start, end in zip(ends, ends[1:], strict=False)]
