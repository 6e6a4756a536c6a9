"""Tests of the requirements that every discovered section of the page meets. A section has a
position, a title and other texts, and a body."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from dfslab import discover
from dfslab.report import page
from dfslab.report.contract import PageSection, page_section, page_sections
from dfslab.studies.contract import FinishedRun
from markupsafe import Markup
from support import synthetic

NAMES = list(discover.members(discover.SECTIONS))
BROKEN = '''"""A section that fails."""

from dfslab.report.contract import PageSection

TITLE = "Broken"


def render(run):
    return {}["missing"]


SECTION = PageSection(TITLE, 3, "Nothing.", render)
'''


@pytest.mark.parametrize("name", NAMES)
def test_a_section_says_what_it_is(name):
    section = page_section(name)
    assert isinstance(section, PageSection)
    assert section.title == discover.title(discover.members(discover.SECTIONS)[name])
    assert section.empty.endswith(".")


def test_sections_with_equal_orders_are_sorted_by_name(monkeypatch):
    first = page_section(NAMES[0])
    twins = {name: replace(first, order=-1) for name in ("twin_b", "twin_a")}
    monkeypatch.setattr(page, "page_sections", lambda: page_sections() | twins)
    found = page.sections(FinishedRun(synthetic.scenario(), []))
    assert [one.name for one in found[:2]] == ["twin_a", "twin_b"]


def test_a_section_outside_the_package_that_fails_is_stated_on_the_page(tmp_path, monkeypatch):
    """The page is written without the section, and states the file, the line and the reason."""
    path = tmp_path / "report" / "sections" / "broken.py"
    path.parent.mkdir(parents=True)
    path.write_text(BROKEN)
    monkeypatch.setenv("DFSLAB_PATH", str(tmp_path))
    try:
        found = page.sections(FinishedRun(synthetic.scenario(), []))
    finally:
        sys.modules.pop("dfslab.report.sections.broken", None)
    (broken,) = [one for one in found if one.name == "broken"]
    assert broken.body is None
    assert broken.empty == f"The section failed: {path}:9: KeyError: 'missing'"


@pytest.mark.parametrize("name", NAMES)
def test_a_run_without_results_has_nothing_to_render(name):
    assert page_section(name).render(FinishedRun(synthetic.scenario(), [])) is None


@pytest.mark.parametrize("name", ["throughput", "provenance"])
def test_what_is_rendered_is_markup_and_escaped(name):
    results = synthetic.planted(sizes=["1 MiB", "4 MiB"], clients=(1,), hold_out=())
    body = page_section(name).render(FinishedRun(synthetic.scenario(), results))
    assert isinstance(body, Markup)
    assert "<script>alert" not in body


def test_the_page_has_every_section():
    found = page.sections(FinishedRun(synthetic.scenario(), []))
    assert {one.name for one in found} >= set(NAMES)
    assert [one.order for one in found] == sorted(one.order for one in found)
