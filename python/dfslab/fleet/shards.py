"""Combines the progress and the results of the shards of a workload run. A shard is the part of the
clients that one agent runs."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import sub
from typing import NamedTuple, Protocol

from dfslab import _core
from dfslab.core_errors import translated
from dfslab.documents.load_report import ErrorCount
from dfslab.documents.measured_load import FleetLoadReport, PlaceReport
from dfslab.fleet.client_hosts import ClientHost
from dfslab.fleet.protocol import AgentAnswer, SpanColumns
from dfslab.spec.streams.plan import LoadPlan

ProgressReport = Callable[[float, str], object]
Spans = _core.SpanTable
WrongPlan = _core.InputError
LoadFailed = _core.RunError


class LoadRun(NamedTuple):
    """The results of a finished run: its report, its spans, and its executed operations in
    encoded form (`recorded`)."""

    report: FleetLoadReport
    spans: Spans
    recorded: bytes


# Prefix of an error in the report of a run that the load generator ended because a call was not
# answered, as in core/load/src/execution/watch.rs.
NO_ANSWER = "no_answer/"


def unanswered(report: FleetLoadReport) -> str:
    """If the run was given up because the file system did not answer a call, returns which call
    this was. Returns an empty text in all other cases."""
    calls = (one.first for one in report.errors if one.operation.startswith(NO_ANSWER))
    return next(calls, "")


class Shard(Protocol):
    """A shard: those clients of a workload run that one agent runs.

    `answer` is the agent's final document, None until it arrives. `ended` is the reason why the
    agent ended.
    """

    @property
    def place(self) -> ClientHost:
        """The host on which the agent of this shard runs."""

    @property
    def clients(self) -> range:
        """The numbers of the clients that this shard runs."""

    @property
    def answer(self) -> AgentAnswer | None:
        """The final document of the agent; None until the agent has sent it."""

    @property
    def ended(self) -> str | None:
        """The reason why the agent ended; None while the agent runs."""


class RunningShard(Shard, Protocol):
    """A shard whose agent still runs and reports progress."""

    @property
    def progress(self) -> tuple[float, str]:
        """The completed share of the current phase, from 0 to 1, and the name of the phase."""


PHASES = ("preparing", "running", "verifying", "cleaning up")


def turns(plan: LoadPlan) -> int:
    """Returns the number of barriers of a run.

    A plan with `barrier_after_phases` set has one barrier before and one after every phase. Other
    plans have one barrier before every phase, and one after the last phase. Barriers are needed
    because clients may use each other's files.
    """
    phases = len(plan.stream.all_phases)
    return 2 * phases if plan.barrier_after_phases else phases + 1


def fail(link: Shard) -> None:
    """Raises the error of an agent that ended too early: WrongPlan if the plan is wrong, else
    LoadFailed."""
    if link.answer is None:
        raise LoadFailed(f"{link.place.name}: {link.ended}")
    kind = WrongPlan if link.answer.get("error") == "input" else LoadFailed
    raise kind(f"{link.place.name}: {link.answer.get('text')}")


def progress_of(links: Sequence[RunningShard]) -> tuple[float, str]:
    """Returns the progress of a run: the completed share of a phase, from 0 to 1, and the name of
    the phase.

    The phase is the earliest one that a running shard has reached but not completed. The share is
    the completed part of the work of all clients of running shards in this phase. If no shard is in
    a known phase, the last phase is reported as complete.
    """
    known = [link for link in links if link.progress[1] in PHASES and link.ended is None]
    if not known:
        return 1.0, PHASES[-1]
    phase = min((link.progress[1] for link in known), key=PHASES.index)
    shares = [(len(x.clients), x.progress[0] if x.progress[1] == phase else 1.0) for x in known]
    return sum(n * share for n, share in shares) / sum(n for n, _ in shares), phase


def merge_shards(plan: LoadPlan, links: Sequence[Shard]) -> LoadRun:
    """Merges the results of all shards. Raises LoadFailed if no shard has results."""
    answers = [link.answer for link in links if link.answer and "report" in link.answer]
    lost = {
        link.place.name: _lost(plan, link) for link in links if "report" not in (link.answer or {})
    }
    if not answers:
        raise LoadFailed("; ".join(lost.values()))
    reports = [json.dumps(answer["report"]) for answer in answers]
    with translated(**{f"report_{number}": text for number, text in enumerate(reports)}):
        text = _core.merge_reports(reports)
    merged = FleetLoadReport.model_validate_json(text)
    losses = [
        ErrorCount(operation="place", kind="lost", count=1, first=how) for how in lost.values()
    ]
    errors = [*merged.errors, *losses]
    failed = sum(error.count for error in errors)
    places = [
        PlaceReport(
            name=link.place.name,
            clients_from=link.clients.start,
            clients_to=link.clients.stop,
            lost=lost.get(link.place.name),
        )
        for link in links
    ]
    complete = merged.complete and not lost and failed <= plan.max_errors
    report = merged.model_copy(update={"errors": errors, "complete": complete, "places": places})
    spans = joined([answer["spans"] for answer in answers])
    recorded = b"".join(base64.b64decode(answer["recorded"]) for answer in answers)
    return LoadRun(report, spans, recorded)


def joined(shards: Sequence[SpanColumns]) -> Spans:
    """Returns the spans of all shards in one table, shard after shard."""
    return Spans(
        name=[one for shard in shards for one in shard["name"]],
        start_unix_ns=[one for shard in shards for one in shard["start_unix_ns"]],
        end_unix_ns=[one for shard in shards for one in shard["end_unix_ns"]],
        span_id=[one for shard in shards for one in shard["span_id"]],
        parent_id=[one for shard in shards for one in shard["parent_id"]],
        thread=[one for shard in shards for one in shard["thread"]],
        bytes=[one for shard in shards for one in shard["bytes"]],
    )


def shifted(spans: Spans, ahead_ns: Mapping[int, int]) -> Spans:
    """Returns the spans with their times converted to a common clock.

    `ahead_ns` has for each client the time in ns by which the clock of its host is ahead of the
    common clock. This time is subtracted from the times of the client's spans.
    """
    shifts_ns = [ahead_ns[client] for client in spans.thread]
    return Spans(
        name=spans.name,
        start_unix_ns=list(map(sub, spans.start_unix_ns, shifts_ns)),
        end_unix_ns=list(map(sub, spans.end_unix_ns, shifts_ns)),
        span_id=spans.span_id,
        parent_id=spans.parent_id,
        thread=spans.thread,
        bytes=spans.bytes,
    )


@dataclass(frozen=True)
class _Part:
    """A shard whose agent is known only by its answer file."""

    place: ClientHost
    clients: range
    answer: AgentAnswer | None
    ended: str = "its answer is not among those given"


@dataclass(frozen=True)
class KeptPart:
    """The content of an agent's answer file: the plan of the shard and its answer."""

    plan: LoadPlan
    answer: AgentAnswer


def kept_part(text: str) -> KeptPart:
    """Parses the text of an agent's answer file, which has the plan of the shard and the agent's
    answer.

    Raises ValueError if the text is not of an answer file.
    """
    found = json.loads(text)
    if not isinstance(found, dict) or not {"plan", "answer"} <= set(found):
        raise ValueError("is not a report of an agent")
    return KeptPart(LoadPlan.model_validate(found["plan"]), found["answer"])


def of_parts(kept: Sequence[KeptPart]) -> LoadRun:
    """Merges the answer files of a run's agents into one result. A shard whose file is missing
    counts as lost.

    Raises WrongPlan if the files are not of one run.
    """
    first = kept[0].plan
    if any(one.plan.run_directory != first.run_directory for one in kept):
        raise WrongPlan("the parts are of different loads")
    parts = [
        _Part(ClientHost(f"part {number}"), one.plan.clients, one.answer)
        for number, one in enumerate(kept, 1)
    ]
    parts.sort(key=lambda part: part.clients.start)
    starts = [0, *(part.clients.stop for part in parts)]
    ends = [*(part.clients.start for part in parts), first.stream.clients]
    gaps = [range(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
    lost = [_Part(ClientHost(f"gap {number}"), gap, None) for number, gap in enumerate(gaps, 1)]
    every: list[_Part] = [*parts, *lost]
    return merge_shards(first, sorted(every, key=lambda part: part.clients.start))


def _lost(plan: LoadPlan, link: Shard) -> str:
    reported = link.answer.get("text") if link.answer is not None else None
    how = reported or link.ended
    return (
        f"{link.place.name} was lost: {how}; clients {link.clients.start} to "
        f"{link.clients.stop - 1} are missing, their files may be left in {plan.run_directory}"
    )
