"""Starts a Dask cluster, with a scheduler on the first of the given hosts and a worker on each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from dfslab.fleet.client_hosts import ClientHost, ClusterKind
from dfslab.fleet.shards import LoadFailed
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.files import scratch
from dfslab.testbeds.daemon import tied_to_owner

# If a process has not started after START_LIMIT_S seconds, the start counts as failed. Python and
# Dask start in one second, but a busy machine can take minutes.
START_LIMIT_S = 180.0
STOP_LIMIT_S = 5.0
POLL_S = 0.05
LOCAL = "127.0.0.1"


class ClusterFailed(Exception):
    """Raised when a process of the cluster cannot be started, or has ended."""


@contextmanager
def opened(kind: ClusterKind, nodes: int, hosts: Sequence[Any] = ()) -> Iterator[str]:
    """Returns a context with a cluster of the given kind. The context yields the address of the
    scheduler.

    A cluster of kind "dask" runs on the `hosts` of a testbed. If `hosts` is empty, it runs with
    `nodes` workers on this machine. A library starts each cluster of another kind (see
    fleet/dask.py); such a cluster cannot run on the hosts of a testbed. Raises ClusterFailed if the
    cluster cannot be started.
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
        from dfslab.fleet import dask

        try:
            with dask.cluster(kind, nodes) as address:
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
