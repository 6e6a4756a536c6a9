"""Computes IO500's score: the geometric mean of a bandwidth score and a metadata score.

The rules are those of io500.org ("Submission rules"). The bandwidth score is the geometric mean
of four IOR phases in GiB/s. The metadata score is the geometric mean of eight phases (seven of
mdtest, and find) in thousands of operations per second. A submission needs phases of at
least 300 s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, JsonValue

from dfslab.documents.measured_load import MeasuredPhase
from dfslab.documents.table import Tab, Table, TableCell, heads, number, words
from dfslab.result import Result
from dfslab.studies.contract import FinishedRun, Progress, Study, StudyResult

NAMES = ("io500",)

GIB, THOUSAND = 2**30, 1000
# The parts of the score, by the names that IO500 gives them. The value of a part is a pair: the
# workload of dfslab, and the phase of this workload that measures the part.
BANDWIDTHS = {
    "ior-easy-write": ("ior_easy", "write"),
    "ior-easy-read": ("ior_easy", "read"),
    "ior-hard-write": ("ior_hard", "write"),
    "ior-hard-read": ("ior_hard", "read"),
}
RATES = {
    "mdtest-easy-write": ("mdtest_easy", "create"),
    "mdtest-easy-stat": ("mdtest_easy", "stat"),
    "mdtest-easy-delete": ("mdtest_easy", "remove"),
    "mdtest-hard-write": ("mdtest_hard", "create"),
    "mdtest-hard-stat": ("mdtest_hard", "stat"),
    "mdtest-hard-read": ("mdtest_hard", "read"),
    "mdtest-hard-delete": ("mdtest_hard", "remove"),
}
FIND = "find"
PARTS = (*BANDWIDTHS, *RATES, FIND)
ENTRY_S = 300.0
BASIS = (
    "Each part from its common start to its last operation's end; repetitions by geometric means. "
    "The score is the root of the product of two geometric means: of the bandwidths, in GiB/s, and "
    "of the rates, in thousands a second."
)
SHORT = (
    "Phases shorter than 300 s compare configurations, but are no valid entry of the IO500 list."
)


class Io500Score(BaseModel):
    """IO500's score of the runs at one configuration.

    `parts`: the measured rate of each part of the score, in GiB/s or in thousands of operations per
    second. `missing`: the parts that were not measured. The score and its two means are None if a
    part is missing. `shortest_s`: duration of the shortest phase in seconds.
    """

    labels: dict[str, str]
    parts: dict[str, float]
    missing: list[str]
    bandwidth_gib_per_s: float | None
    rate_kiops: float | None
    score: float | None
    shortest_s: float


class Scores(StudyResult):
    """The score of every configuration, or the names of its missing parts."""

    study = "io500"
    is_worth_a_page = False
    section_order = 26
    tab = Tab.THROUGHPUT
    title = "IO500"
    empty = "IO500's workloads did not all run: ior_easy, ior_hard, mdtest_easy, mdtest_hard, find."

    scores: list[Io500Score]

    def tables(self, run: FinishedRun) -> list[Table]:
        """Returns a list with one table, which has a column for each configuration; an empty list
        if no score is complete."""
        if all(one.score is None for one in self.scores):
            return []
        names = [run.name(dict(one.labels)) if one.labels else "measured" for one in self.scores]
        rows: list[tuple[TableCell, ...]] = [
            (words(_named(part)), *(number(one.parts.get(part)) for one in self.scores))
            for part in PARTS
        ]
        rows += [
            (words("bandwidth (GiB/s)"), *(number(one.bandwidth_gib_per_s) for one in self.scores)),
            (words("rate (k/s)"), *(number(one.rate_kiops) for one in self.scores)),
            (words("score"), *(number(one.score) for one in self.scores)),
        ]
        short = any(one.shortest_s < ENTRY_S for one in self.scores)
        notes = [BASIS, SHORT] if short else [BASIS]
        return [Table("IO500's parts and score", heads("part", *names), rows, notes)]

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """The JSON document with the complete scores. A score that lacks a part is left out."""
        whole: list[JsonValue] = [
            one.model_dump(mode="json") for one in self.scores if one.score is not None
        ]
        return {"io500": whole} if whole else {}


class Io500Study(Study[Scores]):
    """Computes IO500's score from runs of its workloads."""

    name = "io500"
    result = Scores
    order = 15

    def run(self, run: FinishedRun, progress: Progress) -> Scores | None:
        """The scores; None if no workload of IO500 was run."""
        found = scores(run.settled)
        return Scores(scores=found) if found else None


def make(name: str) -> Io500Study:
    """Returns the study `io500`; study discovery calls this function with the study's name."""
    return Io500Study()


def _named(part: str) -> str:
    return f"{part} ({'GiB/s' if part in BANDWIDTHS else 'k/s'})"


def scores(results: Sequence[Result]) -> list[Io500Score]:
    """Returns one score for each configuration of the file system and hardware. The score combines
    the runs of all IO500 workloads on this configuration.

    If a workload was repeated, the geometric mean of the measured rates is used.
    """
    groups: dict[tuple[tuple[str, str], ...], list[Result]] = {}
    for result in results:
        if result.method == "measure" and result.complete and _takes_part(result):
            others = {
                key: str(value)
                for key, value in result.labels.items()
                if not key.startswith("workload.")
            }
            groups.setdefault(tuple(others.items()), []).append(result)
    return [_score(dict(labels), own) for labels, own in groups.items()]


def _takes_part(result: Result) -> bool:
    name = result.point.scenario.workload.name
    return name == FIND or name in {one for one, _ in (*BANDWIDTHS.values(), *RATES.values())}


def _score(labels: dict[str, str], results: Sequence[Result]) -> Io500Score:
    found: dict[str, list[float]] = {}
    shortest_s = math.inf
    for result in results:
        phases = {phase.name: phase for phase in result.load.phases} if result.load else {}
        shortest_s = min([shortest_s, *(p.window_s for p in phases.values() if p.count)])
        for part, value in _parts(result.point.scenario.workload.name, phases).items():
            found.setdefault(part, []).append(value)
    parts = {part: _mean(found[part]) for part in PARTS if part in found}
    bandwidth = _mean_of(parts, tuple(BANDWIDTHS))
    rate = _mean_of(parts, (*RATES, FIND))
    return Io500Score(
        labels=labels,
        parts=parts,
        missing=[part for part in PARTS if part not in parts],
        bandwidth_gib_per_s=bandwidth,
        rate_kiops=rate,
        shortest_s=shortest_s,
        score=None if bandwidth is None or rate is None else math.sqrt(bandwidth * rate),
    )


def _parts(workload: str, phases: Mapping[str, MeasuredPhase]) -> dict[str, float]:
    """Returns the parts of IO500's score that one run of `workload` measured, as rates in GiB/s or
    in thousands of operations per second.

    A phase lasts from its start to its last completion, as in IO500.
    """
    if workload == FIND:
        took_s = sum(phase.window_s for phase in phases.values())
        return {FIND: phases["stat"].count / took_s / THOUSAND} if took_s else {}
    values = {
        part: phases[phase].throughput_bytes_per_s / GIB
        for part, (name, phase) in BANDWIDTHS.items()
        if name == workload
    }
    values |= {
        part: phases[phase].rate_per_s / THOUSAND
        for part, (name, phase) in RATES.items()
        if name == workload
    }
    return {part: value for part, value in values.items() if value > 0}


def _mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _mean_of(parts: Mapping[str, float], names: Sequence[str]) -> float | None:
    return _mean([parts[name] for name in names]) if all(n in parts for n in names) else None
