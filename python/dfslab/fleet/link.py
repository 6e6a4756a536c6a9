"""The controller's connection to an agent: a child process that exchanges JSON documents."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from dfslab.fleet.places import Place
from dfslab.fleet.protocol import AgentDocument, Answer, Clocks, Command
from dfslab.fleet.watch import OperationCounts
from dfslab.spec.streams.plan import LoadPlan

BLOCK_BYTES = 1 << 20
STDERR_TAIL_BYTES = 2000


class Link:
    """One agent on one host; `ended` says how it ended, if it has.

    With `keep` the agent also writes its answer to that file, and survives this process once it
    runs, with `lease_s` for that time in seconds.
    """

    def __init__(
        self,
        place: Place,
        clients: range,
        plan: LoadPlan,
        keep: Path | None = None,
        lease_s: float | None = None,
    ):
        self.place, self.clients = place, clients
        self.started_s = time.monotonic()
        self.ready: Clocks | None = None
        self.times_ready = 0
        self.answer: Answer | None = None
        self.progress: tuple[float, str] = (0.0, "preparing")
        self.observed = OperationCounts()
        self.ended: str | None = None
        self._buffer = bytearray()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        # -P: import this package, not one in the working directory.
        command = [*place.prefix, sys.executable, "-P", "-m", "dfslab.fleet.agent"]
        command += ["--keep", str(keep)] if keep else []
        command += ["--lease", f"{lease_s:g}"] if lease_s is not None else []
        # A new session: Ctrl-C reaches only the controller, which then stops its agents.
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                start_new_session=True,
            )
        except OSError:
            self._stderr.close()
            raise
        self._write(plan.shard(clients).text)

    @property
    def is_over(self) -> bool:
        """Whether the agent will start nothing more."""
        return self.ended is not None or self.answer is not None

    def fileno(self) -> int:
        """The descriptor of the agent's output, for `select`."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def say(self, command: Command) -> None:
        """Send a command; a lost agent is detected where its answer is read."""
        self._write(json.dumps(command))

    def _write(self, text: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()

    def receive(self) -> None:
        """Read the available documents, or record the end."""
        block = os.read(self.fileno(), BLOCK_BYTES)
        if not block:
            self.ended = self._how()
            return
        searched = len(self._buffer)
        self._buffer += block
        while (end := self._buffer.find(b"\n", searched)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            searched = 0
            try:
                self._take(json.loads(line))
            except (ValueError, TypeError, AttributeError):
                # Other programs on the way, such as a login shell, may print lines that are no
                # documents.
                self.answer = {"error": "protocol", "text": f"said {line[:60]!r}"}

    def _take(self, document: AgentDocument) -> None:
        if (reported := document.get("progress")) is not None:
            share, phase = reported
            self.progress = (float(share), str(phase))
            self.observed = self.observed.then(OperationCounts(*document.get("seen", ())))
        elif (ready := document.get("ready")) is not None:
            self.ready = ready
            self.times_ready += 1
        else:
            self.answer = document

    def _how(self) -> str:
        """How the process ended, in words, with the last line of its error output."""
        status = self._process.wait()
        how = f"status {status}" if status >= 0 else signal.Signals(-status).name
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - STDERR_TAIL_BYTES))
        output = self._stderr.read().decode(errors="replace").strip().splitlines()
        return f"its agent ended with {how}" + (f": {output[-1]}" if output else "")

    def stop(self) -> None:
        """Close the agent's input, upon which it stops and cleans up."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def close(self, deadline_s: float) -> None:
        """Request the agent's end and wait for it; kill it at the time limit.

        An interruption of the wait lets the agent clean up without being waited for.
        """
        self.stop()
        while self.ended is None and (left_s := deadline_s - time.monotonic()) > 0:
            if select.select([self], [], [], left_s)[0]:
                self.receive()
        if self.ended is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self.ended = self._how()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._stderr.close()
