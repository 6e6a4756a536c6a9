"""Connects the controller to an agent, a child process with which it exchanges JSON documents."""

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

from dfslab.fleet.client_hosts import ClientHost
from dfslab.fleet.protocol import AgentAnswer, AgentDocument, Clocks, ControllerCommand
from dfslab.fleet.watch import LiveCounts
from dfslab.spec.streams.plan import LoadPlan
from dfslab.testbeds.hosts.process import LiveProcess

BLOCK_BYTES = 1 << 20
STDERR_TAIL_BYTES = 2000
# Seconds that a process may take to end after it was killed, has sent its answer, or has closed its
# output. A process takes longer if one of its threads is in a call to a file system that does not
# answer, because the kernel then cannot end the process.
END_LIMIT_S = 5.0


class AgentLink:
    """The connection to one agent on one host. `ended` is the reason why the agent ended, None
    while it runs.

    If `keep` is given, the agent also writes its answer to that file, and survives this process
    once the run has started. If `controller` is given, the agent survives no longer than that
    process.
    """

    def __init__(
        self,
        place: ClientHost,
        clients: range,
        plan: LoadPlan,
        keep: Path | None = None,
        controller: LiveProcess | None = None,
    ):
        self.place, self.clients = place, clients
        self.started_s = time.monotonic()
        self.ready: Clocks | None = None
        self.times_ready = 0
        self.answer: AgentAnswer | None = None
        self.progress: tuple[float, str] = (0.0, "preparing")
        self.observed = LiveCounts()
        self.ended: str | None = None
        self._has_answered = False
        self._buffer = bytearray()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        # With -P, Python imports this package, not a package in the working directory.
        command = [*place.prefix, sys.executable, "-P", "-m", "dfslab.fleet.agent"]
        command += ["--keep", str(keep)] if keep else []
        command += ["--controller", controller.text] if controller else []
        # The agent runs in a new session. So Ctrl-C reaches only the controller, which then stops
        # its agents.
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
        """Whether the agent has ended or has sent its answer, so that it starts no further
        phase."""
        return self.ended is not None or self.answer is not None

    def fileno(self) -> int:
        """Returns the file descriptor of the agent's output. `select` calls this method."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def say(self, command: ControllerCommand) -> None:
        """Sends a command to the agent.

        No error is raised if the agent is lost. The loss is detected when the agent's answer is
        read.
        """
        self._write(json.dumps(command))

    def _write(self, text: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()

    def receive(self) -> None:
        """Reads the documents that the agent has sent. If its answer has arrived or its output has
        ended, records how the agent ended. After its answer the agent sends nothing more.

        The end of the output is not waited for after the answer: if the kernel cannot end the agent
        yet, a program of the host's prefix, such as `nsenter`, keeps the output open.
        """
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
                # Programs that start the agent, such as a login shell, may print lines that are no
                # JSON documents.
                self.answer = {"error": "protocol", "text": f"printed {line[:60]!r}"}
                continue
            if self._has_answered:
                self.ended = self._how()
                return

    def _take(self, document: AgentDocument) -> None:
        if (reported := document.get("progress")) is not None:
            share, phase = reported
            self.progress = (float(share), str(phase))
            if (counts := document.get("seen")) is not None:
                self.observed = self.observed.then(LiveCounts.reported(*counts))
        elif (ready := document.get("ready")) is not None:
            self.ready = ready
            self.times_ready += 1
        else:
            self.answer, self._has_answered = document, True

    def _how(self) -> str:
        """Returns how the agent's process ended, as a text with the last line of its error output.
        A process that does not end within END_LIMIT_S is left behind; the text then has the number
        of the process."""
        try:
            status = self._process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            return (
                f"its agent, process {self._process.pid}, is left behind: the kernel holds it in a "
                "call to a file system that does not answer"
            )
        how = f"status {status}" if status >= 0 else signal.Signals(-status).name
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - STDERR_TAIL_BYTES))
        output = self._stderr.read().decode(errors="replace").strip().splitlines()
        return f"its agent ended with {how}" + (f": {output[-1]}" if output else "")

    def stop(self) -> None:
        """Closes the agent's input, which makes the agent stop and remove its files."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def close(self, deadline_s: float) -> None:
        """Stops the agent and waits for its end. An agent that still runs at `deadline_s`
        (CLOCK_MONOTONIC) is killed.

        Ctrl-C ends the wait, and the agent removes its files by itself.
        """
        self.stop()
        while self.ended is None and (left_s := deadline_s - time.monotonic()) > 0:
            if select.select([self], [], [], left_s)[0]:
                self.receive()
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(END_LIMIT_S)
        if self.ended is None:
            self.ended = self._how()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._stderr.close()
