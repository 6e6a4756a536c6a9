"""Renders the report as one self-contained HTML page, which includes Plotly and makes no network
requests."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup

from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.report.contract import page_sections
from dfslab.report.page_table import blocks
from dfslab.report.plot import INK
from dfslab.report.sections import trace
from dfslab.spec.files.outputs import Output, write_atomically
from dfslab.spec.printable import printable
from dfslab.studies.contract import FinishedRun, StudyResult, all_studies
from dfslab.studies.runs import completeness


@dataclass(frozen=True)
class Rendered:
    """A rendered section of the page.

    If the run has nothing for the section, `body` is None and `empty` states why.
    """

    name: str
    title: str
    order: int
    body: Markup | None
    empty: str


def sections(run: FinishedRun) -> list[Rendered]:
    """All sections of the page in order: the sections with dedicated charts, and the sections of
    the studies."""
    found = [
        Rendered(name, one.title, one.order, one.render(run), one.empty)
        for name, one in page_sections().items()
    ]
    found += [
        _of_study(run, study.result)
        for study in all_studies()
        if study.result.section_order is not None
    ]
    return sorted(found, key=lambda one: one.order)


def _of_study(run: FinishedRun, kind: type[StudyResult]) -> Rendered:
    found = run.find(kind)
    if found is None:
        return Rendered(kind.study, kind.title, kind.section_order or 0, None, kind.empty)
    shown = found.section(run)
    return Rendered(shown.name, shown.title, shown.order, blocks(shown), shown.empty)


def environment() -> jinja2.Environment:
    """The Jinja environment of the page.

    It escapes automatically, so text of a scenario or a result never becomes markup.
    """
    folder = Path(__file__).parent / "templates"
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def caption(run: FinishedRun) -> str:
    """The line below the page's title: subject, start time, software."""
    parts = [run.file_systems]
    if run.results:
        first = min((result.provenance for result in run.results), key=lambda p: p.started)
        parts += [first.started[:16].replace("T", " ") + " UTC", first.software]
    return " · ".join(parts)


def render_trace(profile: TraceProfile, name: str, title: str) -> str:
    """HTML of a page that shows one trace profile, without a scenario."""
    one = trace.SECTION
    section = Rendered("trace", one.title, one.order, trace.body(profile), one.empty)
    return _page(name, title, "traced by dfslab", [section])


def render(run: FinishedRun) -> str:
    """HTML of the page of a run."""
    warning = completeness.warning(run.results)
    return _page(run.scenario.name, run.scenario.title, caption(run), sections(run), warning)


def _page(name: str, title: str, words: str, shown: list[Rendered], warning: str = "") -> str:
    from plotly.offline import get_plotlyjs  # imported here, because importing Plotly is slow

    template = environment().get_template("page.html")
    # Control characters are removed from everything except the library's own text.
    library = uuid.uuid4().hex
    page = template.render(
        name=name,
        title=title,
        caption=words,
        warning=warning,
        sections=shown,
        plotly=library,
        ink=INK,
    )
    return printable(page).replace(library, get_plotlyjs())


def write(run: FinishedRun, output: Output | None = None) -> None:
    """Writes the page of a run to a file that the user names, or to the run's folder."""
    page = render(run)
    if output is None:
        write_atomically(run.page, page)
    else:
        output.write(page)
