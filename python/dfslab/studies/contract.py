"""What a study is: a question asked of a run's results, answered as a typed, storable result.

A study is one module that declares `NAMES` and `make(name)`: in this folder, in `studies/` of a
folder of DFSLAB_PATH, or behind an entry point of the group `dfslab.studies`. Terminal, JSON, page
and CSV show what it finds; nothing else has to be edited.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel, JsonValue

from dfslab import discover
from dfslab.documents.table import Name, Section, Table, Value, naming
from dfslab.method import RunFailed
from dfslab.result import Result
from dfslab.spec.model import InputError, unknown
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies import store
from dfslab.studies.stages import ProcessorTime, Stage

INSTRUMENTS = ("measure", "trace")
NOTHING_MEASURED = "holds no measured result to learn from"


class Progress(Protocol):
    """Called as work goes on: a share done of a total, what is being done, seconds left."""

    def __call__(self, done: float, total: float, text: str, /, *remaining_s: float) -> None: ...


class StudyResult(BaseModel):
    """What one study found of a run: stored in its folder, and read back as the same class."""

    # The study's name, as in its folder, in JSON and in the page's anchors.
    study: ClassVar[str]
    # Whether `dfslab run` prints its tables, not only the command that asks for this study.
    is_printed_by_run: ClassVar[bool] = True
    # Whether its tables say what a list of all results says.
    stands_for_results: ClassVar[bool] = False
    # Whether a page is written for it where nobody asks for one.
    is_worth_a_page: ClassVar[bool] = True
    # Its place on the page; None where a section of the page's own draws it, with charts.
    section_order: ClassVar[int | None] = None
    title: ClassVar[str] = ""
    empty: ClassVar[str] = ""

    def tables(self, run: FinishedRun) -> list[Table]:
        """What it found, as tables for any medium."""
        return []

    def section(self, run: FinishedRun) -> Section:
        """Its section of the page; by default its tables."""
        order = self.section_order or 0
        return Section(self.study, self.title, order, self.empty, self.tables(run))

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """What it adds to the JSON of `dfslab run`."""
        return {self.study: self.model_dump(mode="json")}


Found = TypeVar("Found", bound=StudyResult)
FoundOf = TypeVar("FoundOf", bound=StudyResult, covariant=True)


@dataclass(frozen=True)
class Needs:
    """What a run must have: measured results, predictions, a design (or none), other findings."""

    measured: bool = False
    models: bool = False
    design: bool | None = None
    studies: tuple[type[StudyResult], ...] = ()

    def are_met(self, run: FinishedRun) -> bool:
        """Whether this run has all of it."""
        return (
            (not self.measured or bool(run.of_method("measure")))
            and (not self.models or bool(run.methods))
            and (self.design is None or self.design == bool(run.scenario.design.factor))
            and all(run.find(kind) is not None for kind in self.studies)
        )


class Study(ABC, Generic[FoundOf]):
    """One question. `run` is asked when its needs are met; a study sees only what came before.

    `order` is its place among the studies of a run. `needs` are those of a study that is asked at
    the end of a run; what a command asks for by name is computed without. `refused` begins the note
    that a run prints where `run` raises RunFailed; without it, only who asks is told.
    """

    name: str
    result: type[FoundOf]
    needs: Needs = Needs()
    order: int = 100
    stage: Stage = "fitting"
    refused: str = ""

    @abstractmethod
    def run(self, run: FinishedRun, progress: Progress) -> FoundOf | None:
        """What it finds; None where there is nothing to say. RunFailed where it cannot say."""


@dataclass
class Findings:
    """What all studies found of a run; `refused` has the reasons of those that could not say."""

    found: dict[str, StudyResult] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, *results: StudyResult | None) -> Findings:
        """Findings of these studies."""
        return cls({one.study: one for one in results if one is not None})

    def get(self, kind: type[Found]) -> Found | None:
        """What one study found, by the class of its result."""
        known = self.found.get(kind.study)
        return known if isinstance(known, kind) else None

    def add(self, result: StudyResult) -> None:
        """Keep what a study found."""
        self.found[result.study] = result


class FinishedRun:
    """A run that is over: its scenario, its results, and what the studies found of them."""

    def __init__(
        self,
        scenario: Scenario,
        results: Sequence[Result] | None = None,
        findings: Findings | None = None,
        folder: Path | None = None,
    ) -> None:
        """Without `results` they are read from the folder when somebody asks for them."""
        self.scenario, self.folder = scenario, folder or Path()
        self.findings = Findings() if findings is None else findings
        self.processor_time: ProcessorTime | None = None
        if results is not None:
            self.results = list(results)

    @cached_property
    def results(self) -> list[Result]:
        """All results; stored findings need none of them."""
        return store.load_results(self.folder)

    @cached_property
    def settled(self) -> list[Result]:
        """Results in one order, whether they come from a sweep or from files: sums of floats, and
        the order of rows, depend on it."""
        methods = {name: place for place, name in enumerate(self.scenario.run.methods)}
        return in_order(
            self.scenario,
            sorted(
                self.results,
                key=lambda one: (methods.get(one.method, len(methods)), one.method, one.repetition),
            ),
        )

    def find(self, kind: type[Found]) -> Found | None:
        """What one study found of this run, by the class of its result."""
        return self.findings.get(kind)

    @property
    def methods(self) -> list[str]:
        """The predicting methods, in the scenario's order."""
        return [method for method in self.scenario.run.methods if method not in INSTRUMENTS]

    def of_method(self, method: str) -> list[Result]:
        """All results of one method."""
        return [result for result in self.settled if result.method == method]

    @property
    def points(self) -> list[Point]:
        """Every configuration that has a result."""
        return list({result.point_id: result.point for result in self.settled}.values())

    @property
    def traces(self) -> Path:
        """Where its traces are."""
        return self.folder / "traces"

    @property
    def page(self) -> Path:
        """Where its page is, or would be."""
        return self.folder / "report.html"

    def name(self, labels: Mapping[str, Value]) -> str:
        """A configuration's varied keys, short: what is the same everywhere is left out."""
        return self._name(labels)

    @cached_property
    def _name(self) -> Name:
        return naming({result.point_id: result.labels for result in self.results}.values())


def in_order(scenario: Scenario, results: Iterable[Result]) -> list[Result]:
    """Results as the scenario lists their configurations: they were measured in a drawn order."""
    # By what was varied: a run of an earlier version has other ids.
    places = {str(point.labels): place for place, point in enumerate(scenario.points())}
    return sorted(results, key=lambda one: places.get(str(one.labels), len(places)))


def all_studies() -> list[Study[StudyResult]]:
    """Every study that discovery finds, each after those whose findings it needs.

    DiscoveryError names the module that does not keep the contract.
    """
    found = [study for name in discover.studies() for study in [find(name)]]
    found.sort(key=lambda one: (one.order, one.name))
    known: set[type[StudyResult]] = set()
    for study in found:
        if missing := [kind.study for kind in study.needs.studies if kind not in known]:
            text = f"study {study.name} needs {', '.join(missing)}, which are asked after it"
            raise discover.DiscoveryError(text)
        known.add(study.result)
    return found


def find(name: str) -> Study[StudyResult]:
    """The study of that name. InputError with the known names where there is none."""
    known = discover.studies()
    if name not in known:
        raise InputError("study", name, unknown(name, sorted(known)))
    member = known[name]
    make = vars(member.load()).get("make")
    if make is None:
        raise discover.DiscoveryError(f"{member.source}: lacks make")
    study = make(name)
    if not isinstance(study, Study) or study.name != name or study.result.study != name:
        raise discover.DiscoveryError(f"{member.source}: makes no study of the name {name}")
    return study


def refusals(run: FinishedRun, kinds: Iterable[type[StudyResult]]) -> Iterator[str]:
    """Why these studies could not say anything of a run."""
    for kind in kinds:
        if kind.study in run.findings.refused:
            yield run.findings.refused[kind.study]


def need_measured(run: FinishedRun) -> None:
    """RunFailed where a run measured nothing that could be learnt from."""
    if not any(not result.point.held_out for result in run.of_method("measure")):
        raise RunFailed(NOTHING_MEASURED)
