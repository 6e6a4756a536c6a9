"""Runs one load: in this process, or in shards on several hosts that start at the same instant."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from dfslab import _core
from dfslab.documents.measured_load import FleetLoadReport
from dfslab.documents.rows import PlannedOperation, operations
from dfslab.fleet.agent import boot
from dfslab.fleet.link import Link
from dfslab.fleet.places import CLEAN_UP_LIMIT_S, Nodes, Place, patience_s, split
from dfslab.fleet.shards import (
    LoadFailed,
    LoadRun,
    Progress,
    Spans,
    fail,
    progress_of,
    together,
    turns,
)
from dfslab.fleet.watch import OperationCounts, Watch
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.vocabulary import Stream

# From the agreement to the start: time for one message to every agent.
START_LEAD_S = 0.2
POLL_S = 0.05


def run_load(
    plan: LoadPlan,
    places: Sequence[Place] | Nodes,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> LoadRun:
    """Run a plan whose clients are distributed over the places.

    WrongPlan and LoadFailed as in one process. When a place is lost during the load, the report is
    incomplete; the measurements of the other places are kept.
    """
    if isinstance(places, Nodes):
        # Dask takes longer to import than everything else, so it is imported only for its workers.
        from dfslab.fleet import dask

        return dask.run_load(plan, places, progress, watch)
    if len(places) == 1 and not places[0].prefix:
        return _here(plan, progress, watch)
    # The agent rejects an impossible number of clients.
    slices = split(max(1, plan.stream.clients), len(places))
    shares = [(place, part) for place, part in zip(places, slices, strict=True) if part]
    plan = plan.model_copy(update={"shared": len(shares) > 1})
    links: list[Link] = []

    def report_progress(share: float, phase: str) -> None:
        if watch is not None:
            watch.report(links)
        if progress is not None:
            progress(share, phase)

    try:
        for place, part in shares:
            links.append(_linked(place, part, plan))
        for turn in range(turns(plan)):
            start_s = _begin(links, turn, report_progress, watch)
            if watch is not None and turn == 0:
                watch.started(start_s)
        _wait(links, report_progress, lambda link: link.ended is not None)
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        passing = interrupted and all(place.passing for place in places)
        for note in _close(links, patience_s(passing)):
            error.add_note(note)
        raise
    _close(links, CLEAN_UP_LIMIT_S)
    return together(plan, links)


def planned(stream: Stream, most: Mapping[int, int]) -> Iterator[PlannedOperation]:
    """The first operations of each client; `most`: client -> the largest number of them."""
    spec = stream.text
    for client, limit in most.items():
        yield from operations(_core.stream_operations(spec, client, limit))


def _here(plan: LoadPlan, progress: Progress | None, watch: Watch | None) -> LoadRun:
    """Run the whole load in this process."""
    if watch is None:
        report, spans, recorded = _core.run_load(plan.text, progress)
        return _done(report, spans, recorded)
    begun: list[float] = []

    def gate() -> float:
        watch.prepared()
        now_s = time.monotonic()
        if not begun:
            watch.started(now_s)
        begun.append(now_s)
        return now_s

    def observed(*counts: int) -> None:
        watch.observed(OperationCounts(*counts))

    report, spans, recorded = _core.run_load(plan.text, progress, gate, observed)
    return _done(report, spans, recorded)


def _done(report: str, spans: Spans, recorded: bytes) -> LoadRun:
    """The core's tuple with named fields."""
    return LoadRun(FleetLoadReport.model_validate_json(report), spans, recorded)


def _linked(place: Place, part: range, plan: LoadPlan) -> Link:
    try:
        return Link(place, part, plan)
    except OSError as error:
        raise LoadFailed(f"{place.name}: no agent can be started: {error}") from error


def _wait(
    links: Sequence[Link],
    progress: Progress | None,
    done: Callable[[Link], bool],
    needed: bool = False,
) -> None:
    """Wait until all agents are done; if all are `needed`, the first failure ends the wait."""
    while not all(done(link) for link in links):
        live = [link for link in links if link.ended is None]
        for link in select.select(live, [], [], POLL_S)[0]:
            link.receive()
            if needed and (link.answer is not None or link.ended is not None):
                fail(link)
        if progress is not None:
            progress(*progress_of(links))


def _begin(
    links: Sequence[Link], turn: int, progress: Progress | None, watch: Watch | None
) -> float:
    """Start the next phase at one instant on all places; returns that instant.

    After the first barrier, lost or stopped agents are no longer waited for. The watch is called
    when all agents are at the barrier.
    """

    def is_there(link: Link) -> bool:
        return link.times_ready > turn or (turn > 0 and link.is_over)

    _wait(links, progress, is_there, needed=turn == 0)
    if watch is not None:
        watch.prepared()
    return _start([link for link in links if not link.is_over])


def _start(links: Sequence[Link]) -> float:
    """Agree on one start, returned as a reading of this process's CLOCK_MONOTONIC. Agents get it by
    that clock where they share it, and in Unix time on other machines."""
    monotonic_s, unix_s = time.monotonic(), time.time()
    for link in links:
        ready = link.ready
        # A process in a time namespace has the same boot but another CLOCK_MONOTONIC.
        if (
            ready is not None
            and link.started_s <= ready["monotonic_s"] <= monotonic_s
            and ready["boot"] == boot()
        ):
            link.say({"start_at_monotonic_s": monotonic_s + START_LEAD_S})
        else:
            link.say({"start_at_unix_s": unix_s + START_LEAD_S})
    return monotonic_s + START_LEAD_S


def _close(links: Sequence[Link], limit_s: float) -> list[str]:
    """Stop all agents concurrently and wait up to a limit; the paths that they could not remove."""
    for link in links:
        link.stop()
    deadline_s = time.monotonic() + limit_s
    for link in links:
        link.close(deadline_s)
    answers = [(link.place.name, link.answer) for link in links if link.answer is not None]
    return [f"{name}: {note}" for name, answer in answers for note in answer.get("left", [])]
