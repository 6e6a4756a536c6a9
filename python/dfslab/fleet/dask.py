"""Runs one load on many machines: one agent on every worker of a Dask cluster.

Dask finds the workers and carries short calls to them (start an agent, poll its output, set the
start). The load itself runs in separate agent processes, which also write their answers to their
host's disk. So the loss of a worker, the scheduler or the controller loses no finished shard. The
start is agreed over Dask, never through the file system under test.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Client, KilledWorker
from distributed.client import FutureCancelledError, FuturesCancelledError

from dfslab.documents.measured_load import FleetLoadReport, FleetReport
from dfslab.documents.rows import Span
from dfslab.fleet import node, shards
from dfslab.fleet.agent import boot
from dfslab.fleet.places import CLEAN_UP_LIMIT_S, ClusterKind, Nodes, Place, patience_s, split
from dfslab.fleet.protocol import Answer, Command, Heard, HostClocks
from dfslab.fleet.watch import OperationCounts, Watch
from dfslab.method import RunFailed
from dfslab.spec.streams.plan import LoadPlan

CONNECT_LIMIT_S = 10.0
JOIN_LIMIT_S = 180.0
CALL_LIMIT_S = 5.0
LEAVE_LIMIT_S = 20.0
# A worker without an answer for this many seconds is considered lost.
SILENCE_LIMIT_S = 10.0
POLL_S = 0.2
PROBES = 15
# Delay from the agreement to the start: at least this, and time for this many calls to each worker.
START_LEAD_S = 0.5
LEAD_CALLS = 10
# Kinds of clusters: module and class, and the package that provides it.
KINDS = {
    "ssh": ("distributed", "SSHCluster", "asyncssh"),
    "slurm": ("dask_jobqueue", "SLURMCluster", "dask-jobqueue"),
    "yarn": ("dask_yarn", "YarnCluster", "dask-yarn"),
    "kubernetes": ("dask_kubernetes.operator", "KubeCluster", "dask-kubernetes"),
}
# The exceptions that Dask raises when a worker or the scheduler does not answer.
UNREACHABLE = (OSError, TimeoutError, asyncio.TimeoutError, KeyError, ValueError)


@dataclass(frozen=True)
class Clock:
    """Offset of a worker's Unix clock from ours (positive: ahead), and the largest possible error.

    Of several probes the one with the shortest round trip is used. Its answer was given between
    sending and receiving, so half of the round trip bounds the error (Cristian 1989, Distributed
    Computing 3).
    """

    offset_s: float
    error_s: float
    boot: str
    host: str
    one_monotonic: bool


@dataclass
class Part:
    """The controller's state of one agent; `ended` says how it ended, if it has."""

    place: Place
    worker: str
    clients: range
    kept: Path | None = None
    times_ready: int = 0
    answer: Answer | None = None
    progress: tuple[float, str] = (0.0, "preparing")
    observed: OperationCounts = OperationCounts()
    ended: str | None = None
    silent: bool = False
    heard_s: float = field(default_factory=time.monotonic)
    clock: Clock | None = None
    drift_s: float | None = None

    def take(self, heard: Heard) -> None:
        """Take the agent's output so far."""
        self.heard_s, self.silent = time.monotonic(), False
        self.times_ready, self.answer = heard.times_ready, heard.answer
        self.progress, self.ended = heard.progress, heard.ended
        self.observed = self.observed.then(OperationCounts(*heard.observed))


def each(scheduler: str, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The workers' answers to calls (a function and its arguments), in the order of the calls.

    RunFailed when the scheduler does not answer, or when a call's worker was lost repeatedly.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        with Client(scheduler, timeout=CONNECT_LIMIT_S, set_as_default=False) as client:
            requested = [client.submit(*call, pure=False) for call in calls]
            return client.gather(requested)
    except (*UNREACHABLE, KilledWorker, FutureCancelledError, FuturesCancelledError) as error:
        reported = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RunFailed(f"Dask at {scheduler}: {reported}") from error


def run_load(
    plan: LoadPlan,
    nodes: Nodes,
    progress: shards.Progress | None = None,
    watch: Watch | None = None,
) -> shards.LoadRun:
    """As run.run_load, on the workers of a Dask cluster.

    The report also has `fleet`: the scheduler and its state at the end. Every place has its clock's
    offset and the offset's largest error. LoadFailed when the scheduler does not answer.
    """
    # Losses are reported once, here; Dask would log each attempt to reach a lost worker.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    stopping, over = threading.Event(), threading.Event()

    def work() -> shards.LoadRun:
        try:
            return asyncio.run(Controller(plan, nodes, progress, watch or Watch(), stopping).work())
        finally:
            over.set()

    try:
        return nodes.within(work)
    except KeyboardInterrupt:
        # The interrupt did not reach work on another thread, so it is stopped here.
        stopping.set()
        over.wait(CLEAN_UP_LIMIT_S)
        raise


class Controller:
    """One load on the workers of one cluster."""

    def __init__(
        self,
        plan: LoadPlan,
        nodes: Nodes,
        progress: shards.Progress | None,
        watch: Watch,
        stopping: threading.Event,
    ) -> None:
        self._plan, self._nodes, self._progress = plan, nodes, progress
        self._stopping, self._watch = stopping, watch
        self._run = uuid.uuid4().hex[:12]
        self._parts: list[Part] = []
        self._client: Client
        self._scheduler_lost = False

    async def work(self) -> shards.LoadRun:
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
        """The workers that take part, by name, with the clients of each."""
        wanted = max(1, self._nodes.wanted, self._nodes.expected)
        deadline_s = time.monotonic() + JOIN_LIMIT_S
        while len(known := await self._workers()) < wanted:
            if time.monotonic() > deadline_s:
                reason = f"{len(known)} of {wanted} nodes joined {self._nodes.scheduler}"
                raise shards.LoadFailed(reason)
            self._report(0.0, f"waiting for nodes: {len(known)} of {wanted} are there")
            await asyncio.sleep(POLL_S)
        chosen = known[: self._nodes.wanted or None]
        count = len(chosen) * self._nodes.processes
        slices = split(max(1, self._plan.stream.clients), count)
        places = [(name, worker, n) for name, worker in chosen for n in range(count // len(chosen))]
        for (name, worker, number), clients in zip(places, slices, strict=True):
            if clients:
                named = f"{name}, process {number + 1}" if self._nodes.processes > 1 else name
                self._parts.append(Part(Place(named), worker, clients))

    async def _workers(self) -> list[tuple[str, str]]:
        """(name, address) of every worker, sorted by name; names that are numbers sort as
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
            # Ctrl-C arrives through `_report`, or cancels the task that runs in the main thread.
            interrupted = isinstance(error, KeyboardInterrupt | asyncio.CancelledError)
            await self._stop(patience_s(interrupted and self._nodes.passing))
            raise
        report, spans, recorded = shards.together(plan, self._parts)
        await self._all(self._forget)
        return shards.LoadRun(self._noted(report), [self._here(span) for span in spans], recorded)

    async def _all(self, work: Callable[[Part], Any]) -> None:
        await asyncio.gather(*(work(part) for part in self._parts))

    async def _call(self, part: Part, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of `function` on the part's worker; one of UNREACHABLE when none arrives."""
        call = self._client.run(function, *arguments, workers=[part.worker])
        return (await asyncio.wait_for(call, CALL_LIMIT_S))[part.worker]

    async def measure_clock(self, part: Part) -> None:
        best: Clock | None = None
        for _ in range(PROBES):
            sent_s, requested_unix_s = time.monotonic(), time.time()
            try:
                reported: HostClocks = await self._call(part, node.clock)
            except (*UNREACHABLE, ImportError) as error:
                raise shards.LoadFailed(f"{part.place.name}: {_words(error)}") from error
            round_trip_s = time.monotonic() - sent_s
            if best is None or round_trip_s / 2 < best.error_s:
                # A process in a time namespace has the same boot but another CLOCK_MONOTONIC.
                ours = sent_s <= reported.monotonic_s <= sent_s + round_trip_s
                best = Clock(
                    reported.unix_s - (requested_unix_s + round_trip_s / 2),
                    round_trip_s / 2,
                    reported.boot,
                    reported.host,
                    ours and reported.boot == boot(),
                )
        part.clock = best

    async def _measure_drift(self, part: Part) -> None:
        """Measure the drift of each worker's clock during the load, where the worker still
        answers."""
        if part.silent or self._scheduler_lost or part.clock is None:
            return
        before = part.clock
        with contextlib.suppress(*UNREACHABLE, shards.LoadFailed):
            await self.measure_clock(part)
            part.drift_s = part.clock.offset_s - before.offset_s
        part.clock = before

    async def _open(self, part: Part, plan: LoadPlan) -> None:
        first, last = part.clients.start, part.clients.stop
        try:
            work = (self._run, first, last, plan, self._nodes.lease_s)
            part.kept = await self._call(part, node.open_part, *work)
        except UNREACHABLE as error:
            reason = f"no agent can be started: {_words(error)}"
            raise shards.LoadFailed(f"{part.place.name}: {reason}") from error

    async def _begin(self, turn: int) -> None:
        """Start the next phase at one instant on all workers.

        After the first barrier, lost or stopped agents are no longer waited for. An agent that
        cannot be reached starts by itself once it notices that it has no controller.
        """

        def is_there(part: Part) -> bool:
            over = part.ended is not None or part.silent
            return part.times_ready > turn or (turn > 0 and over)

        await self._until(is_there, needed=turn == 0)
        self._watch.prepared()
        start_s = await self._start()
        if turn == 0:
            self._watch.started(start_s)

    async def _start(self) -> float:
        """Send every agent the start in terms of its own clock; the start in terms of ours."""
        slowest_s = max(2 * part.clock.error_s for part in self._parts if part.clock)
        lead_s = max(START_LEAD_S, LEAD_CALLS * slowest_s)
        at_monotonic_s, at_unix_s = time.monotonic() + lead_s, time.time() + lead_s

        async def send_start(part: Part) -> None:
            assert part.clock is not None
            start: Command = {"start_at_unix_s": at_unix_s + part.clock.offset_s}
            if part.clock.one_monotonic:
                start = {"start_at_monotonic_s": at_monotonic_s}
            # An agent that cannot be reached is detected as lost where its answer is awaited.
            with contextlib.suppress(*UNREACHABLE):
                if part.ended is None and not part.silent:
                    await self._call(part, node.send, part.kept, start)

        await self._all(send_start)
        return at_monotonic_s

    async def _until(self, done: Callable[[Part], bool], needed: bool = False) -> None:
        """Poll until all agents are done; if all are `needed`, the first failure ends the wait."""
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

    async def _hear(self, part: Part) -> None:
        """Poll an agent's output; read its answer from disk once the worker no longer answers."""
        if part.ended is not None:
            return
        self._scheduler_lost |= self._client.status != "running"
        try:
            if self._scheduler_lost:
                raise OSError("the scheduler was lost")
            part.take(await self._call(part, node.hear, part.kept))
        except UNREACHABLE as error:
            self._look_for(part, _words(error))

    def _look_for(self, part: Part, why: str) -> None:
        """The answer file of an unreachable agent, if its disk is on this machine."""
        assert part.kept is not None
        part.silent = True
        mine = part.clock is not None and part.clock.boot == boot()
        if mine and node.alive(part.kept):
            return
        if mine and (found := node.left_behind(part.kept)) is not None:
            part.answer, part.ended = found.answer, "it was read from disk"
            return
        if mine or self._scheduler_lost or time.monotonic() > part.heard_s + SILENCE_LIMIT_S:
            host = part.clock.host if part.clock else "its node"
            where = "" if mine else f"; its answer, once there, is on {host} in {part.kept}"
            part.ended = f"its node does not answer ({why}){where}"

    async def _stop(self, limit_s: float) -> None:
        """Stop all agents, and wait up to a limit until they have cleaned up."""

        async def stop(part: Part) -> None:
            if part.kept is not None:
                with contextlib.suppress(*UNREACHABLE):
                    await self._call(part, node.stop, part.kept)

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

    async def _forget(self, part: Part) -> None:
        """Remove an agent's files on its worker, after its answer was received."""
        if part.kept is None or part.ended is None:
            return
        if part.answer is not None and part.clock is not None and part.clock.boot == boot():
            node.forget(part.kept)
        if not self._scheduler_lost and not part.silent:
            with contextlib.suppress(*UNREACHABLE):
                await self._call(part, node.forget, part.kept)

    def _noted(self, report: FleetLoadReport) -> FleetLoadReport:
        """The report with the data that only a Dask cluster has."""
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

    def _here(self, span: Span) -> Span:
        """A span with its times converted to this machine's clock."""
        part = next(part for part in self._parts if span.thread in part.clients)
        shared = part.clock is None or part.clock.one_monotonic
        shift_ns = 0 if shared or part.clock is None else round(part.clock.offset_s * 1e9)
        return span._replace(
            start_unix_ns=span.start_unix_ns - shift_ns, end_unix_ns=span.end_unix_ns - shift_ns
        )


def _words(error: BaseException) -> str:
    """An error as one line of text."""
    return f"{type(error).__name__}: {error}".splitlines()[0].rstrip(": ")


@contextlib.contextmanager
def cluster(kind: ClusterKind, nodes: int) -> Iterator[str]:
    """The scheduler's address of a cluster of that kind with `nodes` workers, during the block.

    The options are passed to the cluster class unchanged. LoadFailed when the library that has the
    class is missing or cannot start it.
    """
    module, name, package = KINDS[kind.name]
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        if kind.name == "ssh":
            importlib.import_module(package)  # the class checks this only at its start
        make = getattr(importlib.import_module(module), name)
        made = _whole(lambda: make(**kind.options), kind)
    except ImportError as error:
        reason = f"a {kind.name} cluster needs the Python package {package}: {error}"
        raise shards.LoadFailed(reason) from error
    except Exception as error:  # every library has its own exceptions
        reason = _words(error.__cause__ or error)
        raise shards.LoadFailed(f"{name} cannot be started: {reason}") from error
    try:
        # The list of SSH hosts fixes the number; other kinds get the number of jobs to start.
        if kind.name != "ssh":
            made.scale(nodes)
        yield made.scheduler_address
    finally:
        _end(made, kind)


def _whole(make: Callable[[], Any], kind: ClusterKind) -> Any:
    """The cluster that `make` starts. A partly started cluster could not be ended, so a first
    interruption waits until the start has succeeded or failed; a second one does not."""
    outcome: Future[Any] = Future()

    def work() -> None:
        try:
            outcome.set_result(make())
        except BaseException as error:  # raised again in the main thread
            outcome.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        return outcome.result()
    except KeyboardInterrupt:
        wait([outcome], CLEAN_UP_LIMIT_S)
        if outcome.done() and outcome.exception() is None:
            _end(outcome.result(), kind)
        raise


def _end(made: Any, kind: ClusterKind) -> None:
    """Take a cluster down."""
    try:
        if kind.name == "ssh":
            with contextlib.suppress(*UNREACHABLE):
                made.sync(_dismiss, made, callback_timeout=LEAVE_LIMIT_S)
    finally:
        made.close()


async def _dismiss(made: Any) -> None:
    """Have the workers of an SSHCluster end by themselves and remove their folders.

    Closing the cluster would kill them and leave the folders. A worker that joins late is stopped
    after it has joined.
    """
    ending = asyncio.gather(*(node.proc.wait_closed() for node in made.workers.values()))
    while not ending.done():
        known = (await made.scheduler_comm.identity(n_workers=-1))["workers"]
        await made.scheduler_comm.retire_workers(workers=list(known), close_workers=True)
        await asyncio.wait([ending], timeout=POLL_S)
