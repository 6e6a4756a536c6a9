"""Calls functions on the hosts of a Dask cluster, one worker for each host."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ParamSpec, TypeVar
from urllib.parse import urlsplit

from distributed import Client, KilledWorker
from distributed.client import FutureCancelledError, FuturesCancelledError

from dfslab.fleet.dask import CONNECT_LIMIT_S, JOIN_LIMIT_S, UNREACHABLE
from dfslab.method import RunFailed
from dfslab.spec.model import InputError

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class WorkerHost:
    """A host of the cluster: the IP address at which the other hosts reach it, and the address of
    the Dask worker on it that takes calls."""

    address: str
    worker: str


@dataclass(frozen=True)
class HostCalls:
    """The hosts of a cluster, in the order of their addresses, and the connection to them."""

    hosts: tuple[WorkerHost, ...]
    client: Client

    def call(
        self,
        host: WorkerHost,
        function: Callable[Arguments, Answer],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Answer:
        """Calls a function on a host and returns its result. Raises what the function raises."""
        future = self.client.submit(
            function, *args, **kwargs, workers=[host.worker], pure=False, retries=0
        )
        answer: Answer = future.result()
        return answer


@contextmanager
def hosts_of(scheduler: str, expected: int) -> Iterator[HostCalls]:
    """Returns a context with the hosts of a Dask cluster, after `expected` workers have joined the
    scheduler at the address `scheduler`.

    Raises RunFailed if the scheduler does not answer, if workers are missing, or if a worker that
    was called is lost.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        with Client(scheduler, timeout=CONNECT_LIMIT_S, set_as_default=False) as client:
            client.wait_for_workers(expected, timeout=JOIN_LIMIT_S)
            yield HostCalls(_one_each(list(client.scheduler_info(n_workers=-1)["workers"])), client)
    except (InputError, RunFailed):
        raise
    except (*UNREACHABLE, KilledWorker, FutureCancelledError, FuturesCancelledError) as error:
        reported = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RunFailed(f"Dask at {scheduler}: {reported}") from error


def _one_each(workers: list[str]) -> tuple[WorkerHost, ...]:
    """Returns the hosts of workers with the first worker of each. A worker's address is a URL such
    as tcp://10.0.0.2:40123."""
    first: dict[str, str] = {}
    for worker in sorted(workers):
        first.setdefault(urlsplit(worker).hostname or worker, worker)
    return tuple(WorkerHost(address, worker) for address, worker in first.items())
