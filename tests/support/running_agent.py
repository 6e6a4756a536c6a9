"""Starts a load-generator agent whose workload is running and does not end by itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.streams.vocabulary import Share, Stream
from dfslab.spec.streams.workload import fixed

RUN_DIRECTORY = "dfslab-endless"


def endless(folder: Path) -> LoadPlan:
    """Returns a plan that creates empty files in `folder` until the run is stopped."""
    stream = Stream(
        clients=1,
        mix=[Share(operation="create")],
        operations_per_client=10**8,
        file_size=fixed(0),
        transfer_size_bytes=4096,
    )
    return LoadPlan(
        stream=stream, target=PosixTarget(root=str(folder)), run_directory=RUN_DIRECTORY
    )


@contextmanager
def running_agent(folder: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Starts an agent whose workload creates files in `folder`, and yields the agent's process once
    the workload is running. The process is killed at the end of the `with` block."""
    command = [sys.executable, "-P", "-m", "dfslab.fleet.agent", *words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(endless(folder).shard(range(1)).text.encode() + b"\n")
        process.stdin.flush()
        _until(process, lambda said: "ready" in said)
        process.stdin.write(b'{"start_at_monotonic_s": 0}\n')
        process.stdin.flush()
        _until(process, lambda said: said.get("progress", (0, ""))[1] == "running")
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _until(process, is_it) -> None:
    """Reads the agent's JSON messages until `is_it` returns true for a message. Raises
    AssertionError if the agent ends before such a message."""
    for line in process.stdout:
        if is_it(json.loads(line)):
            return
    raise AssertionError("the agent has ended")
