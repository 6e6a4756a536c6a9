"""One load whose clients are distributed over several shards: progress and merged results."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import sub
from typing import NamedTuple, Protocol

from dfslab import _core
from dfslab.documents.load_report import ErrorCount
from dfslab.documents.measured_load import FleetLoadReport, PlaceReport
from dfslab.fleet.places import Place
from dfslab.fleet.protocol import Answer, SpanColumns
from dfslab.spec.streams.plan import LoadPlan

Progress = Callable[[float, str], object]
Spans = _core.SpanTable
WrongPlan = _core.InputError
LoadFailed = _core.RunError


class LoadRun(NamedTuple):
    """A finished load: its report, its spans, and its executed operations in encoded form."""

    report: FleetLoadReport
    spans: Spans
    recorded: bytes


class Shard(Protocol):
    """The clients of one load that one agent runs.

    `answer` is the agent's final document, None until then; `ended` says why the agent ended;
    `progress` is the completed share of the current phase, and the phase.
    """

    @property
    def place(self) -> Place: ...
    @property
    def clients(self) -> range: ...
    @property
    def answer(self) -> Answer | None: ...
    @property
    def ended(self) -> str | None: ...


class RunningShard(Shard, Protocol):
    """A shard whose agent still reports progress."""

    @property
    def progress(self) -> tuple[float, str]: ...


PHASES = ("preparing", "running", "verifying", "cleaning up")


def turns(plan: LoadPlan) -> int:
    """The number of barriers.

    A plan that holds has one before and one after every phase. Other plans have one before every
    phase, and one after the last phase for clients that use each other's files.
    """
    phases = len(plan.stream.all_phases)
    return 2 * phases if plan.hold else phases + 1


def fail(link: Shard) -> None:
    """Raise for an agent that ended too early: WrongPlan when the plan was wrong."""
    if link.answer is None:
        raise LoadFailed(f"{link.place.name}: {link.ended}")
    kind = WrongPlan if link.answer.get("error") == "input" else LoadFailed
    raise kind(f"{link.place.name}: {link.answer.get('text')}")


def progress_of(links: Sequence[RunningShard]) -> tuple[float, str]:
    """The earliest current phase of any shard, and the share of it that all clients have
    completed."""
    known = [link for link in links if link.progress[1] in PHASES and link.ended is None]
    if not known:
        return 1.0, PHASES[-1]
    phase = min((link.progress[1] for link in known), key=PHASES.index)
    shares = [(len(x.clients), x.progress[0] if x.progress[1] == phase else 1.0) for x in known]
    return sum(n * share for n, share in shares) / sum(n for n, _ in shares), phase


def together(plan: LoadPlan, links: Sequence[Shard]) -> LoadRun:
    """The merged results of all shards. LoadFailed when no shard has any."""
    answers = [link.answer for link in links if link.answer and "report" in link.answer]
    lost = {
        link.place.name: _lost(plan, link) for link in links if "report" not in (link.answer or {})
    }
    if not answers:
        raise LoadFailed("; ".join(lost.values()))
    text = _core.merge_reports([json.dumps(answer["report"]) for answer in answers])
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
    """The spans of all shards, shard after shard."""
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
    """The spans with earlier times; `ahead_ns`: client -> how far its host's clock is ahead."""
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
    """An agent of which only its answer file is known."""

    place: Place
    clients: range
    answer: Answer | None
    ended: str = "its answer is not among those given"


@dataclass(frozen=True)
class KeptPart:
    """The content of an agent's answer file."""

    plan: LoadPlan
    answer: Answer


def kept_part(text: str) -> KeptPart:
    """The content of an agent's answer file. ValueError when it is no such file."""
    found = json.loads(text)
    if not isinstance(found, dict) or not {"plan", "answer"} <= set(found):
        raise ValueError("was not left by an agent")
    return KeptPart(LoadPlan.model_validate(found["plan"]), found["answer"])


def of_parts(kept: Sequence[KeptPart]) -> LoadRun:
    """One report merged from the answer files of a load's agents; a missing file is a lost shard.

    WrongPlan when the files are not of one load.
    """
    first = kept[0].plan
    if any(one.plan.run_directory != first.run_directory for one in kept):
        raise WrongPlan("the parts are of different loads")
    parts = [
        _Part(Place(f"part {number}"), one.plan.clients, one.answer)
        for number, one in enumerate(kept, 1)
    ]
    parts.sort(key=lambda part: part.clients.start)
    starts = [0, *(part.clients.stop for part in parts)]
    ends = [*(part.clients.start for part in parts), first.stream.clients]
    gaps = [range(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
    lost = [_Part(Place(f"gap {number}"), gap, None) for number, gap in enumerate(gaps, 1)]
    every: list[_Part] = [*parts, *lost]
    return together(first, sorted(every, key=lambda part: part.clients.start))


def _lost(plan: LoadPlan, link: Shard) -> str:
    reported = link.answer.get("text") if link.answer is not None else None
    how = reported or link.ended
    return (
        f"{link.place.name} was lost: {how}; clients {link.clients.start} to "
        f"{link.clients.stop - 1} are missing, their files may be left in {plan.run_directory}"
    )
