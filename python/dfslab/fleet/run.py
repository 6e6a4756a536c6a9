"""Runs one workload: in this process, or in shards on several hosts with a common start."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from dfslab import _core
from dfslab.core_errors import from_types, translated
from dfslab.documents.measured_load import FleetLoadReport
from dfslab.documents.rows import PlannedOperation, operations
from dfslab.fleet.agent import boot
from dfslab.fleet.client_hosts import CLEAN_UP_LIMIT_S, ClientHost, Nodes, patience_s, split
from dfslab.fleet.leftovers import recorded
from dfslab.fleet.link import AgentLink
from dfslab.fleet.shards import (
    LoadFailed,
    LoadRun,
    ProgressReport,
    Spans,
    fail,
    merge_shards,
    progress_of,
    turns,
    unanswered,
)
from dfslab.fleet.watch import LiveCounts, Watch
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.vocabulary import Stream

# Seconds between the choice of the common start time and the start itself. In this time, a message
# must reach every agent.
START_LEAD_S = 0.2
POLL_S = 0.05


def run_load(
    plan: LoadPlan,
    hosts: Sequence[ClientHost] | Nodes,
    progress: ProgressReport | None = None,
    watch: Watch | None = None,
) -> LoadRun:
    """Runs a plan whose clients are distributed over `hosts`. Returns the merged
    results.

    Raises WrongPlan if the plan is wrong, and LoadFailed if the run fails. If a host is lost during
    the run, the report is incomplete; the measurements of the other hosts are kept.
    """
    with recorded(plan) as record:
        done = _run(plan, hosts, progress, watch)
        record.answers = not unanswered(done.report)
    return done


def _run(
    plan: LoadPlan,
    hosts: Sequence[ClientHost] | Nodes,
    progress: ProgressReport | None,
    watch: Watch | None,
) -> LoadRun:
    """Runs a plan: in this process, by one agent on each host, or by agents on Dask workers."""
    if isinstance(hosts, Nodes):
        # Importing Dask takes longer than all other imports, so Dask is imported only if workers of
        # a Dask cluster are used.
        from dfslab.fleet import dask

        return dask.run_load(plan, hosts, progress, watch)
    if len(hosts) == 1 and not hosts[0].prefix:
        return _here(plan, hosts[0].name, progress, watch)
    # A number of clients below 1 is not rejected by this function: the plan is sent to an agent,
    # which rejects it with its error message.
    slices = split(max(1, plan.stream.clients), len(hosts))
    shares = [(host, part) for host, part in zip(hosts, slices, strict=True) if part]
    plan = plan.model_copy(update={"shared": len(shares) > 1})
    links: list[AgentLink] = []

    def report_progress(share: float, phase: str) -> None:
        if watch is not None:
            watch.report(links)
        if progress is not None:
            progress(share, phase)

    try:
        for host, part in shares:
            links.append(_linked(host, part, plan))
        for turn in range(turns(plan)):
            start_s = _begin(links, turn, report_progress, watch)
            if watch is not None and turn == 0:
                watch.started(start_s)
        _wait(links, report_progress, lambda link: link.ended is not None)
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        passing = interrupted and all(host.passing for host in hosts)
        for note in _close(links, patience_s(passing)):
            error.add_note(note)
        raise
    _close(links, CLEAN_UP_LIMIT_S)
    return merge_shards(plan, links)


def planned(stream: Stream, most: Mapping[int, int]) -> Iterator[PlannedOperation]:
    """Returns the first operations of each client of a stream.

    `most` has for each client the largest number of operations to return.
    """
    spec = stream.text
    for client, limit in most.items():
        with translated(stream=spec):
            table = _core.stream_operations(spec, client, limit)
        yield from operations(table)


def _here(
    plan: LoadPlan, name: str, progress: ProgressReport | None, watch: Watch | None
) -> LoadRun:
    """Runs the whole plan in this process, without agents. `name`: name of this host."""
    if watch is None:
        with from_types(plan=plan.text):
            report, spans, recorded = _core.run_load(plan.text, progress)
        return _done(report, spans, recorded)
    begun: list[float] = []

    def barrier() -> float:
        watch.prepared()
        now_s = time.monotonic()
        if not begun:
            watch.started(now_s)
        begun.append(now_s)
        return now_s

    def observed(
        done: int, errors: int, spent_ns: int, longest_ns: int, latencies: list[tuple[int, int]]
    ) -> None:
        found = LiveCounts.reported(done, errors, spent_ns, longest_ns, latencies)
        watch.observed(found)
        watch.by_host({name: found})

    passed = barrier if watch.needs_barriers else None
    with from_types(plan=plan.text):
        report, spans, recorded = _core.run_load(plan.text, progress, passed, observed)
    return _done(report, spans, recorded)


def _done(report: str, spans: Spans, recorded: bytes) -> LoadRun:
    return LoadRun(FleetLoadReport.model_validate_json(report), spans, recorded)


def _linked(place: ClientHost, part: range, plan: LoadPlan) -> AgentLink:
    try:
        return AgentLink(place, part, plan)
    except OSError as error:
        raise LoadFailed(f"{place.name}: no agent can be started: {error}") from error


def _wait(
    links: Sequence[AgentLink],
    progress: ProgressReport | None,
    done: Callable[[AgentLink], bool],
    needed: bool = False,
) -> None:
    """Waits until `done` is true for all agents.

    If `needed` is true, every agent must still run: the first agent that sends its answer or ends
    during the wait makes the wait end with an error.
    """
    while not all(done(link) for link in links):
        live = [link for link in links if link.ended is None]
        for link in select.select(live, [], [], POLL_S)[0]:
            link.receive()
            if needed and (link.answer is not None or link.ended is not None):
                fail(link)
        if progress is not None:
            progress(*progress_of(links))


def _begin(
    links: Sequence[AgentLink], turn: int, progress: ProgressReport | None, watch: Watch | None
) -> float:
    """Starts the phase after the barrier with number `turn` at the same time on all hosts. Returns
    the start in seconds of CLOCK_MONOTONIC.

    At the first barrier, no agent may be missing. At later barriers, lost or stopped agents are not
    waited for. `watch.prepared` is called when all other agents are at the barrier.
    """

    def is_there(link: AgentLink) -> bool:
        return link.times_ready > turn or (turn > 0 and link.is_over)

    _wait(links, progress, is_there, needed=turn == 0)
    if watch is not None:
        watch.prepared()
    return _start([link for link in links if not link.is_over])


def _start(links: Sequence[AgentLink]) -> float:
    """Chooses one start time and sends it to all agents. Returns the start in seconds of this
    process's CLOCK_MONOTONIC.

    Agents that share this clock receive the start by this clock; agents on other machines receive
    it in Unix time.
    """
    monotonic_s, unix_s = time.monotonic(), time.time()
    for link in links:
        ready = link.ready
        # Equal boot ids do not suffice to share this clock: an agent in another time namespace has
        # the same boot id but another CLOCK_MONOTONIC. The agent's reading of the clock must
        # therefore also lie between two readings of this process.
        if (
            ready is not None
            and link.started_s <= ready["monotonic_s"] <= monotonic_s
            and ready["boot"] == boot()
        ):
            link.say({"start_at_monotonic_s": monotonic_s + START_LEAD_S})
        else:
            link.say({"start_at_unix_s": unix_s + START_LEAD_S})
    return monotonic_s + START_LEAD_S


def _close(links: Sequence[AgentLink], limit_s: float) -> list[str]:
    """Stops all agents concurrently, and waits up to `limit_s` seconds for their end. Returns the
    paths that the agents could not remove."""
    for link in links:
        link.stop()
    deadline_s = time.monotonic() + limit_s
    for link in links:
        link.close(deadline_s)
    answers = [(link.place.name, link.answer) for link in links if link.answer is not None]
    return [f"{name}: {note}" for name, answer in answers for note in answer.get("left", [])]
