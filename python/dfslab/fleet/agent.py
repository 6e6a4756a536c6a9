"""The agent process, which runs one shard of a workload run for its controller, and removes what it
created. A shard is the part of the workload's clients that one agent runs.

The agent and its controller exchange one JSON document per line. The agent reads a plan and then,
at each barrier (`shards.turns`), a start time: `{"start_at_monotonic_s": t}` or
`{"start_at_unix_s": t}`. The agent writes:

- at each barrier `{"ready": ...}`; the first barrier is at the end of the preparation;
- at intervals `{"progress": [share, phase], "seen": [...]}`, where `share` is the completed share
  of the phase, and `seen` has the counts of operations;
- at the end `{"report": ..., "spans": ..., "recorded": ...}` or `{"error": kind, "text": ...}`.

End of input, SIGTERM and SIGINT stop the agent. The agent then removes what it created, even if its
controller no longer exists.

With `--keep FILE`, a successful agent also writes the plan and its answer (the document at the end)
to FILE, and the agent survives the loss of the connection: once the run has started, the end of
input no longer stops the agent, but `{"stop": true}` does. While the agent lives, it locks the file
FILE.lock.

With `--controller PROCESS`, the agent also stops when this process has ended or, if this process
runs on another machine, when the connection is lost.
"""

from __future__ import annotations

import argparse
import base64
import fcntl
import json
import os
import select
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn, TextIO, cast

from dfslab import _core
from dfslab.core_errors import from_types
from dfslab.fleet.protocol import AgentDocument, Clocks, ControllerCommand, SpanColumns
from dfslab.fleet.watch import LiveCounts
from dfslab.spec.clock import REAL, Clock
from dfslab.testbeds.hosts.process import LiveProcess, boot_id

REPORT_EVERY_S = 0.2
BLOCK_BYTES = 1 << 16
# Largest number of attempts to create and lock the lock file. An attempt fails if another process
# removes the file after it is created and before it is locked.
LOCK_ATTEMPTS = 100


class Stopped(Exception):
    """Raised when the controller has ended, when it has sent the request to stop, or when a signal
    stops the agent."""


class ProtocolError(Exception):
    """Raised for a document from the controller that is not allowed at this point of the
    protocol.
    """


class Lines:
    """Reads lines from a file descriptor.

    The class does not use Python's buffered files, because `select` does not report buffered
    content.
    """

    def __init__(self, descriptor: int):
        self._descriptor = descriptor
        self._buffer = bytearray()

    def check(self) -> None:
        """Moves the input that has arrived into the buffer, without waiting for more.

        Raises Stopped if the input has ended.
        """
        while select.select([self._descriptor], [], [], 0)[0]:
            self._take()

    def waiting(self) -> bool:
        """Returns whether a complete document is in the buffer."""
        return b"\n" in self._buffer

    def _take(self) -> None:
        block = os.read(self._descriptor, BLOCK_BYTES)
        if not block:
            raise Stopped("the controller has gone")
        self._buffer += block

    def command(self) -> ControllerCommand:
        """Waits for the next command of the controller, and returns it. The controller sends the
        plan first, and commands after it.

        Raises Stopped if the input has ended.
        """
        return cast(ControllerCommand, json.loads(self.document()))

    def document(self) -> str:
        """Waits for the next document and returns its text. Raises Stopped if the input has
        ended."""
        while b"\n" not in self._buffer:
            self._take()
        line, _, rest = self._buffer.partition(b"\n")
        self._buffer = rest
        try:
            document = json.loads(line)
        except ValueError as error:
            raise ProtocolError(f"{bytes(line[:60])!r} is no JSON document: {error}") from error
        if not isinstance(document, dict):
            raise ProtocolError(f"{bytes(line[:60])!r} is no JSON object")
        return json.dumps(document)


class Agent:
    """Runs one shard of a workload run for one controller.

    If `keep` is given, the plan and the results are also written to that file when the run
    succeeds.
    """

    def __init__(
        self,
        lines: Lines,
        out: int,
        keep: Path | None = None,
        controller: LiveProcess | None = None,
        clock: Clock = REAL,
    ):
        self._lines = lines
        self._out = out
        self._keep = keep
        self._controller, self._clock = controller, clock
        self._reported_s = 0.0
        self._observed = LiveCounts()
        self._started = self._alone = False

    def run(self) -> None:
        """Receives the plan, runs it, and sends the answer to the controller."""
        try:
            plan = self._lines.document()
            with from_types(plan=plan):
                report, spans, recorded = _core.run_load(
                    plan, self._progress, self._barrier, self._watch
                )
        except Stopped as stopped:
            # The controller has usually ended by now. A controller that still runs receives the
            # paths that the agent could not remove.
            left = vars(stopped).get("__notes__", [])
            self._say({"error": "stopped", "text": str(stopped), "left": left})
        except ProtocolError as error:
            self._say({"error": "protocol", "text": str(error)})
        except _core.InputError as error:
            self._say({"error": "input", "text": str(error)})
        except _core.RunError as error:
            self._say({"error": "run", "text": str(error)})
        else:
            encoded = base64.b64encode(recorded).decode()
            answer = AgentDocument(
                report=json.loads(report), spans=columns(spans), recorded=encoded
            )
            if self._keep is not None:
                write_atomically(self._keep, {"plan": json.loads(plan), "answer": answer})
            self._say(answer)
        finally:
            # A thread of this process may be blocked in a call to a file system. The kernel then
            # cannot end the process, which would keep its output open. The controller waits for the
            # end of the output, so the output is closed explicitly.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._out)
            os.close(nowhere)

    def _barrier(self) -> float:
        """Reports to the controller that this agent has reached a barrier, and waits for the agreed
        start of the next phase. Returns the start in seconds of CLOCK_MONOTONIC. Raises Stopped if
        the agent has to stop.

        An agent that survived the loss of its controller does not wait: it starts each later phase
        as soon as it reaches the phase.
        """
        clocks = Clocks(monotonic_s=REAL.monotonic_s(), unix_s=REAL.unix_ns() * 1e-9, boot=boot())
        self._say({"ready": clocks})
        try:
            message: ControllerCommand = {} if self._alone else self._lines.command()
        except Stopped:
            if self._keep is None or not self._started:
                raise
            self._alone = True
            message = ControllerCommand()
        if message.get("stop"):
            raise Stopped("stopped by the controller")
        start_s = REAL.monotonic_s() if self._alone else start_of(message)
        self._started = True
        return start_s

    def _watch(
        self,
        done: int,
        errors: int,
        spent_ns: int,
        longest_ns: int,
        latencies: list[tuple[int, int]],
    ) -> None:
        counts = LiveCounts.reported(done, errors, spent_ns, longest_ns, latencies)
        self._observed = self._observed.then(counts)

    def _progress(self, share: float, phase: str) -> None:
        if not self._alone:
            self._check()
        now_s = self._clock.monotonic_s()
        if now_s >= self._reported_s + REPORT_EVERY_S:
            self._reported_s = now_s
            self._check_controller()
            self._say({"progress": (share, phase), "seen": self._observed})
            self._observed = self._observed._replace(latency_ns_max=0)

    def _check(self) -> None:
        """Reads messages of the controller that have arrived.

        Raises Stopped if the controller requests the stop. Also raises Stopped if the controller
        has ended and the answer is not written to a file.
        """
        try:
            self._lines.check()
        except Stopped:
            if self._keep is None or not self._started:
                raise
            self._alone = True
        if self._started and self._lines.waiting() and self._lines.command().get("stop"):
            raise Stopped("stopped by the controller")

    def _say(self, document: AgentDocument) -> None:
        if self._alone:
            return
        left = memoryview(json.dumps(document).encode() + b"\n")
        try:
            while left:
                left = left[os.write(self._out, left) :]
        except BrokenPipeError as error:
            if self._keep is None or not self._started:
                raise Stopped("the controller has gone") from error
            self._alone = True

    def _check_controller(self) -> None:
        """Raises Stopped if the controller has ended or can no longer be reached.

        If the controller runs on this machine, its process is checked. If it runs on another
        machine, Stopped is raised when the connection to the Dask worker that started the agent is
        lost. The worker in turn stops the agent if the controller is silent for longer than a
        lease.
        """
        controller = self._controller
        if controller is None:
            return
        if controller.boot != boot_id():
            if self._alone:
                raise Stopped("the connection to the controller is lost")
        elif not controller.alive():
            raise Stopped("the controller has ended")


def columns(spans: _core.SpanTable) -> SpanColumns:
    """Returns the spans of a workload run as lists, which JSON can hold."""
    return SpanColumns(
        name=spans.name,
        start_unix_ns=spans.start_unix_ns.tolist(),
        end_unix_ns=spans.end_unix_ns.tolist(),
        span_id=spans.span_id.tolist(),
        parent_id=spans.parent_id.tolist(),
        thread=spans.thread.tolist(),
        bytes=spans.bytes.tolist(),
    )


def write_atomically(path: Path, document: Mapping[str, object]) -> None:
    """Writes a JSON file completely or not at all, even if the process is interrupted."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.write_text(json.dumps(document), "utf-8")
    temporary.replace(path)


def lock_file(path: Path) -> Path:
    """Returns the path of the lock file of an agent with the answer file `path`.

    The file is locked while the agent lives.
    """
    return path.with_name(f"{path.name}.lock")


def boot() -> str:
    """Returns the id of the kernel's current boot. Processes with the same boot id share
    CLOCK_MONOTONIC, unless they are in different time namespaces."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_of(message: ControllerCommand, clock: Clock = REAL) -> float:
    """Returns the start time that a controller sent, converted to seconds of this machine's
    CLOCK_MONOTONIC.

    If the start is given in Unix time, the result is only as accurate as the synchronisation of the
    clocks of the two machines.
    """
    offset_s = clock.monotonic_s() - clock.unix_ns() * 1e-9
    for start_s, zero_s in (
        (message.get("start_at_monotonic_s"), 0.0),
        (message.get("start_at_unix_s"), offset_s),
    ):
        if isinstance(start_s, int | float):
            return float(start_s) + zero_s
    raise ProtocolError(f"{message}: neither start_at_monotonic_s nor start_at_unix_s")


def _stop(number: int, _frame: object) -> NoReturn:
    raise Stopped(f"stopped by {signal.Signals(number).name}")


def main() -> None:
    """Runs an agent whose controller is at the other end of standard input and output."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    parser = argparse.ArgumentParser(prog="dfslab.fleet.agent")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--controller", type=LiveProcess.from_text)
    given = parser.parse_args()
    keep = given.keep
    # If a signal stops the agent before or after `run`, the agent ends without a report, because
    # its controller has then ended.
    with suppress(Stopped), _held(keep, given.controller):
        Agent(Lines(sys.stdin.fileno()), sys.stdout.fileno(), keep, given.controller).run()
        return
    sys.exit(1)


@contextmanager
def _held(keep: Path | None, controller: LiveProcess | None) -> Iterator[None]:
    """Returns a context in which the agent's lock file is locked. Without `keep` there is no lock
    file, and the context does nothing.

    The lock shows other processes that this agent is running, even processes in another PID
    namespace, where the agent's process is not visible. The file has the text that identifies the
    controller's process. From this text, other processes can find out whether the controller still
    lives and may read the agent's answer.
    """
    if keep is None:
        yield
        return
    with locked(lock_file(keep)) as lock:
        lock.write(controller.text if controller else "")
        lock.flush()
        yield


def locked(path: Path) -> TextIO:
    """Creates a file and its folder, locks the file, and returns the open file.

    `dfslab doctor --clean` may remove the folder before the file exists, and the file before the
    file is locked. Both are then created again. Raises OSError if the file cannot be created or
    locked.
    """
    for _ in range(LOCK_ATTEMPTS):
        with suppress(FileNotFoundError):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = path.open("w", encoding="utf-8")
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(lock.fileno()), path.stat()):
                return lock
            lock.close()
    raise FileNotFoundError(f"{path}: was removed {LOCK_ATTEMPTS} times before it was locked")


if __name__ == "__main__":
    main()
