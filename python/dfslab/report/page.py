"""One self-contained HTML page: sections in order, Plotly inside, no request to anywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from dfslab import discover
from dfslab.result import Result
from dfslab.spec.scenario import Scenario
from dfslab.studies.advise import Advice
from dfslab.studies.compare import Comparison, Score
from dfslab.studies.store import write_atomically


@dataclass
class ReportInput:
    """What the sections see: results and studies, nothing else."""

    scenario: Scenario
    results: list[Result]
    comparison: Comparison | None = None
    crossval: dict[str, Score] | None = None
    trace: dict[str, Any] | None = None
    advice: list[Advice] = field(default_factory=list)

    @property
    def methods(self) -> list[str]:
        """The predicting methods, in the scenario's order."""
        return [m for m in self.scenario.run.methods if m not in ("measure", "trace")]

    def of_method(self, method: str) -> list[Result]:
        """All results of one method."""
        return [result for result in self.results if result.method == method]


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


def environment() -> Environment:
    """Templates with escaping on: nothing from a scenario or a result becomes markup."""
    folder = Path(__file__).parent / "templates"
    return Environment(
        loader=FileSystemLoader(folder), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )


def render(study: ReportInput) -> str:
    """The page as text."""
    return (
        environment()
        .get_template("page.html")
        .render(scenario=study.scenario, sections=sections(study), plotly=Markup(get_plotlyjs()))
    )


def write(study: ReportInput, path: Path) -> None:
    """The page as a file, whole or not at all."""
    write_atomically(path, render(study))
