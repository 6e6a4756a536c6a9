"""Calls functions on the hosts of a Dask cluster, one worker for each host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

from distributed import Client, KilledWorker
from distributed.client import FutureCancelledError, FuturesCancelledError
from distributed.comm.core import CommClosedError

from dfslab.method import RunFailed
from dfslab.silent_loggers import quiet

CONNECT_LIMIT_S = 10.0
JOIN_LIMIT_S = 180.0
# The exceptions that Dask raises for a call whose worker was lost.
LOST = (KilledWorker, FutureCancelledError, FuturesCancelledError, CommClosedError)
Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class WorkerHost:
    """A host of the cluster. `address`: the IP address at which the other hosts reach it. `worker`:
    the address of the Dask worker that takes the calls for this host."""

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
def reached(scheduler: str) -> Iterator[Client]:
    """Returns a context with a client of the Dask scheduler at an address. Raises RunFailed if the
    scheduler does not answer; errors inside the context are raised as they are."""
    try:
        client = Client(scheduler, timeout=CONNECT_LIMIT_S, set_as_default=False)
    except OSError as error:
        raise _unanswered(scheduler, error) from error
    with client:
        yield client


@contextmanager
def lost_workers_reported(scheduler: str) -> Iterator[None]:
    """Returns a context that raises RunFailed if a worker is lost during a call. Errors of the
    called functions are raised as they are."""
    try:
        yield
    except LOST as error:
        raise _unanswered(scheduler, error) from error


def _unanswered(scheduler: str, error: BaseException) -> RunFailed:
    reported = str(error).splitlines()[0] if str(error) else type(error).__name__
    return RunFailed(f"Dask at {scheduler}: {reported}")


@contextmanager
def hosts_of(scheduler: str, expected: int) -> Iterator[HostCalls]:
    """Returns a context with the hosts of a Dask cluster, after `expected` workers have joined the
    scheduler at the address `scheduler`.

    Raises RunFailed if the scheduler does not answer, if workers are missing, or if a worker that
    was called is lost. Errors of called functions are raised as they are.
    """
    with quiet("distributed"), reached(scheduler) as client:
        try:
            client.wait_for_workers(expected, timeout=JOIN_LIMIT_S)
            known = list(client.scheduler_info(n_workers=-1)["workers"])
        except OSError as error:
            raise _unanswered(scheduler, error) from error
        with lost_workers_reported(scheduler):
            yield HostCalls(_one_each(known), client)


def _one_each(workers: list[str]) -> tuple[WorkerHost, ...]:
    """Returns the hosts on which workers run. If a host has several workers, the first worker takes
    the host's calls. A worker's address is a URL such as tcp://10.0.0.2:40123."""
    first: dict[str, str] = {}
    for worker in sorted(workers):
        first.setdefault(urlsplit(worker).hostname or worker, worker)
    return tuple(WorkerHost(address, worker) for address, worker in first.items())


@quiet("distributed")
def each(scheduler: str, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Runs calls on a cluster's workers. Each call is a function with its arguments. Returns the
    results in the order of the calls. Exceptions of the functions are raised as they are. Raises
    RunFailed if the scheduler does not answer, or if the worker of a call was lost repeatedly."""
    with reached(scheduler) as client, lost_workers_reported(scheduler):
        requested = [client.submit(*call, pure=False) for call in calls]
        return client.gather(requested)
