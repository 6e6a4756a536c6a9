"""Describes the hosts on which clients run, and distributes the clients of a workload over them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dfslab.spec.input_error import InputError
from dfslab.testbeds.hosts.process import LiveProcess


@dataclass(frozen=True)
class ClientHost:
    """A host on which clients run. `prefix` has the words that are put before a command so that it
    runs on that host. `passing`: whether the host is ephemeral, as on a testbed that ends with its
    session. The files on an ephemeral host are removed with the host."""

    name: str
    prefix: tuple[str, ...] = ()
    passing: bool = False


HERE = ClientHost("this machine")


# Seconds that an interrupted controller waits for clients to remove their files on hosts that are
# not ephemeral.
CLEAN_UP_LIMIT_S = 120.0
# Like CLEAN_UP_LIMIT_S, but for ephemeral hosts. The limit is short because the files there are
# removed with the host, and because a client may be blocked in a call to a slow server.
PASSING_LIMIT_S = 2.0


def patience_s(passing: bool) -> float:
    """Returns how many seconds agents may take to end after an interruption.

    The limit is shorter if all hosts are ephemeral (`passing`).
    """
    return PASSING_LIMIT_S if passing else CLEAN_UP_LIMIT_S


def directly(work: Callable[[], Any]) -> Any:
    """Runs `work` in this process and returns its result. This function is the default of
    `Nodes.within`."""
    return work()


@dataclass(frozen=True)
class Nodes:
    """The Dask workers that have joined the scheduler at the address `scheduler`.

    `within` runs a function where this address can be reached, for example in the network of an
    emulated host. The other fields:
    - `expected`: number of workers that must have joined before the run.
    - `wanted`: number of these workers that take part. 0: all.
    - `processes`: number of agents on each worker.
    - `passing`: whether the hosts are ephemeral (see ClientHost).
    - `own`: whether dfslab started the cluster. If so, the agents stop when the process of their
      controller has ended, so that no load continues after a controller was killed. If the user
      started the cluster, the agents finish their shards even then.
    """

    scheduler: str
    wanted: int = 0
    processes: int = 1
    expected: int = 1
    within: Callable[[Callable[[], Any]], Any] = directly
    passing: bool = False
    own: bool = False

    @property
    def controller(self) -> LiveProcess | None:
        """The process whose end makes the agents stop: this process if dfslab started the cluster.
        None if the user started the cluster, because its agents then finish their shards."""
        return LiveProcess.of(os.getpid()) if self.own else None


@dataclass(frozen=True)
class ClusterKind:
    """A kind of cluster, such as "ssh", and the options for the library that starts such a
    cluster."""

    name: str = "dask"
    options: Mapping[str, Any] = field(default_factory=dict)

    def nodes(self, wanted: int) -> int:
        """Returns the number of workers that a cluster has if `wanted` are requested: `wanted`, but
        at least 1.

        For SSH, it is the number of workers on the listed hosts. The first host is not counted,
        because it runs the scheduler. For SSH, raises InputError if fewer than two hosts are
        listed, or if they have fewer workers than `wanted`.
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


def split(clients: int, hosts: int) -> list[range]:
    """Splits the client numbers 0 to `clients` - 1 into `hosts` contiguous ranges of nearly equal
    size. The larger ranges come first.

    The operation stream of a client depends on its number within the whole workload, so the split
    does not change the stream.
    """
    assert clients > 0
    assert hosts > 0
    each, more = divmod(clients, hosts)
    ends = [each * host + min(host, more) for host in range(hosts + 1)]
    return [range(start, end) for start, end in zip(ends, ends[1:], strict=False)]
