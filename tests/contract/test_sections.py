"""Tests of the requirements that every discovered section of the page meets. A section has a
position, a title and other texts, and a body."""

from __future__ import annotations

import pytest
from dfslab import discover
from dfslab.report import page
from dfslab.report.contract import PageSection, page_section, page_sections
from dfslab.studies.contract import FinishedRun, all_studies
from markupsafe import Markup
from support import synthetic

NAMES = list(discover.members(discover.SECTIONS))


@pytest.mark.parametrize("name", NAMES)
def test_a_section_says_what_it_is(name):
    section = page_section(name)
    assert isinstance(section, PageSection)
    assert section.title == discover.title(discover.members(discover.SECTIONS)[name])
    assert section.empty.endswith(".")


def test_no_two_sections_have_one_place():
    orders = [one.order for one in page_sections().values()]
    orders += [
        one.result.section_order for one in all_studies() if one.result.section_order is not None
    ]
    assert len(orders) == len(set(orders))


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
