"""An agent: runs one shard of a load for its controller, and removes everything it created.

One JSON document per line. In: a plan, then `{"start_at_monotonic_s": t}` or `{"start_at_unix_s":
t}`. Out: `{"ready": ...}` once prepared and at every later barrier (`shards.turns`), `{"progress":
[share, phase], "seen": [...]}` from time to time, and at the end `{"report": ..., "spans": ...,
"recorded": ...}` or `{"error": kind, "text": ...}`.

End of input, SIGTERM and SIGINT stop the agent: what it created is removed, also when its
controller has vanished. With `--keep FILE` the answer is also written to FILE. Once the load has
started, end of input no longer stops such an agent, only `{"stop": true}` does: a long run then
survives the loss of the connection. With `--lease SECONDS` it survives for that time only. FILE
with `.lock` appended is locked while the agent lives.
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
from typing import NoReturn, cast

from dfslab import _core
from dfslab.fleet.protocol import AgentDocument, Clocks, Command
from dfslab.fleet.watch import OperationCounts
from dfslab.spec.clock import REAL, Clock

REPORT_EVERY_S = 0.2
BLOCK_BYTES = 1 << 16


class Stopped(Exception):
    """The controller has gone, or requested a stop."""


class ProtocolError(Exception):
    """A document from the controller is invalid at this point of the protocol."""


class Lines:
    """Reads lines from a descriptor without a buffer, which `select` would not know of."""

    def __init__(self, descriptor: int):
        self._descriptor = descriptor
        self._buffer = bytearray()

    def check(self) -> None:
        """Stopped when the input has ended; other documents that arrived are queued."""
        while select.select([self._descriptor], [], [], 0)[0]:
            self._take()

    def waiting(self) -> bool:
        """Whether a complete document has arrived."""
        return b"\n" in self._buffer

    def _take(self) -> None:
        block = os.read(self._descriptor, BLOCK_BYTES)
        if not block:
            raise Stopped("the controller has gone")
        self._buffer += block

    def command(self) -> Command:
        """The next document, which is no plan. Stopped at the end of the input."""
        return cast(Command, json.loads(self.document()))

    def document(self) -> str:
        """The text of the next document. Stopped at the end of the input."""
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
    """Runs one load for one controller; the answer is also written to a file where one is given."""

    def __init__(
        self,
        lines: Lines,
        out: int,
        keep: Path | None = None,
        lease_s: float | None = None,
        clock: Clock = REAL,
    ):
        self._lines = lines
        self._out = out
        self._keep = keep
        self._lease_s, self._clock = lease_s, clock
        self._alone_since_s = 0.0
        self._reported_s = 0.0
        self._observed = OperationCounts()
        self._started = self._alone = False

    def run(self) -> None:
        """Receive the plan, run it, answer."""
        try:
            plan = self._lines.document()
            report, spans, recorded = _core.run_load(plan, self._progress, self._gate, self._watch)
        except Stopped as stopped:
            # Usually nobody reads this any more; a remaining reader learns what could not be
            # removed.
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
            answer = AgentDocument(report=json.loads(report), spans=spans, recorded=encoded)
            if self._keep is not None:
                write_atomically(self._keep, {"plan": json.loads(plan), "answer": answer})
            self._say(answer)

    def _gate(self) -> float:
        """Report readiness and wait; the agreed start as a reading of this process's
        CLOCK_MONOTONIC.

        Without a controller, later phases start as soon as this agent reaches them.
        """
        clocks = Clocks(monotonic_s=REAL.monotonic_s(), unix_s=REAL.unix_ns() * 1e-9, boot=boot())
        self._say({"ready": clocks})
        try:
            message: Command = {} if self._alone else self._lines.command()
        except Stopped:
            if self._keep is None or not self._started:
                raise
            self._lose_controller()
            message = Command()
        if message.get("stop"):
            raise Stopped("stopped by the controller")
        start_s = REAL.monotonic_s() if self._alone else start_of(message)
        self._started = True
        return start_s

    def _watch(self, *counts: int) -> None:
        self._observed = self._observed.then(OperationCounts(*counts))

    def _progress(self, share: float, phase: str) -> None:
        if self._alone:
            self._check_lease()
        else:
            self._check()
        now_s = self._clock.monotonic_s()
        if now_s >= self._reported_s + REPORT_EVERY_S:
            self._reported_s = now_s
            self._say({"progress": (share, phase), "seen": self._observed})
            self._observed = self._observed._replace(latency_ns_max=0)

    def _check(self) -> None:
        """Stopped when the controller requests it, or has gone and the answer is not kept in a
        file."""
        try:
            self._lines.check()
        except Stopped:
            if self._keep is None or not self._started:
                raise
            self._lose_controller()
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
            self._lose_controller()

    def _lose_controller(self) -> None:
        self._alone, self._alone_since_s = True, self._clock.monotonic_s()

    def _check_lease(self) -> None:
        """Stopped when the controller has been gone for longer than the lease."""
        alone_s = self._clock.monotonic_s() - self._alone_since_s
        if self._lease_s is not None and alone_s > self._lease_s:
            raise Stopped(f"the controller has been gone for {alone_s:.0f} s")


def write_atomically(path: Path, document: Mapping[str, object]) -> None:
    """Write a JSON file atomically."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.write_text(json.dumps(document), "utf-8")
    temporary.replace(path)


def lock_file(path: Path) -> Path:
    """The lock file that an agent with the answer file `path` holds while it lives."""
    return path.with_name(f"{path.name}.lock")


def boot() -> str:
    """The kernel's identifier of the current boot: processes with the same one share
    CLOCK_MONOTONIC."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_of(message: Command, clock: Clock = REAL) -> float:
    """The start sent by a controller, as a reading of this machine's CLOCK_MONOTONIC.

    A start in Unix time is as accurate as the synchronisation of the two machines' clocks.
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
    """Serve the controller on the standard streams."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    parser = argparse.ArgumentParser(prog="dfslab.fleet.agent")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--lease", type=float)
    given = parser.parse_args()
    keep = given.keep
    # Signals end the agent here: the controller has gone, so nothing is reported.
    with suppress(Stopped), _held(keep):
        Agent(Lines(sys.stdin.fileno()), sys.stdout.fileno(), keep, given.lease).run()
        return
    sys.exit(1)


@contextmanager
def _held(keep: Path | None) -> Iterator[None]:
    """The lock that shows other processes, also in other PID namespaces, that this agent lives."""
    if keep is None:
        yield
        return
    with lock_file(keep).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    main()
