"""The interface of studies: analyses of a run's results that return a typed, storable result.

A study is one module that declares `NAMES` and `make(name)`: in this folder, in `studies/` of a
folder of DFSLAB_PATH, or behind an entry point of the group `dfslab.studies`. Terminal, JSON, page
and CSV show its result without further changes.
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
from dfslab.studies.runs import store
from dfslab.studies.runs.stages import ProcessorTime, Stage

NOTHING_MEASURED = "holds no measured result to learn from"


class Progress(Protocol):
    """Progress callback: amount done, total amount, current activity, seconds remaining."""

    def __call__(self, done: float, total: float, text: str, /, *remaining_s: float) -> None: ...


class StudyResult(BaseModel):
    """The result of one study, stored in the run's folder and read back as the same class."""

    # Name of the study in the run's folder, in JSON and in anchors of the page.
    study: ClassVar[str]
    # Whether `dfslab run` prints the tables, too, not only the study's own command.
    is_printed_by_run: ClassVar[bool] = True
    # Whether the tables replace the list of all results.
    stands_for_results: ClassVar[bool] = False
    # Whether this result alone causes a page to be written.
    is_worth_a_page: ClassVar[bool] = True
    # Position on the page; None if a dedicated section with charts renders the result.
    section_order: ClassVar[int | None] = None
    title: ClassVar[str] = ""
    empty: ClassVar[str] = ""

    def tables(self, run: FinishedRun) -> list[Table]:
        """The result as tables, for all output formats."""
        return []

    def section(self, run: FinishedRun) -> Section:
        """The result's section of the page; by default the tables."""
        order = self.section_order or 0
        return Section(self.study, self.title, order, self.empty, self.tables(run))

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """The result's keys in the JSON of `dfslab run`."""
        return {self.study: self.model_dump(mode="json")}


Found = TypeVar("Found", bound=StudyResult)
FoundOf = TypeVar("FoundOf", bound=StudyResult, covariant=True)


@dataclass(frozen=True)
class Needs:
    """Preconditions of a study: measured results, predictions, a design (or none), findings."""

    measured: bool = False
    models: bool = False
    design: bool | None = None
    studies: tuple[type[StudyResult], ...] = ()

    def are_met(self, run: FinishedRun) -> bool:
        """Whether the run meets all preconditions."""
        return (
            (not self.measured or bool(run.of_method("measure")))
            and (not self.models or bool(run.methods))
            and (self.design is None or self.design == bool(run.scenario.design.factor))
            and all(run.find(kind) is not None for kind in self.studies)
        )


class Study(ABC, Generic[FoundOf]):
    """One analysis of a run; it may use the findings of studies before it.

    `order`: position among the studies of a run. `needs`: preconditions at the end of a run; a
    command that names the study ignores them. `refused`: start of the note that a run prints if the
    study raises RunFailed; if empty, only the study's own command reports the failure.
    """

    name: str
    result: type[FoundOf]
    needs: Needs = Needs()
    order: int = 100
    stage: Stage = "fitting"
    refused: str = ""

    @abstractmethod
    def run(self, run: FinishedRun, progress: Progress) -> FoundOf | None:
        """The result; None if there is nothing to report. RunFailed if it cannot be computed."""


@dataclass
class Findings:
    """Results of all studies of a run; `refused`: reasons of studies that failed."""

    found: dict[str, StudyResult] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, *results: StudyResult | None) -> Findings:
        """Findings that hold these results."""
        return cls({one.study: one for one in results if one is not None})

    def get(self, kind: type[Found]) -> Found | None:
        """The result of one study, by its class; None without one."""
        known = self.found.get(kind.study)
        return known if isinstance(known, kind) else None

    def add(self, result: StudyResult) -> None:
        """Add a study's result."""
        self.found[result.study] = result


class FinishedRun:
    """A finished run: its scenario, its results, and the studies' findings."""

    def __init__(
        self,
        scenario: Scenario,
        results: Sequence[Result] | None = None,
        findings: Findings | None = None,
        folder: Path | None = None,
    ) -> None:
        """Without `results`, they are read from the folder on first access."""
        self.scenario, self.folder = scenario, folder or Path()
        self.findings = Findings() if findings is None else findings
        self.processor_time: ProcessorTime | None = None
        if results is not None:
            self.results = list(results)

    @cached_property
    def results(self) -> list[Result]:
        """All results; not loaded if only stored findings are used."""
        return store.load_results(self.folder)

    @cached_property
    def settled(self) -> list[Result]:
        """Results in a canonical order, because float sums and the order of rows depend on it."""
        methods = {name: place for place, name in enumerate(self.scenario.run.methods)}
        return in_order(
            self.scenario,
            sorted(
                self.results,
                key=lambda one: (methods.get(one.method, len(methods)), one.method, one.repetition),
            ),
        )

    def find(self, kind: type[Found]) -> Found | None:
        """The result of one study on this run, by its class; None without one."""
        return self.findings.get(kind)

    @property
    def methods(self) -> list[str]:
        """The predicting methods, in the scenario's order."""
        return [
            method for method in self.scenario.run.methods if not discover.is_instrument(method)
        ]

    def of_method(self, method: str) -> list[Result]:
        """All results of one method."""
        return [result for result in self.settled if result.method == method]

    @property
    def points(self) -> list[Point]:
        """Every configuration that has a result."""
        return list({result.point_id: result.point for result in self.settled}.values())

    @property
    def traces(self) -> Path:
        """The folder of the run's traces."""
        return self.folder / "traces"

    @property
    def page(self) -> Path:
        """The path of the run's page, which may not exist."""
        return self.folder / "report.html"

    def name(self, labels: Mapping[str, Value]) -> str:
        """A short name of a configuration: its keys that vary within the run."""
        return self._name(labels)

    @cached_property
    def _name(self) -> Name:
        return naming({result.point_id: result.labels for result in self.results}.values())


def in_order(scenario: Scenario, results: Iterable[Result]) -> list[Result]:
    """Results in the scenario's order of configurations; they were measured in random order."""
    # Match by labels, because earlier versions have different ids.
    places = {str(point.labels): place for place, point in enumerate(scenario.points())}
    return sorted(results, key=lambda one: places.get(str(one.labels), len(places)))


def all_studies() -> list[Study[StudyResult]]:
    """Every discovered study, each after those whose findings it needs.

    DiscoveryError names the module that violates the interface.
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
    """Reasons why these studies failed on a run."""
    for kind in kinds:
        if kind.study in run.findings.refused:
            yield run.findings.refused[kind.study]


def need_measured(run: FinishedRun) -> None:
    """RunFailed if a run has no usable measurement."""
    if not any(not result.point.held_out for result in run.of_method("measure")):
        raise RunFailed(NOTHING_MEASURED)
