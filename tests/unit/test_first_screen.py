"""Tests of the first screen of a run's HTML page. The page has exactly the answers that the
terminal prints. For an unknown figure, the page names the command that would compute or measure the
figure."""

from __future__ import annotations

from pathlib import Path

import pytest
from dfslab.documents import metrics
from dfslab.documents.table import labels_text, percent_text
from dfslab.report.answers import changes
from dfslab.report.answers.first_screen import first_screen
from dfslab.report.answers.verdict import verdict
from dfslab.report.sections import summary
from dfslab.result import Metric
from dfslab.spec.scenario import Scenario
from dfslab.studies.checks.noise import noise_of, noise_table, of_repetitions
from dfslab.studies.compare import compare
from dfslab.studies.contract import FinishedRun
from support import synthetic
from support.command import dfslab


def run_of(noise: float, repetitions: int = 4) -> FinishedRun:
    """Returns a run with artificial measurements. `noise` is the standard deviation of ln(rate)
    over the repetitions."""
    scenario: Scenario = synthetic.scenario()
    return FinishedRun(scenario, synthetic.planted(noise=noise, repetitions=repetitions))


def test_the_sentences_are_those_of_the_terminal():
    run = run_of(0.02)
    found = first_screen(run)
    assert found is not None
    assert found.answer == verdict(run)
    body = str(summary.render(run)).replace("&#39;", "'")
    assert all(one in body for one in found.answer.sentences)


def test_noise_withholds_limit_and_change_and_names_the_command():
    found = first_screen(run_of(0.8))
    assert found is not None
    assert found.answer.is_withheld
    assert found.changes in ([], [changes.WITHHELD_BY_NOISE])
    assert summary.LIMIT_UNKNOWN in str(summary.render(run_of(0.8)))
    assert any("run.repetitions=10" in one.command for one in found.unknown)
    quiet = first_screen(run_of(0.02))
    assert quiet is not None
    assert not any("run.repetitions" in one.command for one in quiet.unknown)


def test_without_repetitions_the_noise_is_not_known():
    found = first_screen(run_of(0.0, repetitions=1))
    assert found is not None
    assert any("noise between runs is not known" in one.text for one in found.unknown)


def test_a_prediction_says_that_nothing_was_measured():
    points = synthetic.scenario().points()
    results = [synthetic.predicted(one, 100.0, 80.0, 120.0, "sequence") for one in points]
    found = first_screen(FinishedRun(synthetic.scenario(), results))
    assert found is not None
    assert not found.is_measured
    assert any("Nothing was measured" in one.text for one in found.unknown)


def test_no_rate_is_no_answer():
    assert first_screen(FinishedRun(synthetic.scenario(), [])) is None
    assert summary.render(FinishedRun(synthetic.scenario(), [])) is None


def test_the_noise_that_configurations_share_is_printed_once():
    results = synthetic.planted(noise=0.1, repetitions=3)
    floors = of_repetitions(results)
    table = noise_table(floors)
    assert len(floors) > 1
    assert len(table.rows) == 1
    assert table.rows[0][0].text == f"each of {len(floors)} configurations"


def test_a_page_of_a_comparison_needs_two_runs(tmp_path: Path):
    answer = dfslab("compare", tmp_path, "--page", tmp_path / "page.html")
    assert answer.returncode == 2
    assert "--page" in answer.stderr
    assert "needs two runs" in answer.stderr


def disagreeing() -> FinishedRun:
    """Returns a run in which the repetitions of one configuration differ by a factor of nine, and
    the repetitions of every other configuration hardly differ."""
    results = synthetic.planted(noise=0.02)
    first = results[0]
    outlier = synthetic.measured(first.point, 9 * first.value(), 1)
    return FinishedRun(synthetic.scenario(), [first, outlier, *results[2:]])


def test_repetitions_that_disagree_in_one_configuration_make_a_run_inconclusive():
    run = disagreeing()
    answer = verdict(run)
    assert answer is not None
    assert answer.is_withheld
    assert answer.sentences[0].startswith("Inconclusive: ")
    assert labels_text(run.results[0].labels) in answer.sentences[0]
    assert answer.sentences[0] in str(summary.render(run)).replace("&#39;", "'")


def test_every_study_states_the_same_noise():
    run = disagreeing()
    noise = noise_of(run.results)
    assert noise is not None
    assert {one.noise for one in of_repetitions(run.results)} == {noise}
    assert compare(run.results).noise == noise
    assert percent_text(noise) in str(summary.render(run))
    assert noise_table(of_repetitions(run.results)).rows[0][2].value == noise


@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_a_measured_rate_of_the_page_cache_is_marked_in_the_first_sentence(cache: str):
    base = synthetic.scenario(sizes=synthetic.SIZES[:1], clients=(1,), hold_out=())
    changed = base.with_overrides({"workload.cache": cache})
    moved = {metrics.THROUGHPUT: Metric(value=1e6)}
    measured = [synthetic.measured(point, 100.0, 0) for point in changed.points()]
    results = [one.model_copy(update={"metrics": one.metrics | moved}) for one in measured]
    answer = verdict(FinishedRun(changed, results))
    assert answer is not None
    assert ("page cache" in answer.observed) == (cache == "warm")
