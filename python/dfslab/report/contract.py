"""The interface of the page's own sections, which render a run with charts.

A section is one module that declares `TITLE` and `SECTION`: in `report/sections`, in the folder of
that name in a folder of DFSLAB_PATH, or behind an entry point of the group `dfslab.sections`.
Sections of studies need no module: their results render themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup

from dfslab import discover
from dfslab.studies.contract import FinishedRun


@dataclass(frozen=True)
class PageSection:
    """One section of the page.

    `order`: position on the page, ascending. `empty`: a sentence shown when there is nothing to
    render. `render`: the body as HTML, None if the run has nothing for it.
    """

    title: str
    order: int
    empty: str
    render: Callable[[FinishedRun], Markup | None]


def page_section(name: str) -> PageSection:
    """The section of that name. DiscoveryError if its module declares none."""
    path = discover.named(discover.SECTIONS, name, "section")
    return discover.declared(path, "SECTION", PageSection)


def page_sections() -> dict[str, PageSection]:
    """Name -> section, of all that discovery finds. DiscoveryError names a broken module."""
    return {name: page_section(name) for name in discover.members(discover.SECTIONS)}
