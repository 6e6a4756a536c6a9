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
import re
import threading
import time
import uuid
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Client

from dfslab.documents.measured_load import FleetLoadReport, FleetReport
from dfslab.fleet import client_hosts, shards, worker_calls
from dfslab.fleet.agent import boot
from dfslab.fleet.client_hosts import ClientHost, Nodes
from dfslab.fleet.each_host import CONNECT_LIMIT_S, JOIN_LIMIT_S
from dfslab.fleet.protocol import AgentAnswer, ControllerCommand, Heard, HostClocks
from dfslab.fleet.watch import LiveCounts, Watch
from dfslab.fleet.workers import UNREACHABLE, words_of
from dfslab.silent_loggers import quiet
from dfslab.spec.streams.plan import LoadPlan

# Seconds that a short call to a worker may take. A worker that takes longer is slow, not yet lost.
CALL_LIMIT_S = 5.0
# Seconds that each of a worker's first calls may take. In the first call, the worker imports
# dfslab, which takes a minute on a busy machine.
SET_UP_LIMIT_S = 180.0
# A worker that has not answered for this many seconds while the workload runs is considered lost.
SILENCE_LIMIT_S = 60.0
POLL_S = 0.2
PROBES = 15
# The controller chooses the common start time a number of seconds ahead: START_LEAD_S or the time
# of LEAD_CALLS calls to the slowest worker, whichever is larger.
START_LEAD_S = 0.5
LEAD_CALLS = 10


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
    """The state of an agent, as far as the controller knows it.

    - `ended`: the reason why the agent ended; None while it runs.
    - `poll`: the call to its worker that has not been answered yet.
    - `silent`: whether its worker has not answered in time.
    - `failed`: whether the last call to its worker ended with an error.
    - `starts_sent`: the number of phases whose start time was sent to the agent.
    """

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
    failed: bool = False
    poll: asyncio.Task[Heard] | None = None
    starts_sent: int = 0
    heard_s: float = field(default_factory=time.monotonic)
    clock: ClockOffset | None = None
    drift_s: float | None = None

    def take(self, heard: Heard) -> None:
        """Updates the state with `heard`, the output that the agent has sent so far."""
        self.heard_s, self.silent, self.failed = time.monotonic(), False, False
        self.times_ready, self.answer = heard.times_ready, heard.answer
        self.progress, self.ended = heard.progress, heard.ended
        self.observed = self.observed.then(heard.observed)


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
        self._starts = 0

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
            await _cancelled([part.poll for part in self._parts if part.poll is not None])
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
            await self._set_up(self.measure_clock)
            await self._set_up(lambda part: self._open(part, plan))
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

    async def _set_up(self, work: Callable[[AgentState], Coroutine[Any, Any, None]]) -> None:
        """Runs `work`, which makes a worker's first calls, for all agents at the same time. Reports
        the workers that are waited for. Raises LoadFailed if one of them has left the cluster."""
        tasks = {asyncio.ensure_future(work(part)): part for part in self._parts}
        pending, began_s = set(tasks), time.monotonic()
        checked_s = began_s
        try:
            while pending:
                done, pending = await asyncio.wait(pending, timeout=POLL_S)
                for task in done:
                    task.result()
                now_s = time.monotonic()
                if pending and now_s > checked_s + CALL_LIMIT_S:
                    checked_s = now_s
                    late = [part for task, part in tasks.items() if task in pending]
                    await self._check_joined(late)
                    names = ", ".join(part.place.name for part in late)
                    self._report(0.0, f"waiting {now_s - began_s:.0f} s for answers of {names}")
                elif self._stopping.is_set():
                    raise KeyboardInterrupt
        finally:
            await _cancelled(tasks)

    async def _check_joined(self, parts: Sequence[AgentState]) -> None:
        """Raises LoadFailed if the worker of one of the agents is no longer in the cluster."""
        try:
            found = await asyncio.wait_for(self._workers(), CALL_LIMIT_S)
        except TimeoutError:
            return  # A busy scheduler is no reason to give up a worker.
        except UNREACHABLE as error:
            raise shards.LoadFailed(f"the Dask scheduler was lost: {words_of(error)}") from error
        joined = {address for _, address in found}
        for part in parts:
            if part.worker not in joined:
                where = f"{part.place.name}: its Dask worker {part.worker}"
                raise shards.LoadFailed(f"{where}: left the cluster; see its log")

    async def _call(
        self, part: AgentState, limit_s: float, function: Callable[..., Any], *arguments: Any
    ) -> Any:
        """Runs `function` on the worker of an agent and returns the result. Raises one of
        UNREACHABLE if no result arrives within `limit_s`."""
        call = self._client.run(function, *arguments, workers=[part.worker])
        try:
            return (await asyncio.wait_for(call, limit_s))[part.worker]
        except TimeoutError as error:
            raise TimeoutError(
                f"no answer to the call {function.__name__!r} within {limit_s:g} s; see the load "
                "of its host and its log, then run again"
            ) from error

    async def measure_clock(self, part: AgentState, limit_s: float | None = None) -> None:
        """Measures the offset of a worker's clock from this host's clock in PROBES round trips.
        Raises LoadFailed if a round trip takes longer than `limit_s` (None: SET_UP_LIMIT_S)."""
        best: ClockOffset | None = None
        limit_s = SET_UP_LIMIT_S if limit_s is None else limit_s
        for _ in range(PROBES):
            sent_s, requested_unix_s = time.monotonic(), time.time()
            try:
                reported: HostClocks = await self._call(part, limit_s, worker_calls.clock)
            except (*UNREACHABLE, ImportError) as error:
                where = f"{part.place.name}: its Dask worker {part.worker}"
                raise shards.LoadFailed(f"{where}: {words_of(error)}") from error
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
            await self.measure_clock(part, CALL_LIMIT_S)
            part.drift_s = part.clock.offset_s - before.offset_s
        part.clock = before

    async def _open(self, part: AgentState, plan: LoadPlan) -> None:
        first, last = part.clients.start, part.clients.stop
        try:
            work = (self._run, first, last, plan, self._nodes.controller)
            part.kept = await self._call(part, SET_UP_LIMIT_S, worker_calls.open_part, *work)
        except UNREACHABLE as error:
            reason = f"no agent can be started: {words_of(error)}"
            raise shards.LoadFailed(f"{part.place.name}: {reason}") from error
        part.heard_s = time.monotonic()

    async def _begin(self, turn: int) -> None:
        """Starts the phase after the barrier with number `turn` at the same time on all workers.

        At the first barrier, all agents are needed. At later barriers, lost or stopped agents are
        not waited for. An agent that the controller cannot reach starts the phase by itself once it
        notices that it has lost its controller.
        """

        def is_there(part: AgentState) -> bool:
            over = part.ended is not None or part.failed
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
        self._starts += 1
        there = [part for part in self._parts if part.ended is None and not part.silent]
        await asyncio.gather(*(self._send_start(part, at_monotonic_s, at_unix_s) for part in there))
        return at_monotonic_s

    async def _send_start(self, part: AgentState, at_monotonic_s: float, at_unix_s: float) -> None:
        """Sends an agent the start of its next phase, which is given by two clocks of this host."""
        assert part.clock is not None
        start: ControllerCommand = {"start_at_unix_s": at_unix_s + part.clock.offset_s}
        if part.clock.one_monotonic:
            start = {"start_at_monotonic_s": at_monotonic_s}
        # A call that is only late still reaches the worker, so it counts as sent.
        part.starts_sent += 1
        with contextlib.suppress(*UNREACHABLE):
            await self._call(part, CALL_LIMIT_S, worker_calls.send, part.kept, start)

    async def _until(self, done: Callable[[AgentState], bool], needed: bool = False) -> None:
        """Polls all agents until `done` is true for each of them. If `needed` is true and an agent
        has ended, raises WrongPlan or LoadFailed."""
        while not all(done(part) for part in self._parts):
            await self._hear()
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

    async def _hear(self) -> None:
        """Polls the agents that run. A worker that is slow does not delay the polls of the others,
        and its late answer is taken when it arrives."""
        self._scheduler_lost |= self._client.status != "running"
        running = [part for part in self._parts if part.kept is not None and part.ended is None]
        for part in running:
            if part.poll is None and not self._scheduler_lost:
                call = self._call(part, SILENCE_LIMIT_S, worker_calls.hear, part.kept)
                part.poll = asyncio.ensure_future(call)
        if polls := [part.poll for part in running if part.poll is not None]:
            await asyncio.wait(polls, timeout=POLL_S)
        for part in running:
            self._take_poll(part)
        # A worker that was silent when the others started has missed the start of its agent.
        behind = [p for p in running if p.times_ready > p.starts_sent and not p.silent]
        missed = [p for p in behind if p.ended is None and p.starts_sent < self._starts]
        now = time.monotonic(), time.time()
        await asyncio.gather(*(self._send_start(part, *now) for part in missed))

    def _take_poll(self, part: AgentState) -> None:
        """Takes the answer to the poll of an agent, if it has arrived. If its worker does not
        answer, looks for the agent's answer file."""
        poll = part.poll
        if self._scheduler_lost:
            self._look_for(part, "the scheduler was lost")
        elif poll is not None and poll.done():
            part.poll = None
            try:
                part.take(poll.result())
            except UNREACHABLE as error:
                part.failed = True
                self._look_for(part, words_of(error))
        elif time.monotonic() > part.heard_s + CALL_LIMIT_S:
            self._look_for(part, f"it has been silent for more than {CALL_LIMIT_S:g} s")
        if part.poll is not None and (part.ended is not None or self._scheduler_lost):
            part.poll.cancel()
            part.poll = None

    def _look_for(self, part: AgentState, why: str) -> None:
        """Marks an agent as unreachable for the reason `why`. If the agent ran on this machine and
        has ended, reads its answer file. An agent whose worker may still answer is waited for."""
        assert part.kept is not None
        part.silent = True
        mine = part.clock is not None and part.clock.boot == boot()
        if mine and worker_calls.alive(part.kept):
            return
        if mine and (found := worker_calls.left_behind(part.kept)) is not None:
            part.answer, part.ended = found.answer, "it was read from disk"
            return
        gone = mine and part.failed
        if gone or self._scheduler_lost or time.monotonic() > part.heard_s + SILENCE_LIMIT_S:
            host = part.clock.host if part.clock else "its node"
            where = "" if mine else f"; its answer, once there, is on {host} in {part.kept}"
            part.ended = f"its node does not answer ({why}){where}"

    async def _stop(self, limit_s: float) -> None:
        """Stops all agents; waits up to `limit_s` seconds until they have removed their files."""

        async def stop(part: AgentState) -> None:
            if part.kept is not None:
                with contextlib.suppress(*UNREACHABLE):
                    await self._call(part, CALL_LIMIT_S, worker_calls.stop, part.kept)

        await self._all(stop)
        deadline_s = time.monotonic() + limit_s
        opened = [part for part in self._parts if part.kept is not None]
        while any(part.ended is None for part in opened) and time.monotonic() < deadline_s:
            await self._hear()
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
                await self._call(part, CALL_LIMIT_S, worker_calls.forget, part.kept)

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


async def _cancelled(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancels the tasks that still run, and drops the errors of the others."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
