"""The interface of studies: a study analyses the results of a run and returns a typed result that
can be stored.

A study is one module that declares `NAMES` and `make(name)`. The module is found in this folder, in
`studies/` of a folder of DFSLAB_PATH, or behind an entry point of the group `dfslab.studies`. The
code for terminal, JSON, page and CSV shows the result of every study, so a new study needs no
change of this code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Generic, Protocol, TypeVar, get_args

from pydantic import BaseModel, JsonValue

from dfslab import discover
from dfslab.documents.table import Name, Paragraph, Section, Tab, Table, Value, naming
from dfslab.method import MEASURE
from dfslab.result import Result
from dfslab.spec.input_error import InputError, unknown
from dfslab.spec.members.member_error import located, unlisted
from dfslab.spec.scenario import Point, Scenario
from dfslab.spec.systems.choice import NAME_KEY
from dfslab.studies.runs import store
from dfslab.studies.runs.stages import ProcessorTime, Stage
from dfslab.studies.runs.unfinished import Unfinished


class Progress(Protocol):
    """A callback that reports progress.

    It receives the amount done, the total amount, a text on the current activity, and optionally
    the estimated seconds remaining.
    """

    def __call__(self, done: float, total: float, text: str, /, *remaining_s: float) -> None: ...


def silent_progress(done: float, total: float, text: str, /, *remaining_s: float) -> None:
    """A progress callback that does nothing."""


class StudyResult(BaseModel):
    """The result of one study, stored in the run's folder and read back as the same class."""

    # Name of the study. The name is the study's key in the stored findings and in JSON, and the
    # anchor of the study's section on the page.
    study: ClassVar[str] = ""
    # Whether `dfslab run` also prints the tables. If false, only the study's own command prints
    # them.
    is_printed_by_run: ClassVar[bool] = True
    # Whether, in the terminal, the study's tables are printed instead of the list of all results.
    stands_for_results: ClassVar[bool] = False
    # Whether this result alone is a sufficient reason to write the page of a run.
    is_worth_a_page: ClassVar[bool] = True
    # Sort key of the section on the page; None if a dedicated section with charts shows the result.
    # Sections with equal keys are sorted by name.
    section_order: ClassVar[int | None] = None
    # The tab of the page that shows the section.
    tab: ClassVar[Tab] = Tab.RAW
    title: ClassVar[str] = ""
    empty: ClassVar[str] = ""

    def tables(self, run: FinishedRun) -> list[Table]:
        """The result as tables, which all output formats show.

        If a section has only one table, the page shows the title of the section and leaves out the
        title of the table.
        """
        return []

    def section(self, run: FinishedRun) -> Section:
        """The section of the page that shows the result. By default, the section has the tables
        of the result."""
        order = self.section_order or 0
        return Section(self.study, self.title, order, self.empty, self.tables(run))

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """Keys and values of the result in the JSON of `dfslab run`."""
        return {self.study: self.model_dump(mode="json")}


Found = TypeVar("Found", bound=StudyResult)
FoundOf = TypeVar("FoundOf", bound=StudyResult, covariant=True)


@dataclass(frozen=True)
class Needs:
    """The conditions that a run must meet so that a study is computed at the end of the run.

    - `results`: whether the run must have a result.
    - `measured`: whether it must have a measurement.
    - `models`: whether the scenario must name a model.
    - `design`: whether the scenario must have a design of experiments (true) or must not have one
      (false); None if both are allowed.
    - `studies`: types of the results of other studies that must be available.
    """

    results: bool = False
    measured: bool = False
    models: bool = False
    design: bool | None = None
    studies: tuple[type[StudyResult], ...] = ()

    def are_met(self, run: FinishedRun) -> bool:
        """Whether the run meets all preconditions."""
        return (
            (not self.results or bool(run.results))
            and (not self.measured or bool(run.of_method(MEASURE)))
            and (not self.models or bool(run.methods))
            and (self.design is None or self.design == bool(run.scenario.design.factor))
            and all(run.find(kind) is not None for kind in self.studies)
        )


class Study(ABC, Generic[FoundOf]):
    """One analysis of a run, which may use the findings of the studies before it.

    `order`: the number by which the studies of a run are sorted. `needs`: conditions for the study
    at the end of a run; a command that names the study ignores them. `refused`: beginning of the
    note that a run prints if the study raises RunFailed. If `refused` is empty, only the study's
    own command reports the failure.
    """

    name: str = ""
    result: type[FoundOf]
    needs: Needs = Needs()
    order: int = 100
    stage: Stage = "fitting"
    refused: str = ""

    @abstractmethod
    def run(self, run: FinishedRun, progress: Progress) -> FoundOf | None:
        """Returns the study's result; None if there is nothing to report.

        Raises RunFailed if the result cannot be computed.
        """


@dataclass
class Findings:
    """The results of all studies of a run, by study name.

    `refused`: the reason why a study failed, by the name of the study. `notes`: sentences for the
    user, which are printed and shown on the page.
    """

    found: dict[str, StudyResult] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, *results: StudyResult | None) -> Findings:
        """Findings with these results. A result that is None is skipped."""
        return cls({one.study: one for one in results if one is not None})

    def get(self, kind: type[Found]) -> Found | None:
        """The result of the given class; None if its study has no result."""
        known = self.found.get(kind.study)
        return known if isinstance(known, kind) else None

    def add(self, result: StudyResult) -> None:
        """Adds the result of one study, under its study's name."""
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
        """If `results` is None, the results are read from `folder` when they are first used.
        `findings`: results of studies that are already known."""
        self.scenario, self.folder = scenario, folder or Path()
        self.findings = Findings() if findings is None else findings
        self.processor_time: ProcessorTime | None = None
        # How many measurements the run has, if it was interrupted and then opened again; None for a
        # complete run.
        self.unfinished: Unfinished | None = None
        if results is not None:
            self.results = list(results)

    @cached_property
    def results(self) -> list[Result]:
        """All results of the run. The results are read from disk only if this property is used."""
        return store.load_results(self.folder)

    @property
    def is_of_table(self) -> bool:
        """Whether the results were read from a table of results in a file, such as CSV. In this
        case `folder` is the path of the file. There is then no run folder for other commands."""
        return self.folder.is_file()

    @cached_property
    def settled(self) -> list[Result]:
        """All results, sorted by configuration, method and repetition. The order of table rows and
        the rounding of sums therefore do not depend on the times of the measurements."""
        methods = {name: place for place, name in enumerate(self.scenario.run.methods)}
        return in_order(
            self.scenario,
            sorted(
                self.results,
                key=lambda one: (methods.get(one.method, len(methods)), one.method, one.repetition),
            ),
        )

    def find(self, kind: type[Found]) -> Found | None:
        """The result of the given class for this run; None if its study has no result."""
        return self.findings.get(kind)

    @property
    def methods(self) -> list[str]:
        """Names of the methods of the scenario that predict rather than measure, in the
        scenario's order."""
        return [
            method for method in self.scenario.run.methods if not discover.is_instrument(method)
        ]

    def of_method(self, method: str) -> list[Result]:
        """All results of one method."""
        return [result for result in self.settled if result.method == method]

    @property
    def points(self) -> list[Point]:
        """The configurations that have a result, each once."""
        return list({result.point_id: result.point for result in self.settled}.values())

    @property
    def traces(self) -> Path:
        """The folder of the run's traces."""
        return self.folder / "traces"

    @property
    def page(self) -> Path:
        """The path of the run's page, which may not exist."""
        return self.folder / "report.html"

    @property
    def file_systems(self) -> str:
        """Returns the names of the run's file systems as text. The names are those of the file
        systems in the sweep or, if the sweep names none, the name of the scenario's file system."""
        named = dict.fromkeys(str(one.labels.get(NAME_KEY, "")) for one in self.points)
        return ", ".join(filter(None, named)) or self.scenario.file_system.name

    def name(self, labels: Mapping[str, Value]) -> str:
        """A short name of a configuration, made of the keys that vary within the run."""
        return self._name(labels)

    @cached_property
    def _name(self) -> Name:
        return naming({result.point_id: result.labels for result in self.results}.values())


def in_order(scenario: Scenario, results: Iterable[Result]) -> list[Result]:
    """The results in the order in which the scenario lists its configurations.

    The stored order differs, because measurements ran in a random order.
    """
    # Results are matched by labels, because earlier versions of dfslab computed other point ids.
    places = {str(point.labels): place for place, point in enumerate(scenario.points())}
    return sorted(results, key=lambda one: places.get(str(one.labels), len(places)))


def all_studies() -> list[Study[StudyResult]]:
    """Returns all discovered studies, sorted by `order` and then by name.

    Raises DiscoveryError if a module violates the interface, or if a study comes before a study
    whose findings it needs.
    """
    found = [study for name in discover.studies() for study in [find(name)]]
    found.sort(key=lambda one: (one.order, one.name))
    known: set[type[StudyResult]] = set()
    for study in found:
        if missing := [kind.study for kind in study.needs.studies if kind not in known]:
            text = f"study {study.name} needs {', '.join(missing)}, which run after it"
            raise discover.DiscoveryError(text)
        known.add(study.result)
    return found


def find(name: str) -> Study[StudyResult]:
    """Returns the study `name`. Raises InputError with the known names if there is no such study,
    and DiscoveryError if the study's module violates the interface."""
    known = discover.studies()
    if name not in known:
        raise InputError("study", name, unknown(name, sorted(known)))
    study, source = discover.made(known[name], name), discover.source(known[name])
    if not isinstance(study, Study):
        raise discover.DiscoveryError(f"{source}: makes no study of the name {name}")
    for reason in _violations(study, name):
        raise discover.DiscoveryError(f"{source}: {reason}")
    return study


def _violations(study: Study[StudyResult], name: str) -> Iterator[str]:
    """Yields the attributes of a study that violate the interface, each with what is allowed.
    `name`: the name that the study must have."""
    # Members outside this package are not type-checked. An attribute may be of any type.
    own = type(study).__name__
    if study.name != name:
        yield f"{own} has the name {study.name!r}, must have {name!r}, as in NAMES"
    try:
        kind = study.result
    except AttributeError:
        kind = None
    if not isinstance(kind, type) or not issubclass(kind, StudyResult):
        yield f"{own} must have a result, the class of its results, which derives from StudyResult"
        return
    if kind.study != name:
        stated = kind.study
        yield f"{own} has results of the study {stated!r}; {kind.__name__}.study must be {name!r}"
    if not isinstance(study.needs, Needs):
        yield f"{own} has needs = {study.needs!r}, must be Needs(...)"
    if not isinstance(study.order, int):
        yield f"{own} has order = {study.order!r}, must be an integer"
    if study.stage not in get_args(Stage):
        yield f"{own} has a stage that {unlisted(study.stage, get_args(Stage))}"
    yield from _section_violations(kind)


def _section_violations(kind: type[StudyResult]) -> Iterator[str]:
    """Yields what is wrong with the attributes of a result that describe its section."""
    if kind.section_order is None:
        if stated := ", ".join(_of_section(kind)):
            yield f"{kind.__name__} states {stated} of a section of the page, but no section_order"
    elif not isinstance(kind.section_order, int):
        yield f"{kind.__name__} has section_order = {kind.section_order!r}, must be an integer"
    if not isinstance(kind.tab, Tab):
        yield f"{kind.__name__} has tab = {kind.tab!r}, must be a Tab, such as Tab.RAW"


def check_result(study: Study[StudyResult], found: object, run: FinishedRun) -> None:
    """Computes everything that the terminal, the page and JSON show of the result `found`, so that
    exceptions of the study's code are raised here, before anything is written.

    Raises DiscoveryError if the result, or what it shows, has a wrong type.
    """
    if found is None:
        return
    if not isinstance(found, study.result):
        allowed = f"must return {study.result.__name__} or None"
        raise discover.DiscoveryError(f"run returns {type(found).__name__}, {allowed}")
    found.document(run)
    _check_shown("tables", found.tables(run))
    _check_shown("section", found.section(run).blocks)
    found.model_dump_json()


def _check_shown(name: str, shown: Sequence[object]) -> None:
    """Raises DiscoveryError if the method `name` returned something else than tables and
    paragraphs."""
    for one in shown:
        if not isinstance(one, Table | Paragraph):
            text = f"{name} returns {type(one).__name__}, must return tables"
            raise discover.DiscoveryError(text)


def is_outside(study: Study[StudyResult]) -> bool:
    """Whether the study is not part of this package."""
    path = discover.studies().get(study.name)
    return path is not None and not discover.is_ours(path)


def failure(study: Study[StudyResult], error: Exception) -> str | None:
    """Returns the file, the line and the reason of an exception that occurred while a study ran.
    Returns None if no member outside this package caused the exception."""
    if stated := discover.fault(error):
        return stated
    if is_outside(study):
        path = discover.studies()[study.name]
        return str(located(error, path, ()))
    return str(error) if isinstance(error, discover.DiscoveryError) else None


def _of_section(kind: type[StudyResult]) -> list[str]:
    """Returns the names of those attributes that describe a section of the page and that the class
    `kind` defines itself. The attributes are `title`, `empty`, `tab` and `section`. An attribute
    that `kind` inherits from StudyResult is not returned."""
    own = {name for one in kind.__mro__ for name in vars(one) if one is not StudyResult}
    return [name for name in ("title", "empty", "tab", "section") if name in own]


def refusals(run: FinishedRun, kinds: Iterable[type[StudyResult]]) -> Iterator[str]:
    """Yields the reasons why studies failed on the run. Only studies with a result type in `kinds`
    that failed have a reason."""
    for kind in kinds:
        if kind.study in run.findings.refused:
            yield run.findings.refused[kind.study]
