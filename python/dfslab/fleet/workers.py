"""Starts a Dask cluster, with a scheduler on the first of the given hosts and a worker on each. A
cluster of another kind, such as "ssh", is started by a library."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from dfslab.fleet.client_hosts import CLEAN_UP_LIMIT_S, ClientHost, ClusterKind
from dfslab.fleet.shards import LoadFailed
from dfslab.silent_loggers import quiet
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.files import scratch
from dfslab.testbeds.daemon import tied_to_owner

# If a process has not started after START_LIMIT_S seconds, the start counts as failed. Python and
# Dask start in one second, but a busy machine can take minutes.
START_LIMIT_S = 180.0
STOP_LIMIT_S = 5.0
POLL_S = 0.05
# Seconds that the workers of an SSH cluster may take to end by themselves.
LEAVE_LIMIT_S = 20.0
LOCAL = "127.0.0.1"
# The keys are kinds of clusters. The values are (module, class, package that provides the class).
KINDS = {
    "ssh": ("distributed", "SSHCluster", "asyncssh"),
    "slurm": ("dask_jobqueue", "SLURMCluster", "dask-jobqueue"),
    "yarn": ("dask_yarn", "YarnCluster", "dask-yarn"),
    "kubernetes": ("dask_kubernetes.operator", "KubeCluster", "dask-kubernetes"),
}
# The exceptions that Dask raises when a worker or the scheduler does not answer.
UNREACHABLE = (OSError, TimeoutError, asyncio.TimeoutError, KeyError, ValueError)


def words_of(error: BaseException) -> str:
    """Returns the kind of an error and the first line of its text, as one line. The text of a time
    limit says what was waited for, so it needs no kind."""
    if isinstance(error, TimeoutError) and str(error):
        return str(error).splitlines()[0]
    return f"{type(error).__name__}: {error}".splitlines()[0].rstrip(": ")


class ClusterFailed(Exception):
    """Raised when a process of the cluster cannot be started, or has ended."""


@contextmanager
def opened(kind: ClusterKind, nodes: int, hosts: Sequence[Any] = ()) -> Iterator[str]:
    """Returns a context with a cluster of the given kind. The context yields the address of the
    scheduler.

    A cluster of kind "dask" runs on the `hosts` of a testbed. If `hosts` is empty, it runs with
    `nodes` workers on this machine. A library starts each cluster of another kind; such a cluster
    cannot run on the hosts of a testbed. Raises ClusterFailed if the cluster cannot be started.
    """
    if kind.name == "dask" and not hosts:
        with started([ClientHost(f"node-{number}") for number in range(1, nodes + 1)]) as address:
            yield address
    elif kind.name == "dask":
        client_hosts = [ClientHost(host.name, tuple(host.command(()))) for host in hosts]
        with started(client_hosts, hosts[0].address) as address:
            yield address
    elif hosts:
        raise ClusterFailed(
            f'the client hosts of a testbed take "agents" or "dask", not {kind.name}'
        )
    else:
        try:
            with cluster(kind, nodes) as address:
                yield address
        except LoadFailed as error:
            raise ClusterFailed(str(error)) from error


@contextmanager
def started(client_hosts: Sequence[ClientHost], host: str = LOCAL) -> Iterator[str]:
    """Returns a context with a Dask cluster: a scheduler on the first host, and a worker on every
    host. The context yields the address of the scheduler.

    `host` is the address at which the other hosts reach the first host. The hosts must share a file
    system. Raises ClusterFailed if the cluster cannot be started. The error has the last output of
    the process that failed.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(scratch.folder("dask"))
        scheduler = stack.enter_context(
            _process(
                client_hosts[0],
                folder / "scheduler.log",
                "dask_scheduler",
                "--host",
                host,
                "--port",
                "0",
                "--no-dashboard",
                "--dashboard-address",
                f"{host}:0",
                "--scheduler-file",
                str(folder / "scheduler.json"),
            )
        )
        address = _address(folder, scheduler)
        for client in client_hosts:
            stack.enter_context(
                _process(
                    client,
                    folder / f"{client.name}.log",
                    "dask_worker",
                    address,
                    "--name",
                    client.name,
                    "--nthreads",
                    "1",
                    "--no-nanny",
                    "--no-dashboard",
                    "--dashboard-address",
                    ":0",
                    "--memory-limit",
                    "0",
                    "--local-directory",
                    str(folder / client.name),
                )
            )
        yield address


@contextmanager
def _process(place: ClientHost, log: Path, module: str, *words: str) -> Iterator[subprocess.Popen]:
    """Returns a context in which a Dask process runs on a host.

    At the end of the context, the process receives SIGTERM. If it still runs STOP_LIMIT_S seconds
    later, SIGKILL ends it. The context ends only after the agents that the Dask process has
    started.
    """
    words = (*place.prefix, sys.executable, "-P", "-m", f"distributed.cli.{module}", *words)
    # With these words, the kernel kills the Dask process when this process ends, even if this
    # process is killed.
    command = tied_to_owner(words)
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise ClusterFailed(f"{place.name}: {module} cannot be started: {error}") from error
    try:
        yield process
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_LIMIT_S)
                break


def _address(folder: Path, scheduler: subprocess.Popen, clock: Clock = REAL) -> str:
    deadline_s = clock.monotonic_s() + START_LIMIT_S
    while clock.monotonic_s() < deadline_s and scheduler.poll() is None:
        # The file may exist before its content is complete.
        with suppress(FileNotFoundError, json.JSONDecodeError):
            return str(json.loads((folder / "scheduler.json").read_text())["address"])
        clock.sleep(POLL_S)
    output = (folder / "scheduler.log").read_text(errors="replace").strip().splitlines()
    raise ClusterFailed(f"the Dask scheduler did not start: {output[-1] if output else 'no word'}")


@contextmanager
def cluster(kind: ClusterKind, nodes: int) -> Iterator[str]:
    """Returns a context with a new cluster of `nodes` workers. The context yields the scheduler's
    address. Raises LoadFailed if the cluster's library is missing or cannot start the cluster."""
    # Dask takes longer to import than all other modules, so it is imported only where it is used.
    from dfslab.fleet import lease
    from dfslab.fleet.each_host import CONNECT_LIMIT_S

    module, name, package = KINDS[kind.name]
    with ExitStack() as stack:
        # Dask's event loop would also print the traceback of exceptions that this function reports.
        stack.enter_context(quiet("distributed", "tornado.application"))
        try:
            if kind.name == "ssh":
                importlib.import_module(package)  # SSHCluster itself would import it too late
            make = getattr(importlib.import_module(module), name)
            options = lease.while_connected(kind.options) if kind.name == "ssh" else kind.options
            made = _whole(lambda: make(**options), kind)
        except ImportError as error:
            reason = f"a {kind.name} cluster needs the Python package {package}: {error}"
            raise LoadFailed(reason) from error
        except Exception as error:  # each cluster library has its own exception classes
            reason = words_of(error.__cause__ or error)
            raise LoadFailed(f"{name} cannot be started: {reason}") from error
        stack.callback(_end, made, kind)
        # An SSH cluster is on other machines, so it gets a lease. Its workers run already; a
        # cluster of another kind has no workers yet, so they are requested.
        if kind.name == "ssh":
            stack.enter_context(lease.held(made.scheduler_address, CONNECT_LIMIT_S))
        else:
            made.scale(nodes)
        yield made.scheduler_address


def _whole(make: Callable[[], Any], kind: ClusterKind) -> Any:
    """Starts a cluster by calling `make` and returns the cluster. A first Ctrl-C takes effect only
    after the start has succeeded or failed, because a partly started cluster could not be ended. A
    second Ctrl-C takes effect without waiting."""
    outcome: Future[Any] = Future()

    def work() -> None:
        try:
            outcome.set_result(make())
        except BaseException as error:  # `outcome.result()` raises `error` in the main thread
            outcome.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        return outcome.result()
    except KeyboardInterrupt:
        wait([outcome], CLEAN_UP_LIMIT_S)
        if outcome.done() and outcome.exception() is None:
            _end(outcome.result(), kind)
        raise


def _end(made: Any, kind: ClusterKind) -> None:
    """Shuts a cluster down. The workers of an SSH cluster are first made to end by themselves. The
    results are complete by this time, so it is no error if the scheduler of an SSH cluster does not
    answer soon: the scheduler and its workers then end with the lease."""
    if kind.name != "ssh":
        made.close()
        return
    try:
        with suppress(*UNREACHABLE):
            made.sync(_dismiss, made, callback_timeout=LEAVE_LIMIT_S)
    finally:
        with suppress(*UNREACHABLE):
            made.close()


async def _dismiss(made: Any) -> None:
    """Makes the workers of an SSHCluster end by themselves and remove their folders. Closing the
    cluster would kill the workers and leave the folders. A worker that joins late is stopped after
    it has joined."""
    ending = asyncio.gather(*(node.proc.wait_closed() for node in made.workers.values()))
    while not ending.done():
        known = (await made.scheduler_comm.identity(n_workers=-1))["workers"]
        await made.scheduler_comm.retire_workers(workers=list(known), close_workers=True)
        await asyncio.wait([ending], timeout=POLL_S)
