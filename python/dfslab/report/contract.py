"""The interface of page sections with dedicated charts. The page is the HTML report of a run.

Such a section is a module that declares `TITLE` and `SECTION`. The module may be in one of three
places: `report/sections` of this package, `report/sections` of a folder in DFSLAB_PATH, or an
installed package. An installed package names the module as an entry point of the group
`dfslab.sections`.

The result of a study (an analysis of a run) needs no section module, because the page shows its
tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup

from dfslab import discover
from dfslab.documents.table import Tab
from dfslab.studies.contract import FinishedRun


@dataclass(frozen=True)
class PageSection:
    """One section of the page.

    `order`: sort key on the page, ascending; sections with equal keys are sorted by name. `empty`:
    sentence that is shown if the run has nothing for this section. `render`: function that returns
    the body as HTML, or None if the run has nothing for this section. `tab`: the tab of the page
    that shows the section. `is_general`: whether readers expect the section of every run. If the
    run has nothing for a section that is not general, the page collapses the sentence `empty`.
    """

    title: str
    order: int
    empty: str
    render: Callable[[FinishedRun], Markup | None]
    tab: Tab = Tab.RAW
    is_general: bool = False


def page_section(name: str) -> PageSection:
    """Returns the section `name` of the report page. Raises DiscoveryError if the module of this
    name declares no section."""
    path = discover.named(discover.SECTIONS, name, "section")
    return discover.declared(path, "SECTION", PageSection)


def page_sections() -> dict[str, PageSection]:
    """Returns all sections of the report page, by name.

    Raises DiscoveryError, which names the module, if a module declares no section.
    """
    return {name: page_section(name) for name in discover.members(discover.SECTIONS)}
