"""Renders the pages of a run and of a comparison, without writing anything to the run's folder."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from markupsafe import Markup

from dfslab.laboratory import Laboratory
from dfslab.report import comparison_page, page
from dfslab.studies.decisions.comparing.paired_runs import compare_folders
from dfslab.studies.runs import findings, progress_kept, stored
from dfslab.studies.runs.records.stored_results import COMPLETE

PAGES_KEPT = 8


def run_page(folder: Path, bar: Markup) -> str:
    """Returns the HTML of the page of a run. `bar`: links to the other pages of the run."""
    is_complete = (folder / COMPLETE).exists()
    return _run_page(folder, stored.inputs_hash(folder), is_complete, bar)


@lru_cache(maxsize=PAGES_KEPT)
def _run_page(folder: Path, inputs: str, is_complete: bool, bar: Markup) -> str:
    """Returns the HTML of the page of a run. `inputs`: hash of everything on which the findings
    depend. `is_complete`: whether the run has ended. `inputs` and `is_complete` are parts of the
    cache key, so a page is rendered again only if one of them has changed."""
    known, _ = findings.load(folder, inputs)
    run = progress_kept.reopened(folder, known)
    if known is None:
        Laboratory().weigh(run)
    return page.render(run, bar)


def comparison(before: Path, after: Path, names: tuple[str, str], bar: Markup) -> str:
    """Returns the HTML of the page that compares two runs. `names`: the names of the runs on the
    page."""
    return comparison_page.render(compare_folders(before, after, names), bar)
