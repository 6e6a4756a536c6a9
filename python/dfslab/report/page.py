"""Renders the report as one self-contained HTML page: an answer, and tabs with the sections.

The page makes no network requests and needs no library in the browser.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from dfslab.discover import DiscoveryError, fault
from dfslab.documents.table import Tab
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.report.charts.palette import style_sheet
from dfslab.report.contract import PageSection, page_sections
from dfslab.report.page_table import blocks
from dfslab.report.sections import traced_runs
from dfslab.spec.files.outputs import Output, write_atomically
from dfslab.spec.members.member_error import defined_at
from dfslab.spec.printable import printable
from dfslab.studies.contract import FinishedRun, StudyResult, all_studies
from dfslab.studies.runs import completeness
from dfslab.studies.runs.rerunning import with_folder

NO_BAR = Markup("")


@dataclass(frozen=True)
class Rendered:
    """A rendered section of the page. `tab` is the tab of the page that shows the section.

    `body` is the HTML of the section. If the run has nothing for the section, `body` is None and
    `empty` states why. `is_general`: as in PageSection.
    """

    name: str
    title: str
    order: int
    body: Markup | None
    empty: str
    tab: Tab = Tab.RAW
    is_general: bool = False


def sections(run: FinishedRun) -> list[Rendered]:
    """Returns all sections of the page in order: the sections with dedicated charts and the
    sections of the studies."""
    found = [_of_section(run, name, one) for name, one in page_sections().items()]
    found += [
        _of_study(run, study.result)
        for study in all_studies()
        if study.result.section_order is not None
    ]
    return sorted(found, key=lambda one: (one.order, one.name))


def _of_section(run: FinishedRun, name: str, section: PageSection) -> Rendered:
    """Renders a section with dedicated charts. If the code of a member outside this package fails,
    the page states the reason in place of the section."""
    empty, is_general = section.empty, section.is_general
    try:
        body = section.render(run)
        if body is not None and not isinstance(body, Markup):
            text = f"render returns {type(body).__name__}, must return Markup or None"
            raise DiscoveryError(f"{defined_at(section.render)}: {text}")
    except Exception as error:
        reason = str(error) if isinstance(error, DiscoveryError) else fault(error)
        if reason is None:
            raise
        # A failure is never collapsed.
        body, empty, is_general = None, f"The section failed: {reason}", True
    return Rendered(name, section.title, section.order, body, empty, section.tab, is_general)


def _of_study(run: FinishedRun, kind: type[StudyResult]) -> Rendered:
    found = run.find(kind)
    if found is None:
        return Rendered(kind.study, kind.title, kind.section_order or 0, None, kind.empty, kind.tab)
    shown = found.section(run)
    return Rendered(shown.name, shown.title, shown.order, blocks(shown), shown.empty, kind.tab)


def environment() -> jinja2.Environment:
    """Returns the Jinja environment of the page.

    The environment escapes text automatically, so text of a scenario or a result never becomes
    markup.
    """
    folder = Path(__file__).parent / "templates"
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def caption(run: FinishedRun) -> str:
    """Returns the line below the page's title: the file systems, the start time, and the
    software."""
    parts = [run.file_systems]
    if run.results:
        origins = [result.provenance for result in run.results]
        started = min((one.started for one in origins if one.started), default="")
        parts += [started[:16].replace("T", " ") + " UTC"] if started else []
        parts += [next(one.software for one in origins if one.started == started or not started)]
    return " · ".join(parts)


def render_trace(
    profile: TraceProfile, name: str, title: str, files: Sequence[Path], bar: Markup = NO_BAR
) -> str:
    """Returns the HTML of a page that shows one trace profile, without a scenario. `files`: the
    files or folders from which the trace was read, at least one. `bar`: HTML that is shown above
    the page."""
    shown = [
        Rendered(part.name, part.title, place, part.body, traced_runs.EMPTY, part.tab)
        for place, part in enumerate(traced_runs.parts(profile))
        if part.body or part.tab is Tab.ANSWER
    ]
    return page_of(name, title, _read_from(files), shown, bar=bar)


def _read_from(files: Sequence[Path]) -> str:
    """Returns the line below the title of a trace's page, which says where the trace is from."""
    others = len(files) - 1
    more = f" and {others} more file{'s' if others > 1 else ''}" if others else ""
    return f"trace read from {files[0].name}{more}"


def style() -> str:
    """Returns the style sheet of the page. Other pages of dfslab use the same style sheet."""
    template = environment().get_template("page.html")
    context = template.new_context({"colours": Markup(style_sheet())})
    return "".join(template.blocks["style"](context))


def render(run: FinishedRun, bar: Markup = NO_BAR) -> str:
    """Returns the HTML of the page of a run. `bar`: HTML that is shown above the page."""
    stated = [] if run.unfinished is None else [f"{run.unfinished.sentence}."]
    warning = " ".join(filter(None, [*stated, completeness.warning(run.results)]))
    shown = [replace(one, body=_with_folder(run, one.body)) for one in sections(run)]
    return page_of(run.scenario.name, run.scenario.title, caption(run), shown, warning, bar)


def _with_folder(run: FinishedRun, body: Markup | None) -> Markup | None:
    """Returns the HTML of a section, whose commands name the run's folder if the run has one. None
    if the section has no HTML."""
    if run.folder == Path():
        return body
    return None if body is None else Markup(with_folder(run.folder, [body], escape)[0])


def page_of(
    name: str,
    title: str,
    words: str,
    shown: list[Rendered],
    warning: str = "",
    bar: Markup = NO_BAR,
) -> str:
    """Returns the HTML of a page with the sections `shown`.

    `title`: the question that the page answers. `words`: the line below the title. `warning`: a
    sentence that is shown above everything else; "" for none. `bar`: HTML above the page, such as
    the links of `dfslab serve`.
    """
    full = [one for one in shown if one.body]
    parts = [(tab, [one for one in full if one.tab is tab]) for tab in Tab]
    page = (
        environment()
        .get_template("page.html")
        .render(
            name=name,
            title=title,
            caption=words,
            warning=warning,
            bar=bar,
            first=dict(parts)[Tab.ANSWER],
            parts=[(tab, own) for tab, own in parts if own and tab is not Tab.ANSWER],
            missing=[one for one in shown if not one.body and one.is_general],
            special=[one for one in shown if not one.body and not one.is_general],
            colours=Markup(style_sheet()),
        )
    )
    return printable(page)


def write(run: FinishedRun, output: Output | None = None) -> None:
    """Writes the page of a run. `output`: a file that the user named; None to write the page into
    the run's folder."""
    page = render(run)
    if output is None:
        write_atomically(run.page, page)
    else:
        output.write(page)
