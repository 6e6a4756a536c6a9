"""One load whose clients are distributed over several shards: progress and merged results."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from dfslab import _core
from dfslab.documents.measured_load import FleetLoadReport
from dfslab.documents.rows import Span
from dfslab.fleet.places import Place

Progress = Callable[[float, str], object]
Spans = list[Span]
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
    def answer(self) -> Mapping[str, Any] | None: ...
    @property
    def ended(self) -> str | None: ...


class RunningShard(Shard, Protocol):
    """A shard whose agent still reports progress."""

    @property
    def progress(self) -> tuple[float, str]: ...


PHASES = ("preparing", "running", "verifying", "cleaning up")


def turns(plan: Mapping[str, Any]) -> int:
    """The number of barriers.

    A plan that holds has one before and one after every phase. Other plans have one before every
    phase, and one after the last phase for clients that use each other's files.
    """
    phases = max(1, len(plan["stream"].get("phases", ())))
    return 2 * phases if plan.get("hold") else phases + 1


def fail(link: Shard) -> None:
    """Raise for an agent that ended too early: WrongPlan when the plan was wrong."""
    answer = link.answer or {"error": "lost", "text": link.ended}
    kind = WrongPlan if answer.get("error") == "input" else LoadFailed
    raise kind(f"{link.place.name}: {answer.get('text')}")


def progress_of(links: Sequence[RunningShard]) -> tuple[float, str]:
    """The earliest current phase of any shard, and the share of it that all clients have
    completed."""
    known = [link for link in links if link.progress[1] in PHASES and link.ended is None]
    if not known:
        return 1.0, PHASES[-1]
    phase = min((link.progress[1] for link in known), key=PHASES.index)
    shares = [(len(x.clients), x.progress[0] if x.progress[1] == phase else 1.0) for x in known]
    return sum(n * share for n, share in shares) / sum(n for n, _ in shares), phase


def together(plan: Mapping[str, Any], links: Sequence[Shard]) -> LoadRun:
    """The merged results of all shards. LoadFailed when no shard has any."""
    answers = [link.answer for link in links if link.answer and "report" in link.answer]
    lost = {
        link.place.name: _lost(plan, link) for link in links if "report" not in (link.answer or {})
    }
    if not answers:
        raise LoadFailed("; ".join(lost.values()))
    merged = json.loads(_core.merge_reports([json.dumps(a["report"]) for a in answers]))
    merged["errors"] += [
        {"operation": "place", "kind": "lost", "count": 1, "first": how} for how in lost.values()
    ]
    failed = sum(error["count"] for error in merged["errors"])
    merged["complete"] &= not lost and failed <= plan.get("max_errors", 0)
    merged["places"] = [
        {
            "name": link.place.name,
            "clients_from": link.clients.start,
            "clients_to": link.clients.stop,
            "lost": lost.get(link.place.name),
        }
        for link in links
    ]
    spans = [Span._make(span) for answer in answers for span in answer["spans"]]
    recorded = b"".join(base64.b64decode(answer["recorded"]) for answer in answers)
    return LoadRun(FleetLoadReport.model_validate(merged), spans, recorded)


@dataclass(frozen=True)
class _Part:
    """An agent of which only its answer file is known."""

    place: Place
    clients: range
    answer: Mapping[str, Any] | None
    ended: str = "its answer is not among those given"


def of_parts(documents: Sequence[Mapping[str, Any]]) -> LoadRun:
    """One report merged from the answer files of a load's agents; a missing file is a lost shard.

    WrongPlan when the files are not of one load.
    """
    plans = [document["plan"] for document in documents]
    first = plans[0]
    if any(plan["run_directory"] != first["run_directory"] for plan in plans):
        raise WrongPlan("the parts are of different loads")
    parts = [
        _Part(
            Place(f"part {number}"),
            range(plan["clients_from"], plan["clients_to"]),
            reported["answer"],
        )
        for number, (plan, reported) in enumerate(zip(plans, documents, strict=True), 1)
    ]
    parts.sort(key=lambda part: part.clients.start)
    starts = [0, *(part.clients.stop for part in parts)]
    ends = [*(part.clients.start for part in parts), first["stream"]["clients"]]
    gaps = [range(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
    lost = [_Part(Place(f"gap {number}"), gap, None) for number, gap in enumerate(gaps, 1)]
    every: list[_Part] = [*parts, *lost]
    return together(first, sorted(every, key=lambda part: part.clients.start))


def _lost(plan: Mapping[str, Any], link: Shard) -> str:
    how = (link.answer or {}).get("text") or link.ended
    return (
        f"{link.place.name} was lost: {how}; clients {link.clients.start} to "
        f"{link.clients.stop - 1} are missing, their files may be left in {plan['run_directory']}"
    )
