"""Renders the pages of a run and of a comparison, without writing anything to the run's folder."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from markupsafe import Markup

from dfslab.laboratory import Laboratory
from dfslab.report import comparison_page, page
from dfslab.spec.scenario import read
from dfslab.studies.contract import FinishedRun
from dfslab.studies.decisions.comparing.paired_runs import compare_runs
from dfslab.studies.runs import findings, store, stored
from dfslab.web.catalog import SCENARIO

PAGES_KEPT = 8


def run_page(folder: Path, bar: Markup) -> str:
    """Returns the HTML of the page of a run. `bar`: links to the other pages of the run."""
    return _run_page(folder, stored.inputs_hash(folder), bar)


@lru_cache(maxsize=PAGES_KEPT)
def _run_page(folder: Path, inputs: str, bar: Markup) -> str:
    """Returns the HTML of the page of a run. `inputs`: hash of everything on which the findings
    depend. It is part of the cache key, so a page is rendered again only if this hash has changed.
    """
    known, _ = findings.load(folder, inputs)
    run = FinishedRun(read(folder / SCENARIO), findings=known, folder=folder)
    if known is None:
        Laboratory().weigh(run)
    return page.render(run, bar)


def comparison(before: Path, after: Path, names: tuple[str, str], bar: Markup) -> str:
    """Returns the HTML of the page that compares two runs. `names`: the names of the runs on the
    page."""
    found = compare_runs(store.results_of(before), store.results_of(after), names, [])
    return comparison_page.render(found, bar)
