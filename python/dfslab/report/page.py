"""One self-contained HTML page: sections in order, Plotly inside, no request to anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from dfslab import discover
from dfslab.report.plot import INK
from dfslab.report.table import labels_text
from dfslab.result import Result
from dfslab.spec.scenario import Scenario
from dfslab.studies.advice import Advice
from dfslab.studies.bottlenecks import Bottlenecks
from dfslab.studies.compare import Comparison, Score
from dfslab.studies.expectations import Verdict
from dfslab.studies.operations import Operations
from dfslab.studies.server_law import ServerLaw
from dfslab.studies.store import write_atomically

if TYPE_CHECKING:
    # Statistics take seconds to import, and most pages have none.
    from dfslab.studies.lessons import Learning

Name = Callable[[Mapping[str, Any]], str]


@dataclass
class ReportInput:
    """What the sections see: results and studies, nothing else."""

    scenario: Scenario
    results: list[Result]
    comparison: Comparison | None = None
    crossval: dict[str, Score] | None = None
    trace: dict[str, Any] | None = None
    advice: list[Advice] = field(default_factory=list)
    learning: Learning | None = None
    operations: Operations | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    server_law: ServerLaw | None = None
    bottlenecks: Sequence[Bottlenecks] = ()

    @property
    def methods(self) -> list[str]:
        """The predicting methods, in the scenario's order."""
        return [m for m in self.scenario.run.methods if m not in ("measure", "trace")]

    def of_method(self, method: str) -> list[Result]:
        """All results of one method."""
        return [result for result in self.results if result.method == method]

    def name(self, labels: Mapping[str, Any]) -> str:
        """A configuration's varied keys, short: what is the same everywhere is left out."""
        shown = {key: value for key, value in labels.items() if key not in self._same_everywhere}
        return labels_text(shown or labels) or "the only configuration"

    @cached_property
    def _same_everywhere(self) -> frozenset[str]:
        """Keys with one value only, unless a configuration could not be told without them."""
        points = {result.point_id: result.labels for result in self.results}
        values: dict[str, set[str]] = {}
        for labels in points.values():
            for key, value in labels.items():
                values.setdefault(key, set()).add(str(value))
        same = frozenset(key for key, found in values.items() if len(found) == 1)
        names = {
            str([(key, value) for key, value in labels.items() if key not in same])
            for labels in points.values()
        }
        return same if len(names) == len(points) else frozenset()


@dataclass(frozen=True)
class Section:
    """A rendered section; `body` is None when it has nothing to show, and `empty` says why."""

    name: str
    title: str
    body: Markup | None
    empty: str


def sections(study: ReportInput) -> list[Section]:
    """Every section that discovery finds, in its own order."""
    modules = [
        (name, discover.load(path)) for name, path in discover.members("report/sections").items()
    ]
    modules.sort(key=lambda pair: pair[1].ORDER)
    return [
        Section(name, module.TITLE, module.render(study), module.EMPTY) for name, module in modules
    ]


def environment() -> jinja2.Environment:
    """Templates with escaping on: nothing from a scenario or a result becomes markup."""
    folder = Path(__file__).parent / "templates"
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def caption(study: ReportInput) -> str:
    """One line under the title: what it is about, when it began, by what it was made."""
    parts = [study.scenario.file_system.name]
    if study.results:
        first = min((result.provenance for result in study.results), key=lambda p: p.started)
        parts += [first.started[:16].replace("T", " ") + " UTC", first.software]
    return " · ".join(parts)


def render_trace(profile: Mapping[str, Any], name: str, title: str) -> str:
    """A page of traces alone, without a scenario."""
    module = discover.load(discover.members("report/sections")["trace"])
    section = Section("trace", module.TITLE, module.body(profile), module.EMPTY)
    return _page({"name": name, "title": title}, "traced by dfslab", [section])


def render(study: ReportInput) -> str:
    """The page as text."""
    return _page(study.scenario, caption(study), sections(study))


def _page(scenario: Any, words: str, shown: list[Section]) -> str:
    from plotly.offline import get_plotlyjs  # only a page that is written waits for it

    template = environment().get_template("page.html")
    return template.render(
        scenario=scenario, caption=words, sections=shown, plotly=Markup(get_plotlyjs()), ink=INK
    )


def write(study: ReportInput, path: Path) -> None:
    """The page as a file, whole or not at all."""
    write_atomically(path, render(study))
