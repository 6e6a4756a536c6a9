"""Common parts of the benches on a traced HDFS: a Java client to which a bench sends commands, and
the difference between two profiles.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Self

from dfslab.filesystems.hdfs.testbed import Testbed
from dfslab.instruments.tracing import callprofile

LOAD = Path(__file__).with_name("HdfsMix.java")


class Mix:
    """A Java client that runs the program HdfsMix on a testbed until the `with` block ends. If the
    testbed has a client host, the client runs in this host. `settings` are settings of the HDFS
    client."""

    def __init__(self, testbed: Testbed, **settings: str) -> None:
        self._testbed, self._settings = testbed, settings

    def __enter__(self) -> Self:
        self._classes = tempfile.TemporaryDirectory(prefix="dfslab-bench-")
        jars = Testbed.jars(self._testbed.parameters)
        command = ["javac", "-cp", f"{jars}/*", "-d", self._classes.name, str(LOAD)]
        subprocess.run(command, check=True)
        settings = [f"{key}={value}" for key, value in self._settings.items()]
        words = self._testbed.java_command("HdfsMix", *settings)
        words[words.index("-cp") + 1] += os.pathsep + self._classes.name
        host = next(iter(self._testbed.clients), None)
        self._client = subprocess.Popen(
            words if host is None else host.command(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=None if host is None else dict(host.env),
        )
        return self

    def __exit__(self, *reason: object) -> None:
        assert self._client.stdin
        self._client.stdin.close()
        self._client.wait(timeout=60)
        self._classes.cleanup()

    def does(self, line: str) -> float:
        """Sends one command line to the client and returns the seconds that the client took."""
        assert self._client.stdin
        assert self._client.stdout
        self._client.stdin.write(line + "\n")
        self._client.stdin.flush()
        answer = self._client.stdout.readline()
        if not answer:
            raise RuntimeError(f"the client ended at {line!r}")
        return float(answer)


def snapshot(profiles: Path) -> dict[str, callprofile.File]:
    """Waits until every traced process has written its next profile. Returns the profiles in the
    folder `profiles` by file name.
    """
    return callprofile.await_written(profiles)


def between(
    before: dict[str, callprofile.File], after: dict[str, callprofile.File]
) -> list[callprofile.File]:
    """Returns for each process the profile of the calls that it made between the snapshots `before`
    and `after`.

    If `before` has no profile of a process, the result has the process's whole profile.
    """
    return [
        callprofile.since(before[name], file) if name in before else file
        for name, file in after.items()
    ]
