"""A Dask cluster of our own: a scheduler at the first of some places, a worker at each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from dfslab.fleet.places import ClusterKind, Place
from dfslab.fleet.shards import LoadFailed

# Python and Dask take a second to start, and minutes on a machine that has much else to do.
START_LIMIT_S = 180.0
STOP_LIMIT_S = 5.0
POLL_S = 0.05
LOCAL = "127.0.0.1"


class ClusterFailed(Exception):
    """A process of the cluster cannot be started, or has ended."""


@contextmanager
def opened(kind: ClusterKind, nodes: int, hosts: Sequence[Any] = ()) -> Iterator[str]:
    """The scheduler's address of a cluster of that kind, while it lasts.

    One of our own has its nodes in the hosts of a bed where there are any. ClusterFailed when it
    cannot be started.
    """
    if kind.name == "dask" and not hosts:
        with started([Place(f"node-{number}") for number in range(1, nodes + 1)]) as address:
            yield address
    elif kind.name == "dask":
        places = [Place(host.name, tuple(host.command(()))) for host in hosts]
        with started(places, hosts[0].address) as address:
            yield address
    elif hosts:
        raise ClusterFailed(f'the client hosts of a bed take "agents" or "dask", not {kind.name}')
    else:
        from dfslab.fleet import dask

        try:
            with dask.cluster(kind, nodes) as address:
                yield address
        except LoadFailed as error:
            raise ClusterFailed(str(error)) from error


@contextmanager
def started(places: Sequence[Place], host: str = LOCAL) -> Iterator[str]:
    """The scheduler's address while it and a worker at every place run; gone afterwards.

    `host` is the address of the first place, at which the others reach it. The places see the same
    files. ClusterFailed with a process's last word when it cannot be started.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dfslab-dask-")))
        scheduler = stack.enter_context(
            _process(
                places[0],
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
        for place in places:
            stack.enter_context(
                _process(
                    place,
                    folder / f"{place.name}.log",
                    "dask_worker",
                    address,
                    "--name",
                    place.name,
                    "--nthreads",
                    "1",
                    "--no-nanny",
                    "--no-dashboard",
                    "--dashboard-address",
                    ":0",
                    "--memory-limit",
                    "0",
                    "--local-directory",
                    str(folder / place.name),
                )
            )
        yield address


@contextmanager
def _process(place: Place, log: Path, module: str, *words: str) -> Iterator[subprocess.Popen]:
    """A process of Dask at a place, killed at the end: the agents under it have ended by then."""
    command = [*place.prefix, sys.executable, "-P", "-m", f"distributed.cli.{module}", *words]
    try:
        with log.open("wb") as said:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
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


def _address(folder: Path, scheduler: subprocess.Popen) -> str:
    deadline_s = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline_s and scheduler.poll() is None:
        # The file may be there before its content is.
        with suppress(FileNotFoundError, json.JSONDecodeError):
            return str(json.loads((folder / "scheduler.json").read_text())["address"])
        time.sleep(POLL_S)
    said = (folder / "scheduler.log").read_text(errors="replace").strip().splitlines()
    raise ClusterFailed(f"the Dask scheduler did not start: {said[-1] if said else 'no word'}")
