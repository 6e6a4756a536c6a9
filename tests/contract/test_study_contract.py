"""Tests of the requirements that every discovered study meets: declared needs, a typed result,
tables and a section of the page."""

from __future__ import annotations

import json
import re
import sys

import pytest
from dfslab import discover
from dfslab.documents.table import Paragraph, Section, Table
from dfslab.exports.formats import tables as csv_tables
from dfslab.models import baseline, sequence
from dfslab.report import run_document
from dfslab.report.page_table import blocks, contents
from dfslab.report.terminal import drawn
from dfslab.studies import contract
from dfslab.studies.contract import Findings, FinishedRun, Needs, Study, StudyResult
from support import synthetic

NAMES = list(discover.studies())


@pytest.fixture(scope="module")
def run():
    """Returns a run with measurements and two models, to which every study has been applied in the
    order of their needs."""
    results = synthetic.planted(noise=0.05, sizes=synthetic.SIZES, clients=(1,))
    scenario = synthetic.scenario(clients=(1,), methods=["measure", "sequence", "mean"])
    fitted = [result for result in results if not result.point.held_out]
    points = {result.point_id: result.point for result in results}.values()
    for model in (sequence.make("sequence"), baseline.make("mean")):
        model.fit(fitted)
        results += [model.run(point) for point in points]
    made = FinishedRun(scenario, results)
    for study in contract.all_studies():
        if study.needs.are_met(made) and (found := study.run(made, lambda *_: None)) is not None:
            made.findings.add(found)
    return made


def test_every_study_is_there():
    assert set(NAMES) >= {"comparison", "crossval", "advice", "operations", "learning", "io500"}
    assert [one.name for one in contract.all_studies()] != NAMES, "they have an order of their own"


@pytest.mark.parametrize("name", NAMES)
def test_a_study_is_what_its_name_says(name):
    study = contract.find(name)
    assert isinstance(study, Study)
    assert study.name == study.result.study == name
    assert issubclass(study.result, StudyResult)
    assert isinstance(study.needs, Needs)
    if study.result.section_order is not None:
        assert study.result.title
        assert study.result.empty.endswith(".")


STUDY = '''"""A study with a section of the page."""

from dfslab.studies.contract import Study, StudyResult

NAMES = ("own",)


class Own(StudyResult):
    """An empty result."""

    study = "own"
    title = "Own"
    empty = "Nothing."


class OwnStudy(Study[Own]):
    """Finds nothing."""

    name, result = "own", Own

    def run(self, run, progress):
        """Returns no result."""


def make(name):
    """Returns the study."""
    return OwnStudy()
'''


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('    title = "Own"\n    empty = "Nothing."\n', "", ""),
        ("    title =", "    section_order = 3\n    title =", ""),
        ("", "", "Own states title, empty of a section of the page, but no section_order"),
        ('NAMES = ("own",)\n', "", "own.py: lacks NAMES, the names of what it makes"),
    ],
)
def test_no_declaration_of_a_study_is_ignored(tmp_path, monkeypatch, before, after, message):
    """If a study states the title of a section, it must state the section's position, too. A file
    that makes studies by a function `make` must state the studies' names."""
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "own.py").write_text(STUDY.replace(before, after, 1))
    monkeypatch.setenv("DFSLAB_PATH", str(tmp_path))
    monkeypatch.delitem(sys.modules, "dfslab.studies.own", raising=False)
    try:
        if message:
            with pytest.raises(discover.DiscoveryError, match=re.escape(message)):
                contract.find("own")
        else:
            assert contract.find("own").name == "own"
    finally:
        sys.modules.pop("dfslab.studies.own", None)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_without_results_is_borne(name):
    study, nothing = contract.find(name), FinishedRun(synthetic.scenario(), [])
    if study.needs != Needs():
        assert not study.needs.are_met(nothing)
        return
    assert study.run(nothing, lambda *_: None) is None


@pytest.mark.parametrize("name", ["comparison", "operations", "functions", "expectations"])
def test_what_a_study_finds_is_stored_and_read_back_alike(run, name):
    kind = contract.find(name).result
    found = run.find(kind)
    assert found is not None
    text = json.dumps(found.model_dump(mode="json"))
    again = kind.model_validate(json.loads(text))
    assert again == found
    assert [one.rows for one in again.tables(run)] == [one.rows for one in found.tables(run)]


def test_every_table_is_drawn_by_every_renderer(run):
    tables = run_document.every_table(run)
    assert len(tables) >= 5
    for table in tables:
        assert isinstance(table, Table)
        assert table.title
        assert drawn(table).row_count == len(table.rows)
        page = contents(table)
        assert page.count("<tr") == len(table.rows) + 1
        lines = csv_tables.tables_as_csv([table]).decode().splitlines()
        assert lines[0].strip('"') == f"# {table.title}"
        for cell in (cell for row in table.rows for cell in row):
            assert not re.search(r"<td|\[bold", cell.text)


def test_every_section_has_its_blocks_or_says_why_not(run):
    for found in run.findings.found.values():
        if found.section_order is None:
            continue
        section = found.section(run)
        assert isinstance(section, Section)
        assert section.empty.endswith(".")
        assert all(isinstance(one, Table | Paragraph) for one in section.blocks)
        assert (blocks(section) is None) == (not section.blocks)


def test_keys_of_the_document_are_each_of_one_study(run):
    keys = [key for one in run.findings.found.values() for key in one.document(run)]
    assert len(keys) == len(set(keys))
    json.dumps(run_document.of(run), allow_nan=False)


def test_cells_are_escaped_by_the_page_and_by_the_terminal():
    from dfslab.documents.table import heads, words

    table = Table("<b>", heads("[red]x"), [[words("<script>[bold]y")]])
    assert "<script>" not in contents(table)
    assert "<b>" not in contents(table)
    column = drawn(table).columns[0]
    assert "\\[bold]" in str(next(iter(column.cells)))


EARLY = '''"""A study that runs before the study whose result it needs."""
from dfslab.studies import contract

NAMES = ("late",)


class Late(contract.StudyResult):
    study = "late"


class Early(contract.Study[Late]):
    name, result, order = "late", Late, 1
    needs = contract.Needs(studies=(contract.find("learning").result,))

    def run(self, run, progress):
        return None


def make(name):
    return Early()
'''


def test_a_study_that_runs_before_what_it_needs_is_refused(tmp_path, monkeypatch):
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "early.py").write_text(EARLY)
    monkeypatch.setenv("DFSLAB_PATH", str(tmp_path))
    with pytest.raises(discover.DiscoveryError, match="late needs learning"):
        contract.all_studies()


def test_findings_are_found_by_their_class(run):
    kind = contract.find("comparison").result
    assert run.find(kind) is run.findings.found["comparison"]
    assert Findings().get(kind) is None
