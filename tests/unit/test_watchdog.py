"""Tests of runs whose target stops answering. Such a run ends, reports the operations that its
clients completed before the target stopped, and names the calls that were not answered."""

import json
import threading

import pytest
from dfslab import _core
from dfslab.fleet import run
from dfslab.fleet.client_hosts import HERE, ClientHost
from dfslab.fleet.shards import unanswered
from dfslab.spec.streams.plan import LoadPlan, PeriodicStall, PlanLayer
from support.clusters import plan

# The target answers for one second, and then does not answer for an hour. The time limits of the
# runs are far shorter than this hour.
ANSWERS_S, SILENT_S = 1.0, 3600.0
LIMIT_S, GRACE_S = 2.0, 1.0


def silent(tmp_path, clients: int, **changes) -> LoadPlan:
    """Returns a plan that never ends, on a target that stops answering."""
    stall = PeriodicStall(length_s=SILENT_S - ANSWERS_S, period_s=SILENT_S)
    wanted = plan(tmp_path, clients, 10**7, think_time_s=0.002)
    given = {"time_limit_s": LIMIT_S, "grace_s": GRACE_S, "layers": [PlanLayer(stall=stall)]}
    return wanted.model_copy(update={**given, **changes})


def test_a_silent_target_is_given_up_with_what_was_done_before(tmp_path):
    report = run.run_load(silent(tmp_path, 2), (HERE,)).report
    assert not report.complete
    done = sum(one.count for one in report.operations.values())
    assert done > 10, "the operations before the silence are reported"
    assert sum(one.count for one in report.per_client) == done
    assert 0 < report.window_s <= ANSWERS_S + 0.5
    texts = [one.first for one in report.errors if one.operation == "no_answer/wait"]
    assert len(texts) == 1
    assert "client 0 has been in" in texts[0]
    assert "; client 1 has been in" in texts[0]
    assert unanswered(report) == texts[0]
    assert any("files may be left" in one.first for one in report.errors)


def test_an_agent_gives_up_as_well(tmp_path):
    places = (ClientHost("a"), ClientHost("b"))
    report = run.run_load(silent(tmp_path, 2), places).report
    assert not report.complete
    assert sum(one.count for one in report.operations.values()) > 10
    assert "client" in unanswered(report)
    assert [place.lost for place in report.places] == [None, None]


def test_a_stopped_run_waits_no_longer_than_the_grace(tmp_path):
    """After Ctrl-C, a run waits for its target at most for the grace time. The run ends even if the
    target does not answer and the run has no time limit."""
    wanted = silent(tmp_path, 1, time_limit_s=None)
    calls = []

    def stop_when_silent(share: float, phase: str) -> None:
        calls.append(share)
        # The function is called every 50 ms. After a hundred calls, 5 s, the target no longer
        # answers.
        if len(calls) > 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        _core.run_load(wanted.text, stop_when_silent)
    assert any("files may be left" in note for note in caught.value.__notes__)


def test_a_run_that_answers_is_not_given_up(tmp_path):
    wanted = plan(tmp_path, 2, 20).model_copy(update={"time_limit_s": 600.0, "grace_s": 600.0})
    report = run.run_load(wanted, (HERE,)).report
    assert report.complete
    assert unanswered(report) == ""
    assert list(tmp_path.iterdir()) == []


def test_a_grace_that_is_no_time_is_refused(tmp_path):
    text = json.loads(plan(tmp_path).text) | {"grace_s": 0.0}
    with pytest.raises(_core.InputError, match="grace_s: 0 is not above 0"):
        _core.run_load(json.dumps(text))
    assert threading.active_count() < 20
