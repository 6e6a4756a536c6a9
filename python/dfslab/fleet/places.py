"""Hosts where clients run, and the distribution of a load's clients over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dfslab.spec.model import InputError


@dataclass(frozen=True)
class Place:
    """A client host: its name, and the command prefix that runs a command there.

    On an ephemeral (`passing`) host the clients' files are removed together with the host, as with
    a testbed that ends with its session.
    """

    name: str
    prefix: tuple[str, ...] = ()
    passing: bool = False


HERE = Place("this machine")


# How long an interrupted controller waits for clients that remove files that would otherwise stay.
CLEAN_UP_LIMIT_S = 120.0
# The limit for ephemeral hosts; a client may be blocked in a call to a slow server.
PASSING_LIMIT_S = 2.0


# A cluster that dfslab started ends so long after its controller, s; a batch system that kills a
# controller must not leave a load running.
LEASE_S = 5.0


def patience_s(passing: bool) -> float:
    """Time in seconds that agents may take to end after an interruption."""
    return PASSING_LIMIT_S if passing else CLEAN_UP_LIMIT_S


def directly(work: Callable[[], Any]) -> Any:
    """Do `work` in this process."""
    return work()


@dataclass(frozen=True)
class Nodes:
    """Dask workers that have joined the scheduler at an address.

    `within` runs a function where that address can be reached, for example in the network of an
    emulated host. `wanted` workers take part (0: all), each with the given number of processes,
    once `expected` workers have joined. `passing` is as for Place.
    `leased`: dfslab started the cluster, so agents without a controller stop after LEASE_S; in a
    cluster of the user they finish their part.
    """

    scheduler: str
    wanted: int = 0
    processes: int = 1
    expected: int = 1
    within: Callable[[Callable[[], Any]], Any] = directly
    passing: bool = False
    leased: bool = False

    @property
    def lease_s(self) -> float | None:
        """How long agents work on without a controller, s; None: until their part is done."""
        return LEASE_S if self.leased else None


@dataclass(frozen=True)
class ClusterKind:
    """How a cluster is started, and the options of its library."""

    name: str = "dask"
    options: Mapping[str, Any] = field(default_factory=dict)

    def nodes(self, wanted: int) -> int:
        """The number of workers when `wanted` are requested; for SSH it is the number of listed
        hosts.

        InputError when they are fewer than wanted, or none in addition to the first, the
        scheduler's.
        """
        if self.name != "ssh":
            return max(1, wanted)
        hosts = self.options.get("hosts")
        if not isinstance(hosts, list) or len(hosts) < 2:
            allowed = "must list the host of the scheduler, and after it a host for each node"
            raise InputError("run.cluster.hosts", hosts, allowed)
        worker_options = self.options.get("worker_options")
        each = worker_options.get("n_workers", 1) if isinstance(worker_options, dict) else 1
        there = (len(hosts) - 1) * each
        if wanted > there:
            allowed = f"run.cluster.hosts lists {there} after that of the scheduler"
            raise InputError("workload.nodes", wanted, allowed)
        return there


def split(clients: int, places: int) -> list[range]:
    """Contiguous slices of the clients of nearly equal size, the larger ones first.

    A client keeps its number within the whole load, and with it its stream.
    """
    assert clients > 0
    assert places > 0
    each, more = divmod(clients, places)
    ends = [each * place + min(place, more) for place in range(places + 1)]
    return [range(start, end) for start, end in zip(ends, ends[1:], strict=False)]
