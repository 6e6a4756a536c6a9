"""A section of the page that states the number of measured runs."""

from __future__ import annotations

from dfslab.report.contract import PageSection
from dfslab.report.page_table import note
from dfslab.studies.contract import FinishedRun
from markupsafe import Markup

TITLE = "Number of runs"


def render(run: FinishedRun) -> Markup | None:
    """Returns one sentence with the number of runs as HTML, or None if nothing was measured."""
    count = len(run.of_method("measure"))
    return note(f"{count} <runs> were measured.") if count else None


SECTION = PageSection(TITLE, 11, "Nothing was measured.", render)
