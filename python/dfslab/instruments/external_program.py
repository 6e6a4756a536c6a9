"""Runs a workload that is an external program.

The method "measure" measures the duration of the run. The method "trace" counts the calls of all
JVMs of the run.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dfslab import discover
from dfslab.documents import metrics as metric
from dfslab.documents.measured_load import ProgramRun
from dfslab.instruments import access
from dfslab.instruments.contract import MeasurementOptions
from dfslab.instruments.measuring.warm_up import warm_up_once, where
from dfslab.instruments.tracing import callprofile
from dfslab.instruments.tracing.command_profile import host_of, write_increase
from dfslab.method import RunFailed
from dfslab.result import Metric, Result, provenance
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.environment import workload_parameters
from dfslab.spec.files import scratch
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point
from dfslab.spec.streams.workload import RunValues
from dfslab.testbeds.base import BaseTestbed
from dfslab.testbeds.capabilities import Traceable
from dfslab.testbeds.daemon import tied_to_owner
from dfslab.testbeds.errors import last_lines
from dfslab.testbeds.interruption import uninterrupted

# Name of the operation whose latency is the duration of the whole program.
OPERATION = "command"
READY, GO = b"ready", b"go\n"
LOG = "command.log"
POLL_S = 0.05
# A command that has not ended this many seconds after an interruption is killed.
INTERRUPTED_S = 10.0


def is_command(point: Point) -> bool:
    """Returns whether the workload of a configuration is an external program, not a stream of
    operations."""
    return discover.workload(point.scenario.workload.name).command is not None


def expect(point: Point) -> None:
    """Raises InputError if the program of a configuration is given by a path that does not exist.

    A bare name is not checked, because the PATH of a testbed is known only once the testbed runs.
    """
    workload = discover.workload(point.scenario.workload.name)
    if workload.command is not None:
        own = workload_parameters(point.scenario, workload)
        command = workload.command(own, RunValues())
        if "/" in command.words[0]:
            _there(command.words[0], {}, command.install)


def measured(
    point: Point, session: access.InstrumentSession, repetition: int, options: MeasurementOptions
) -> Result:
    """Runs the program once and times it.

    Raises InputError if the program is missing, and RunFailed if it fails.
    """
    with scratch.folder("command") as folder:
        took_s, words = _run(
            point, session, repetition, options, folder, lambda: None, counts_calls=False
        )
    return _result("measure", point, repetition, session, ProgramRun(took_s=took_s, command=words))


def traced(
    point: Point,
    session: access.InstrumentSession,
    repetition: int,
    options: MeasurementOptions,
    clock: Clock = REAL,
) -> Result:
    """Runs the program once on a testbed, and records call profiles.

    During the run, the testbed's processes and the program's JVMs count their calls. Each of these
    processes gets one profile in a folder below `options.trace_directory`. The profile has the
    calls that the process made while the program ran. `program.profiles` of the result names the
    folder.
    """
    folder = options.trace_directory
    if folder is None:
        raise InputError("run.methods", "trace", "a program is traced by `dfslab run`")
    folder = folder / point.id
    folder.mkdir(parents=True, exist_ok=True)
    before: dict[str, callprofile.File] = {}
    began_unix_ns = 0

    def begin() -> None:
        nonlocal began_unix_ns
        # Discard the exemplar traces of the warm-up. A process records exemplar traces only of its
        # slowest calls, so the slow calls of the warm-up would displace calls of the program.
        before.update(callprofile.await_written(session.traceable.profiles, discard=True))
        began_unix_ns = clock.unix_ns()

    took_s, words = _run(point, session, repetition, options, folder, begin, counts_calls=True)
    after = callprofile.await_written(session.traceable.profiles)
    source = session.traceable.profiles
    write_increase(source, folder, before, after, began_unix_ns, host_of(session.traceable))
    ran = ProgramRun(took_s=took_s, command=words, profiles=folder.name)
    return _result("trace", point, repetition, session, ran)


def _run(
    point: Point,
    session: access.InstrumentSession,
    repetition: int,
    options: MeasurementOptions,
    folder: Path,
    begin: Callable[[], None],
    counts_calls: bool,
) -> tuple[float, list[str]]:
    """Runs the program.

    Returns the seconds of the timed part, and the words of the program's command line. `begin` is
    called just before the timed part. `counts_calls` is true if the processes of the testbed count
    their calls. Raises RunFailed if the program fails or exceeds its time limit.
    """
    scenario = point.scenario
    target = session.target(scenario, counts_calls)
    testbed = session.testbed
    warm_up_once(point, target, session, options.progress)
    workload = discover.workload(scenario.workload.name)
    own = workload_parameters(scenario, workload)
    assert workload.command is not None
    reached = session.reach(scenario, counts_calls)
    run = RunValues(
        uri=reached.uri,
        directory=str(reached.directory),
        folder=f"/dfslab-{uuid.uuid4().hex[:12]}",
        clients=str(scenario.workload.clients),
        seed=str(scenario.run.seed + repetition),
    )
    command = workload.command(own, run)
    words = command.words
    environment = client_environment(testbed)
    _there(words[0], environment, command.install)
    # If clients run on hosts, the program runs on the first of these hosts.
    host = next(iter(testbed.clients), None) if testbed is not None else None
    entered = words if host is None else host.command(words)
    running = _Program(entered, environment, folder / LOG, scenario.run.time_limit)
    try:
        return running.to_end(begin, command.says_ready), words
    except _Failed as error:
        output = " / ".join(last_lines(folder / LOG, 3))
        raise RunFailed(f"{where(point)}: {Path(words[0]).name} {error}: {output}") from error


def to_end(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs a user's command in this terminal and returns its exit status. The command's standard
    output is redirected to stderr.

    Ctrl-C interrupts both this process and the command. If the command does not end within
    INTERRUPTED_S seconds, it is killed. KeyboardInterrupt is then raised. Raises OSError if the
    command is not executable.
    """
    child: subprocess.Popen[bytes] | None = None
    try:
        # An interrupt that arrives while the command is being started takes effect after the start,
        # so that the command receives it as well.
        with uninterrupted():
            # Standard output is reserved for the profile, so the command's output goes to standard
            # error.
            child = subprocess.Popen(words, env=dict(environment), stdout=sys.stderr)
        return child.wait()
    except KeyboardInterrupt:
        if child is not None:
            _interrupt(child)
        raise


def _interrupt(child: subprocess.Popen[bytes]) -> None:
    """Interrupts a command, and kills it if it does not end within INTERRUPTED_S seconds."""
    child.send_signal(signal.SIGINT)
    try:
        child.wait(INTERRUPTED_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def client_environment(testbed: BaseTestbed | None) -> dict[str, str]:
    """Returns the environment of a client process.

    The environment has this process's variables. With a testbed, it also has:

    - a variable that marks the process as part of the testbed, so that it is ended with the
      testbed,
    - the settings for tracing, if the testbed's processes count their calls.
    """
    if testbed is None:
        return dict(os.environ)
    own = testbed.client_environment() if isinstance(testbed, Traceable) else {}
    return {**testbed.environment(), **own}


def _there(program: str, environment: Mapping[str, str], install: str) -> None:
    if shutil.which(program, path=environment.get("PATH")) is None:
        how = f"; `{install}` installs it" if install else ""
        raise InputError("workload.command", program, f"is not a program on this machine{how}")


class _Failed(Exception):
    """Raised when the external program fails or exceeds its time limit."""


class _Program:
    """One process of the program, with its output in a log. The process never outlives the run."""

    def __init__(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        limit_s: float,
        clock: Clock = REAL,
    ) -> None:
        self._words, self._environment, self._log = words, environment, log
        self._limit_s, self._clock = limit_s, clock

    def to_end(self, begin: Callable[[], None], says_ready: bool) -> float:
        """Runs the program to its end. Returns the seconds of the timed part.

        - `says_ready` false: the timed part begins when the program is started.
        - `says_ready` true: the program prepares itself and reports that it is ready. The program
          then receives the signal to continue, with which the timed part begins.

        `begin` is called just before the timed part. Raises _Failed if the program fails, or if
        preparation and timed part together exceed the time limit.
        """
        if not says_ready:
            begin()
        began = self._clock.monotonic_s()
        deadline = began + self._limit_s
        with (
            self._log.open("wb") as log,
            subprocess.Popen(
                tied_to_owner(self._words),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(self._environment),
                start_new_session=True,
            ) as child,
        ):
            try:
                assert child.stdin
                if says_ready:
                    self._await_ready(child, deadline)
                    begin()
                    began = self._clock.monotonic_s()
                    child.stdin.write(GO)
                child.stdin.close()
                status = child.wait(max(0.0, deadline - self._clock.monotonic_s()))
                took_s = self._clock.monotonic_s() - began
            except subprocess.TimeoutExpired:
                raise _Failed(f"did not end within {self._limit_s:g} s") from None
            except BrokenPipeError:
                raise _Failed(f"ended with {child.wait()} before the common start") from None
            finally:
                # Kill the whole process group of the program. The operating system cannot assign
                # the group's number to another process before the program's end has been waited
                # for.
                if child.returncode is None:
                    os.killpg(child.pid, signal.SIGKILL)
        if status:
            raise _Failed(f"ended with {status}")
        return took_s

    def _await_ready(self, child: subprocess.Popen, deadline: float) -> None:
        while READY not in self._log.read_bytes().splitlines():
            if child.poll() is not None:
                raise _Failed(f"ended with {child.returncode} before it was ready")
            if self._clock.monotonic_s() > deadline:
                raise _Failed(f"was not ready within {self._limit_s:g} s")
            self._clock.sleep(POLL_S)


def _result(
    method: str, point: Point, repetition: int, session: access.InstrumentSession, ran: ProgramRun
) -> Result:
    metrics = {
        metric.RATE: Metric(value=1 / ran.took_s),
        metric.key(metric.LATENCY, metric.MEAN, OPERATION): Metric(value=ran.took_s),
    }
    return Result(
        method=method,
        point_id=point.id,
        point=point,
        repetition=repetition,
        metrics=metrics,
        program=ran,
        provenance=provenance(point.scenario.run.seed + repetition, session.versions),
    )
