"""Tests of gains that are withheld, because the measurements of a run contradict the model.

A withheld gain has no figure in any sentence, document or order of rows. Statements on the effect
of more clients follow the same rule in every output.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dfslab.models.tree.prediction import Situation
from dfslab.report import run_document
from dfslab.report.answers.verdict import verdict
from dfslab.result import Result
from dfslab.spec.changes.change import CLIENTS, PROCESSOR
from dfslab.spec.changes.change_language import apply, parse_changes
from dfslab.spec.scenario import Scenario
from dfslab.studies.compare import compare
from dfslab.studies.contract import Findings, FinishedRun
from dfslab.studies.decisions.decision_input import evidence_in, evidence_of
from dfslab.studies.decisions.doubts import NOTHING_HELD_OUT, measuring_s, nothing_held_out
from dfslab.studies.decisions.prices import prices_of
from dfslab.studies.decisions.recommend import recommend
from dfslab.studies.decisions.reported.advised import Advised
from dfslab.studies.decisions.trust import Contradiction, Trust, trust_in
from dfslab.studies.decisions.whatif import PairedModel, whatif
from dfslab.web.whatif_board import Board, WhatIfRequest, answer, net_answer
from support import synthetic

SCENARIOS = Path(__file__).parents[2] / "scenarios"
WITHOUT_TRUST = Trust([Contradiction("", "the model was contradicted")])
CLIENTS_WERE_OTHERWISE = Trust([Contradiction(CLIENTS, "clients were measured otherwise")])
MORE_CLIENTS = "Twice as many clients: "


def planted_run(rate_of, hold_out=({"workload.clients": 2},)):
    """Returns results of local reads, each with the rate that `rate_of` returns for its
    configuration."""
    scenario = synthetic.scenario(sizes=("1 MiB", "4 MiB"), clients=(1, 2, 4), hold_out=hold_out)
    reads = [p for p in scenario.points() if synthetic.operation(p) == "read"]
    results: list[Result] = [
        synthetic.measured(point, rate_of(point), repetition)
        for point in reads
        for repetition in range(2)
    ]
    return scenario, results


def test_advice_is_withheld_if_the_measured_scaling_contradicts_the_model():
    scenario, results = planted_run(lambda point: 100.0 / point.scenario.workload.clients)
    evidence = evidence_in(Path("run"), scenario, results)
    assert trust_in(evidence).reasons(["processor"])
    found = recommend(evidence, "rate", prices_of())
    assert found.rows == []
    assert all(row.withheld for row in found.withheld)
    assert found.settling
    assert "dfslab measure" in found.settling[0]
    (sentence,) = found.sentences()
    assert sentence.startswith("Limit and advice are withheld for all 12 configurations: ")
    assert sentence.count(found.withheld[0].withheld[0]) == 1
    # The run measured a real directory, and neither gain is stated. For more cores, no command is
    # proposed, because it would require new hardware. For more clients, a command is proposed.
    assert whatif(evidence, ["cores x2"]).settling == [
        "Only runs on the changed hardware would settle cores x2."
    ]
    (settling,) = whatif(evidence, ["clients x2"]).settling
    assert settling.startswith("Would settle clients x2: 3 runs before and after the change")
    assert '"workload.clients": [1]}, ' in settling
    assert '"workload.clients": [2]}]' in settling
    assert "by hand" not in settling


def test_nothing_of_a_withheld_gain_is_printed():
    scenario, results = planted_run(lambda point: 100.0 / point.scenario.workload.clients)
    evidence = evidence_in(Path("run"), scenario, results)
    found = whatif(evidence, ["cores x2", "clients x2"])
    texts = [*found.sentences(), *(cell.text for row in found.table().rows for cell in row[2:])]
    assert not any(re.search(r"×|% *$", one.split("Reason: ")[0]) for one in texts)
    reason = found.withheld[0].withheld[0]
    assert sum(reason in one for one in found.sentences()) == 1
    assert all(row[4].text == "withheld" for row in found.table().rows)
    advice = recommend(evidence, "rate", prices_of())
    assert advice.spared == []
    assert advice.table().rows == []


def test_json_of_a_withheld_gain_has_its_reason_and_no_figure():
    scenario, results = planted_run(lambda point: 100.0 / point.scenario.workload.clients)
    evidence = evidence_in(Path("run"), scenario, results)
    advice = recommend(evidence, "rate", prices_of()).document()
    assert advice["rows"] == []
    assert advice["withheld"]
    for row in advice["withheld"]:
        assert row["withheld"]
        assert {key for key, value in row.items() if isinstance(value, float)} == {"price"}
    found = whatif(evidence, ["clients x2", "cores x2"]).document()
    assert found["rows"] == []
    changes = dict.fromkeys(row["change"] for row in found["withheld"])
    assert list(changes) == ["clients x2", "cores x2", "clients x2 and cores x2"]
    for row in found["withheld"]:
        assert row["withheld"]
        assert not any(isinstance(value, float | dict) for value in row.values())


def test_withheld_changes_do_not_depend_on_their_gains(monkeypatch):
    """If the predicted gains are replaced by their inverses, the answer stays the same. The order
    of the rows and the proposed measurement stay the same, too."""
    scenario, results = planted_run(lambda point: 100.0 / point.scenario.workload.clients)
    evidence = evidence_in(Path("run"), scenario, results)
    changes = ["clients x2", "cores x2", "transfer size x4"]
    found = whatif(evidence, changes)
    assert found.withheld
    predicted = PairedModel.gain

    def inverse(model, point, own):
        one = predicted(model, point, own)
        rate = one.rate.model_copy(update={"gain": 1 / one.rate.gain})
        return replace(one, rate=rate, after_per_s=one.before_per_s / one.rate.gain)

    monkeypatch.setattr(PairedModel, "gain", inverse)
    assert whatif(evidence, changes) == found


def test_withheld_advice_lists_all_actions_by_name():
    """The actions with the largest gains depend on the number of clients. Withheld advice lists all
    actions, sorted by name, for any number of clients."""
    evidence = evidence_of(SCENARIOS / "nfs.toml")
    first = evidence.points[0]
    busy = apply(first.scenario, parse_changes(["clients 8"], first.scenario))
    few = replace(evidence, points=[first])
    many = replace(evidence, points=[first.model_copy(update={"scenario": busy})])
    stated = [recommend(one, "rate", prices_of()).rows for one in (few, many)]
    assert [one.change for one in stated[0]] != [one.change for one in stated[1]]
    for one in (few, many):
        found = recommend(one, "rate", prices_of(), trust=WITHOUT_TRUST)
        assert found.rows == []
        names = [row.change for row in found.withheld]
        assert names == sorted(names)
        assert {row.change for row in stated[0] if " and " not in row.change} <= set(names)


def test_gains_of_one_kind_are_withheld_and_the_others_stated():
    evidence = evidence_of(SCENARIOS / "nfs.toml")
    trust = Trust([Contradiction(PROCESSOR, "processors were measured otherwise")])
    found = recommend(evidence, "rate", prices_of(), trust=trust)
    assert found.rows
    assert not any("cores" in one.change or "clock" in one.change for one in found.rows)
    assert any("cores" in one.change for one in found.withheld)
    (note,) = [one for one in found.table().notes if one.startswith("Withheld gains: ")]
    assert "cores x2" in note
    assert note.endswith("Reason: processors were measured otherwise.")


def test_the_board_prints_nothing_of_a_withheld_gain():
    scenario, results = planted_run(lambda point: 100.0 / point.scenario.workload.clients)
    board = Board(evidence_in(Path("run"), scenario, results))
    changed = WhatIfRequest(source="run", positions={"workload.clients": 0})
    if not answer(board, changed).withheld:
        changed = WhatIfRequest(source="run", positions={"workload.clients": 1})
    found = answer(board, changed)
    assert found.withheld
    net = net_answer(board, changed)
    assert net.rate_per_s is None
    assert net.text.startswith("its rate is withheld, as that of the queueing model is: ")
    assert (found.gain, found.after, found.times, found.limit) == (None, None, [], "")


def described(point):
    """Returns the rate that the file system's description predicts for a configuration."""
    situation = Situation(point.scenario)
    return situation.predict(situation.constants).rate_per_s


def test_advice_is_given_if_the_measured_scaling_agrees():
    scenario, results = planted_run(described)
    trust = trust_in(evidence_in(Path("run"), scenario, results))
    assert not trust.reasons(["clients"])


def advised_run(scenario, results):
    """Returns a run with the given measurements and the studies that its summary needs. The run
    also has predictions of the sequence model, which equal those of the file system's
    description."""
    points = {one.point_id: one.point for one in results}.values()
    predicted = [
        synthetic.predicted(one, rate, rate / 2, rate * 2, "sequence")
        for one in points
        for rate in [described(one)]
    ]
    every = [*results, *predicted]
    named = scenario.replace({"run.methods": ["measure", "sequence"]})
    advice = recommend(evidence_in(Path("run"), named, every), "rate", prices_of())
    found = Findings.of(compare(every), Advised(advice=advice))
    return FinishedRun(named, every, found), advice


def test_summary_advice_and_board_withhold_for_the_same_reason_if_nothing_was_held_out():
    scenario, results = planted_run(described, hold_out=())
    run, advice = advised_run(scenario, results)
    evidence = evidence_in(Path("run"), scenario, results)
    changed = WhatIfRequest(source="run", positions={"workload.clients": 3})
    of_board = answer(Board(evidence), changed)
    summary = verdict(run)
    assert summary is not None
    assert summary.limit == f"What limits is withheld: {NOTHING_HELD_OUT}."
    assert advice.rows == []
    assert {one.withheld[0] for one in advice.withheld} == {NOTHING_HELD_OUT}
    assert whatif(evidence, ["clients x2"]).withheld[0].withheld == [NOTHING_HELD_OUT]
    assert of_board.withheld == [NOTHING_HELD_OUT]
    (settling,) = advice.settling
    assert settling.startswith("Would settle it: the same runs with a value held out, about ")
    assert settling.endswith("""--set 'judge.hold_out=[{"workload.clients": 2}]'""")
    assert summary.settling == settling
    # The what-if page states the folder of the run, "run", where other answers have the placeholder
    # RUN.
    assert of_board.settling == settling.replace("RUN/", "run/")


def test_summary_and_advice_withhold_for_the_same_reason_if_the_model_errs():
    """The measured rates are 0.3 times the rates of the description, but only in held-out
    configurations. Calibration does not use held-out configurations, so it cannot learn the
    factor."""

    def slow_if_held_out(point):
        return described(point) * (0.3 if point.held_out else 1.0)

    run, advice = advised_run(*planted_run(slow_if_held_out))
    summary = verdict(run)
    assert summary is not None
    reason = "the model sequence errs by 233% (median, held-out configurations)"
    assert summary.limit == f"What limits is withheld: {reason}."
    assert advice.rows == []
    assert {one.withheld[0] for one in advice.withheld} == {reason}
    assert advice.settling[0].startswith("Would settle clients x2: 3 runs before and after")
    assert summary.settling == advice.settling[0]


def test_a_capacity_that_measurements_exceed_withholds_the_limit_of_the_summary():
    run, advice = advised_run(*planted_run(described))
    summary = verdict(run)
    assert summary is not None
    assert not summary.is_withheld
    doubted = advice.model_copy(update={"doubts": ["utilisation would be 2"]})
    run.findings.add(Advised(advice=doubted))
    summary = verdict(run)
    assert summary is not None
    assert summary.limit == "What limits is withheld: utilisation would be 2."


def test_the_time_of_settling_runs_leaves_out_pauses():
    scenario = synthetic.scenario(sizes=("1 MiB",), clients=(1, 2, 4), hold_out=())
    results = []
    for number, point in enumerate(scenario.points()):
        one = synthetic.measured(point, 100.0)
        pause = timedelta(hours=8) if number > 3 else timedelta()
        started = datetime(2026, 1, 1, tzinfo=UTC) + pause + number * timedelta(seconds=30)
        origin = one.provenance.model_copy(update={"started": started.isoformat()})
        results.append(one.model_copy(update={"provenance": origin}))
    assert measuring_s(results) == 30 * len(results)


def test_one_configuration_is_to_be_run_for_three_numbers_of_clients():
    scenario, results = planted_run(described, hold_out=())
    first = [one for one in results if one.point_id == results[0].point_id]
    alone = [
        one.model_copy(update={"point": one.point.model_copy(update={"labels": {}})})
        for one in first
    ]
    settling = nothing_held_out(alone).settling
    assert settling is not None
    assert "3 numbers of clients, one of them held out" in settling.sentence()
    found = [word.partition("=") for word in shlex.split(settling.command) if "=" in word]
    proposed = {key: json.loads(value) for key, _, value in found}
    assert proposed["sweep"] == [{"workload.clients": [1, 2, 4]}]
    # The proposed runs are legal, and one of the numbers of clients is held out.
    table = scenario.model_dump(mode="json") | {"sweep": proposed["sweep"]}
    table["judge"] = {**table["judge"], "hold_out": proposed["judge.hold_out"]}
    points = Scenario.model_validate(table).points()
    assert [one.held_out for one in points] == [False, True, False]


def test_measurements_that_are_too_noisy_support_no_gain():
    """The summary of the run states that the run is inconclusive. Therefore no output states a
    gain."""
    scenario, results = planted_run(described)
    results = [
        synthetic.measured(one.point, one.value() * (1 + one.repetition), one.repetition)
        for one in results
    ]
    run = FinishedRun(scenario, results)
    summary = verdict(run)
    assert summary is not None
    assert summary.doubt.startswith("Inconclusive")
    assert run_document.of(run)["doubt"] == summary.doubt
    advice = recommend(evidence_in(Path("run"), scenario, results), "rate", prices_of())
    assert advice.rows == []
    assert advice.withheld
    assert summary.settling == advice.settling[0]
    assert "10 repetitions when `dfslab doctor` calls this machine quiet" in summary.settling
    assert all("repeats of one configuration differ" in one.withheld[0] for one in advice.withheld)


def test_sentences_and_rows_state_the_same_gain_of_more_clients():
    evidence = evidence_of(SCENARIOS / "glusterfs.toml")
    reads = [one for one in evidence.points if one.labels["workload.name"] == "sequential_read"]
    found = recommend(replace(evidence, points=reads[-2:]), "rate", prices_of())
    rows = [one for one in found.rows if one.change == "clients x2"]
    assert {one.gain.is_stated for one in rows} == {True, False}
    assert all(one.gain == one.more_clients for one in rows)
    assert not any("clients" in f"{one.limit} {one.next_limit}" for one in found.rows)
    sentences = [one for one in found.sentences() if MORE_CLIENTS in one]
    assert sentences
    judgements = {one.more_clients.judgement for one in found.rows}
    assert {one.split(MORE_CLIENTS)[1].removesuffix(".") for one in sentences} <= judgements


def test_a_withheld_gain_of_more_clients_is_withheld_in_every_sentence():
    evidence = evidence_of(SCENARIOS / "nfs.toml")
    found = recommend(evidence, "rate", prices_of(), trust=CLIENTS_WERE_OTHERWISE)
    assert found.rows
    texts = [one.split(MORE_CLIENTS)[1] for one in found.sentences() if MORE_CLIENTS in one]
    assert texts
    assert set(texts) == {"withheld (clients were measured otherwise)."}
