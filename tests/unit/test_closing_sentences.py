"""Tests of the last sentence of a run's output. This sentence names the change with the largest
predicted gain. The terminal, the JSON document and the page have the same sentence. Changes whose
gain was not computed are not named."""

from __future__ import annotations

from pathlib import Path

import pytest
from dfslab.documents.table import Paragraph
from dfslab.report import run_document
from dfslab.report.answers.changes import WITHHELD_BY_NOISE, closing
from dfslab.report.answers.first_screen import first_screen
from dfslab.report.answers.predicted_answer import closing_of_predictions
from dfslab.studies.contract import Findings, FinishedRun
from dfslab.studies.decisions.decision_input import evidence_in, evidence_of_description
from dfslab.studies.decisions.prices import prices_of
from dfslab.studies.decisions.recommend import recommend
from dfslab.studies.decisions.reported.advised import Advised
from dfslab.studies.decisions.trust import trust_in
from support import synthetic


def not_computed(source: str) -> str:
    return f"What a change would gain was not computed; `dfslab advise {source}` computes it."


def predicted_run(*, is_advised: bool) -> FinishedRun:
    """Returns a run with artificial predictions. If `is_advised` is true, the run also has advice,
    which is computed from the description of the deployment."""
    scenario = synthetic.scenario(methods=["sequence"])
    results = [
        synthetic.predicted(one, 100.0, 80.0, 120.0, "sequence") for one in scenario.points()
    ]
    findings = Findings()
    if is_advised:
        advice = recommend(
            evidence_of_description(scenario, Path("planted.toml")), "rate", prices_of()
        )
        findings.add(Advised(advice=advice))
    return FinishedRun(scenario, results, findings)


def test_the_last_sentence_is_the_first_change_of_the_page():
    run = predicted_run(is_advised=True)
    found = first_screen(run)
    assert found is not None
    assert found.changes
    assert closing(run) == [*found.answer.sentences, f"Change: {found.changes[0]}"]


def test_without_advice_the_command_is_named_and_no_gain():
    sentences = closing(predicted_run(is_advised=False))
    assert sentences[-1] == not_computed("RUN")
    assert not any(one.startswith("Change:") for one in sentences)


def test_results_of_a_table_name_no_command_that_needs_a_run(tmp_path):
    table = tmp_path / "table.csv"
    table.touch()
    folder = predicted_run(is_advised=False)
    run = FinishedRun(folder.scenario, folder.results, Findings(), table)
    assert closing(run)
    assert not any("advise" in one for one in closing(run))
    found, of_folder = first_screen(run), first_screen(folder)
    assert found is not None
    assert of_folder is not None
    assert not any("advise" in one.command for one in found.unknown)
    assert any("advise" in one.command for one in of_folder.unknown)


def test_advice_of_noisy_measurements_is_withheld():
    scenario = synthetic.scenario(methods=["measure", "sequence"])
    advised = predicted_run(is_advised=True).findings
    run = FinishedRun(scenario, synthetic.planted(noise=0.8, repetitions=4), advised)
    assert closing(run)[-1] == f"Change: {WITHHELD_BY_NOISE}"
    without = FinishedRun(scenario, synthetic.planted(noise=0.8, repetitions=4), Findings())
    assert closing(without)[-1].endswith("was not computed, for the same reason.")


@pytest.mark.parametrize("hold_out", [(), ({"workload.file_size": "1 MiB"},)])
def test_the_command_is_named_only_if_it_would_answer(hold_out, tmp_path):
    """`dfslab advise` withholds all gains of a run that held no configuration out. The last
    sentence then names the command that holds one out."""
    results = synthetic.planted(hold_out=hold_out)
    run = FinishedRun(results[0].point.scenario, results, Findings())
    first = first_screen(run)
    assert first is not None
    (asked,) = [one for one in first.unknown if "change would gain" in one.text]
    if hold_out:
        assert closing(run)[-1] == not_computed("RUN")
        assert "advise" in asked.command
        return
    (last,) = [one for one in closing(run) if "change would gain" in one]
    assert "`dfslab advise" not in last
    assert "no configuration was held out, so no model was put to the test" in last
    assert "Would settle what a change would gain: the same runs with a value held out" in last
    assert "--set 'judge.hold_out=" in last
    assert "judge.hold_out=" in asked.command
    evidence = evidence_in(tmp_path, run.scenario, results)
    assert trust_in(evidence).reasons([]), "advise withholds"


@pytest.mark.parametrize("is_advised", [True, False])
def test_terminal_and_json_document_end_with_the_same_sentences(is_advised: bool):
    run = predicted_run(is_advised=is_advised)
    sentences = closing(run)
    assert run_document.of(run)["answer"] == sentences
    printed = run_document.tables(run)[-len(sentences) :]
    assert [one.text for one in printed if isinstance(one, Paragraph)] == sentences


def test_predictions_name_the_command_with_a_scenario():
    results = predicted_run(is_advised=False).results
    assert closing_of_predictions(results, "hdfs")[-1] == not_computed("hdfs")
    assert closing_of_predictions([], "hdfs") == []
