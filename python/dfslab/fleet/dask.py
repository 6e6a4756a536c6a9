"""Runs one workload on many machines, with one agent on every worker of a Dask cluster.

Dask finds the workers and transports short calls to the workers. A call starts an agent, polls its
output, or sends the agreed start time. The load generators run in separate agent processes, which
also write their answers to their host's disk. So the results of finished shards survive the loss of
a worker, the scheduler or the controller. The start is agreed over Dask, never through the file
system under test.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Client

from dfslab.documents.measured_load import FleetLoadReport, FleetReport
from dfslab.fleet import client_hosts, lease, shards, worker_calls
from dfslab.fleet.agent import boot
from dfslab.fleet.client_hosts import ClientHost, ClusterKind, Nodes
from dfslab.fleet.each_host import CONNECT_LIMIT_S, JOIN_LIMIT_S, lost_workers_reported, reached
from dfslab.fleet.protocol import AgentAnswer, ControllerCommand, Heard, HostClocks
from dfslab.fleet.watch import LiveCounts, Watch
from dfslab.silent_loggers import quiet
from dfslab.spec.streams.plan import LoadPlan

CALL_LIMIT_S = 5.0
LEAVE_LIMIT_S = 20.0
# A worker that has not answered for this many seconds is considered lost.
SILENCE_LIMIT_S = 10.0
POLL_S = 0.2
PROBES = 15
# The controller chooses the common start time a number of seconds ahead: START_LEAD_S or the time
# of LEAD_CALLS calls to the slowest worker, whichever is larger.
START_LEAD_S = 0.5
LEAD_CALLS = 10
# The keys are kinds of clusters. The values are (module, class, package that provides the class).
KINDS = {
    "ssh": ("distributed", "SSHCluster", "asyncssh"),
    "slurm": ("dask_jobqueue", "SLURMCluster", "dask-jobqueue"),
    "yarn": ("dask_yarn", "YarnCluster", "dask-yarn"),
    "kubernetes": ("dask_kubernetes.operator", "KubeCluster", "dask-kubernetes"),
}
# The exceptions that Dask raises when a worker or the scheduler does not answer.
UNREACHABLE = (OSError, TimeoutError, asyncio.TimeoutError, KeyError, ValueError)


@dataclass(frozen=True)
class ClockOffset:
    """The difference between a worker's Unix clock and the controller's Unix clock, and its largest
    error. The offset is measured by several probes, of which the probe with the shortest round trip
    counts. The worker reads its clock between the sending and the return of the probe, so half of
    the round trip bounds the error (Cristian 1989, Distributed Computing 3)."""

    offset_s: float
    error_s: float
    boot: str
    host: str
    one_monotonic: bool


@dataclass
class AgentState:
    """The state of an agent, as far as the controller knows it. `ended`: the reason why the agent
    ended; None while it runs."""

    place: ClientHost
    worker: str
    clients: range
    kept: Path | None = None
    times_ready: int = 0
    answer: AgentAnswer | None = None
    progress: tuple[float, str] = (0.0, "preparing")
    observed: LiveCounts = LiveCounts()
    ended: str | None = None
    silent: bool = False
    heard_s: float = field(default_factory=time.monotonic)
    clock: ClockOffset | None = None
    drift_s: float | None = None

    def take(self, heard: Heard) -> None:
        """Updates the state with `heard`, the output that the agent has sent so far."""
        self.heard_s, self.silent = time.monotonic(), False
        self.times_ready, self.answer = heard.times_ready, heard.answer
        self.progress, self.ended = heard.progress, heard.ended
        self.observed = self.observed.then(heard.observed)


@quiet("distributed")
def each(scheduler: str, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Runs calls on a cluster's workers. Each call is a function with its arguments. Returns the
    results in the order of the calls. Exceptions of the functions are raised as they are. Raises
    RunFailed if the scheduler does not answer, or if the worker of a call was lost repeatedly."""
    with reached(scheduler) as client, lost_workers_reported(scheduler):
        requested = [client.submit(*call, pure=False) for call in calls]
        return client.gather(requested)


# Dask would log each attempt to reach a lost worker, but the report has each loss once.
@quiet("distributed")
def run_load(
    plan: LoadPlan,
    nodes: Nodes,
    progress: shards.ProgressReport | None = None,
    watch: Watch | None = None,
) -> shards.LoadRun:
    """Runs a plan on a Dask cluster. The arguments and the result are those of `run.run_load`. The
    report also has the field `fleet`, which describes the scheduler and its state at the end.
    There, each worker has the offset of its clock, and the largest error of this offset. Raises
    LoadFailed if the scheduler does not answer."""
    stopping, over = threading.Event(), threading.Event()

    def work() -> shards.LoadRun:
        try:
            return asyncio.run(Controller(plan, nodes, progress, watch or Watch(), stopping).work())
        finally:
            over.set()

    try:
        return nodes.within(work)
    except KeyboardInterrupt:
        # The interrupt does not reach the thread that controls the run, so stop that thread.
        stopping.set()
        over.wait(client_hosts.CLEAN_UP_LIMIT_S)
        raise


class Controller:
    """Controls one workload run on the workers of one cluster."""

    def __init__(
        self,
        plan: LoadPlan,
        nodes: Nodes,
        progress: shards.ProgressReport | None,
        watch: Watch,
        stopping: threading.Event,
    ) -> None:
        self._plan, self._nodes, self._progress = plan, nodes, progress
        self._stopping, self._watch = stopping, watch
        self._run = uuid.uuid4().hex[:12]
        self._parts: list[AgentState] = []
        self._client: Client
        self._scheduler_lost = False

    async def work(self) -> shards.LoadRun:
        """Runs all shards of the workload on the scheduler's workers; returns the merged
        results."""
        address = self._nodes.scheduler
        client = Client(address, asynchronous=True, timeout=CONNECT_LIMIT_S, set_as_default=False)
        try:
            self._client = await client
        except UNREACHABLE as error:
            raise shards.LoadFailed(f"no Dask scheduler answers at {address}: {error}") from error
        try:
            await self._join()
            return await self._load()
        finally:
            with contextlib.suppress(*UNREACHABLE):
                await client.close(timeout=1)

    async def _join(self) -> None:
        """Waits for workers, selects those that take part, and assigns clients to them."""
        wanted = max(1, self._nodes.wanted, self._nodes.expected)
        deadline_s = time.monotonic() + JOIN_LIMIT_S
        while len(known := await self._workers()) < wanted:
            if time.monotonic() > deadline_s:
                reason = f"{len(known)} of {wanted} nodes joined {self._nodes.scheduler}"
                raise shards.LoadFailed(reason)
            self._report(0.0, f"waiting for nodes: {len(known)} of {wanted} are connected")
            await asyncio.sleep(POLL_S)
        chosen = known[: self._nodes.wanted or None]
        count = len(chosen) * self._nodes.processes
        slices = client_hosts.split(max(1, self._plan.stream.clients), count)
        slots = [(name, worker, n) for name, worker in chosen for n in range(count // len(chosen))]
        for (name, worker, number), clients in zip(slots, slices, strict=True):
            if clients:
                named = f"{name}, process {number + 1}" if self._nodes.processes > 1 else name
                self._parts.append(AgentState(ClientHost(named), worker, clients))

    async def _workers(self) -> list[tuple[str, str]]:
        """Returns (name, address) of every worker, sorted by name; numeric names are sorted as
        numbers."""
        assert self._client.scheduler is not None
        found = (await self._client.scheduler.identity(n_workers=-1))["workers"]
        named = [(str(worker["name"]), address) for address, worker in found.items()]
        return sorted(
            named,
            key=lambda one: [
                int(part) if part.isdigit() else part for part in re.split(r"(\d+)", one[0])
            ],
        )

    async def _load(self) -> shards.LoadRun:
        plan = self._plan.model_copy(update={"shared": len(self._parts) > 1})
        try:
            await self._all(self.measure_clock)
            await self._all(lambda part: self._open(part, plan))
            for turn in range(shards.turns(plan)):
                await self._begin(turn)
            await self._until(lambda part: part.ended is not None)
            await self._all(self._measure_drift)
        except BaseException as error:
            # Ctrl-C arrives as a KeyboardInterrupt from `_report` or, in the main thread, as the
            # cancellation of the asyncio task.
            interrupted = isinstance(error, KeyboardInterrupt | asyncio.CancelledError)
            await self._stop(client_hosts.patience_s(interrupted and self._nodes.passing))
            raise
        report, spans, recorded = shards.merge_shards(plan, self._parts)
        await self._all(self._forget)
        return shards.LoadRun(self._noted(report), self._here(spans), recorded)

    async def _all(self, work: Callable[[AgentState], Any]) -> None:
        await asyncio.gather(*(work(part) for part in self._parts))

    async def _call(self, part: AgentState, function: Callable[..., Any], *arguments: Any) -> Any:
        """Runs `function` on the worker of an agent and returns the result. Raises one of
        UNREACHABLE if no result arrives."""
        call = self._client.run(function, *arguments, workers=[part.worker])
        return (await asyncio.wait_for(call, CALL_LIMIT_S))[part.worker]

    async def measure_clock(self, part: AgentState) -> None:
        """Measures the offset of a worker's clock from this host's clock in PROBES round trips."""
        best: ClockOffset | None = None
        for _ in range(PROBES):
            sent_s, requested_unix_s = time.monotonic(), time.time()
            try:
                reported: HostClocks = await self._call(part, worker_calls.clock)
            except (*UNREACHABLE, ImportError) as error:
                raise shards.LoadFailed(f"{part.place.name}: {_words(error)}") from error
            round_trip_s = time.monotonic() - sent_s
            if best is None or round_trip_s / 2 < best.error_s:
                # `ours` is true if the worker reads the same CLOCK_MONOTONIC as this process. If
                # the worker or this process is in a time namespace, their clocks differ although
                # their boot ids are equal.
                ours = sent_s <= reported.monotonic_s <= sent_s + round_trip_s
                best = ClockOffset(
                    reported.unix_s - (requested_unix_s + round_trip_s / 2),
                    round_trip_s / 2,
                    reported.boot,
                    reported.host,
                    ours and reported.boot == boot(),
                )
        part.clock = best

    async def _measure_drift(self, part: AgentState) -> None:
        """Measures by how many seconds the clock of an agent's worker drifted during the run
        relative to the controller's clock. Does nothing if the worker no longer answers."""
        if part.silent or self._scheduler_lost or part.clock is None:
            return
        before = part.clock
        with contextlib.suppress(*UNREACHABLE, shards.LoadFailed):
            await self.measure_clock(part)
            part.drift_s = part.clock.offset_s - before.offset_s
        part.clock = before

    async def _open(self, part: AgentState, plan: LoadPlan) -> None:
        first, last = part.clients.start, part.clients.stop
        try:
            work = (self._run, first, last, plan, self._nodes.controller)
            part.kept = await self._call(part, worker_calls.open_part, *work)
        except UNREACHABLE as error:
            reason = f"no agent can be started: {_words(error)}"
            raise shards.LoadFailed(f"{part.place.name}: {reason}") from error

    async def _begin(self, turn: int) -> None:
        """Starts the phase after the barrier with number `turn` at the same time on all workers.

        At the first barrier, all agents are needed. At later barriers, lost or stopped agents are
        not waited for. An agent that the controller cannot reach starts the phase by itself once it
        notices that it has lost its controller.
        """

        def is_there(part: AgentState) -> bool:
            over = part.ended is not None or part.silent
            return part.times_ready > turn or (turn > 0 and over)

        await self._until(is_there, needed=turn == 0)
        self._watch.prepared()
        start_s = await self._start()
        if turn == 0:
            self._watch.started(start_s)

    async def _start(self) -> float:
        """Chooses one start time and sends it to every agent, converted to the agent's clock.
        Returns the start in seconds of this process's CLOCK_MONOTONIC."""
        slowest_s = max(2 * part.clock.error_s for part in self._parts if part.clock)
        lead_s = max(START_LEAD_S, LEAD_CALLS * slowest_s)
        at_monotonic_s, at_unix_s = time.monotonic() + lead_s, time.time() + lead_s

        async def send_start(part: AgentState) -> None:
            assert part.clock is not None
            start: ControllerCommand = {"start_at_unix_s": at_unix_s + part.clock.offset_s}
            if part.clock.one_monotonic:
                start = {"start_at_monotonic_s": at_monotonic_s}
            with contextlib.suppress(*UNREACHABLE):
                if part.ended is None and not part.silent:
                    await self._call(part, worker_calls.send, part.kept, start)

        await self._all(send_start)
        return at_monotonic_s

    async def _until(self, done: Callable[[AgentState], bool], needed: bool = False) -> None:
        """Polls all agents until `done` is true for each of them. If `needed` is true and an agent
        has ended, raises WrongPlan or LoadFailed."""
        while not all(done(part) for part in self._parts):
            await self._all(self._hear)
            for part in self._parts:
                if needed and part.ended is not None:
                    shards.fail(part)
            self._watch.report(self._parts)
            self._report(*shards.progress_of(self._parts))
            await asyncio.sleep(POLL_S)

    def _report(self, share: float, phase: str) -> None:
        if self._stopping.is_set():
            raise KeyboardInterrupt
        if self._progress is not None:
            self._progress(share, phase)

    async def _hear(self, part: AgentState) -> None:
        """Polls an agent. If its worker does not answer, looks for the agent's answer file."""
        if part.ended is not None:
            return
        self._scheduler_lost |= self._client.status != "running"
        try:
            if self._scheduler_lost:
                raise OSError("the scheduler was lost")
            part.take(await self._call(part, worker_calls.hear, part.kept))
        except UNREACHABLE as error:
            self._look_for(part, _words(error))

    def _look_for(self, part: AgentState, why: str) -> None:
        """Marks an agent as unreachable for the reason `why`. If the agent ran on this machine and
        has ended, reads its answer file."""
        assert part.kept is not None
        part.silent = True
        mine = part.clock is not None and part.clock.boot == boot()
        if mine and worker_calls.alive(part.kept):
            return
        if mine and (found := worker_calls.left_behind(part.kept)) is not None:
            part.answer, part.ended = found.answer, "it was read from disk"
            return
        if mine or self._scheduler_lost or time.monotonic() > part.heard_s + SILENCE_LIMIT_S:
            host = part.clock.host if part.clock else "its node"
            where = "" if mine else f"; its answer, once there, is on {host} in {part.kept}"
            part.ended = f"its node does not answer ({why}){where}"

    async def _stop(self, limit_s: float) -> None:
        """Stops all agents; waits up to `limit_s` seconds until they have removed their files."""

        async def stop(part: AgentState) -> None:
            if part.kept is not None:
                with contextlib.suppress(*UNREACHABLE):
                    await self._call(part, worker_calls.stop, part.kept)

        await self._all(stop)
        deadline_s = time.monotonic() + limit_s
        opened = [part for part in self._parts if part.kept is not None]
        while any(part.ended is None for part in opened) and time.monotonic() < deadline_s:
            await asyncio.gather(*(self._hear(part) for part in opened))
            await asyncio.sleep(POLL_S)
        for part in opened:
            if part.ended is None and self._nodes.passing:
                part.ended = "it was not waited for"
        await self._all(self._forget)

    async def _forget(self, part: AgentState) -> None:
        """Removes the files of an agent that has ended: directly if the agent ran on this machine
        and has answered, and by a call to the agent's worker if the worker answers."""
        if part.kept is None or part.ended is None:
            return
        if part.answer is not None and part.clock is not None and part.clock.boot == boot():
            worker_calls.remove_files(part.kept)
        if not self._scheduler_lost and not part.silent:
            with contextlib.suppress(*UNREACHABLE):
                await self._call(part, worker_calls.forget, part.kept)

    def _noted(self, report: FleetLoadReport) -> FleetLoadReport:
        """Returns the report with the fields that only a Dask cluster has: the scheduler, and the
        clock of each worker."""
        places = []
        for place, part in zip(report.places or (), self._parts, strict=True):
            assert part.clock is not None
            clock = {
                "host": part.clock.host,
                "clock_offset_s": part.clock.offset_s,
                "clock_error_s": part.clock.error_s,
                "clock_drift_s": part.drift_s,
            }
            places.append(place.model_copy(update=clock))
        notes = []
        if self._scheduler_lost:
            notes.append(
                f"the Dask scheduler at {self._nodes.scheduler} was lost while the load "
                "ran; the parts were read from disk"
            )
        fleet = FleetReport(kind="dask", scheduler=self._nodes.scheduler, notes=notes)
        return report.model_copy(update={"places": places, "fleet": fleet})

    def _here(self, spans: shards.Spans) -> shards.Spans:
        """Returns the spans of all workers, with their times converted to this machine's clock."""
        ahead_ns: dict[int, int] = {}
        for part in self._parts:
            clock = part.clock
            ahead_s = 0.0 if clock is None or clock.one_monotonic else clock.offset_s
            ahead_ns |= dict.fromkeys(part.clients, round(ahead_s * 1e9))
        return shards.shifted(spans, ahead_ns)


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0].rstrip(": ")


@contextlib.contextmanager
def cluster(kind: ClusterKind, nodes: int) -> Iterator[str]:
    """Returns a context with a new cluster of `nodes` workers. The context yields the scheduler's
    address. Raises LoadFailed if the cluster's library is missing or cannot start the cluster."""
    module, name, package = KINDS[kind.name]
    with contextlib.ExitStack() as stack:
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
            raise shards.LoadFailed(reason) from error
        except Exception as error:  # each cluster library has its own exception classes
            reason = _words(error.__cause__ or error)
            raise shards.LoadFailed(f"{name} cannot be started: {reason}") from error
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
        wait([outcome], client_hosts.CLEAN_UP_LIMIT_S)
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
        with contextlib.suppress(*UNREACHABLE):
            made.sync(_dismiss, made, callback_timeout=LEAVE_LIMIT_S)
    finally:
        with contextlib.suppress(*UNREACHABLE):
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
