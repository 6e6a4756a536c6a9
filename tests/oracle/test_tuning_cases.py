"""Tests of the figures that are computed from recorded tunings, and of the list of tuned cases. The
tunings of these tests have planted outcomes and rounds."""

from __future__ import annotations

import pytest
from dfslab.studies.trials.trial_run import TrialRun
from dfslab.studies.trials.tuned import Tuned

from verification.figures import bars
from verification.trials import tuning


def tuned(kept, workload="write"):
    """Returns a planted tuning of NFS for the workload `workload`. `kept` are the settings that the
    tuning has chosen, "" for the start settings."""
    outcome = Tuned(
        source="nfs",
        goal="rate",
        tried=[],
        kept=kept,
        runs=7,
        noise=0.01,
        scenario="",
        records="",
        notes=[],
    )
    return tuning.TunedCase(written="", file_system="nfs", workload=workload, outcome=outcome)


def rounds(values, workload="write"):
    """Returns two rounds of measurements of a grid of settings. `values` has the rate of each
    setting in the first round; the start settings have 100. In the second round, all rates are half
    as high."""
    return [
        tuning.GridRound(
            written="",
            file_system="nfs",
            workload=workload,
            turn=turn,
            runs=[
                TrialRun(configuration=name, turn=turn, value=value / (1 + turn))
                for name, value in {"start": 100.0, **values}.items()
            ],
            refused={},
        )
        for turn in range(2)
    ]


def figures_of(monkeypatch, *lines):
    """Returns the values of the figures that are computed from the planted records `lines`. The key
    of a figure is (bar, part); a bar is a pass criterion."""
    monkeypatch.setattr(tuning, "lines", lambda: list(lines))
    return {(one.bar, one.part): one.value for one in tuning.figures("tuning")}


def test_kept_settings_are_compared_with_the_best_of_the_grid(monkeypatch):
    grid = rounds({"b x2 and a 1": 150.0, "a 1": 200.0})
    found = figures_of(monkeypatch, tuned("a 1 and b x2"), *grid)
    assert found["tuning.reached", "nfs write"] == pytest.approx(0.75)
    assert found["tuning.worse", ""] == 0
    assert {bar for bar, _ in found} <= set(bars())


def test_keeping_the_start_settings_is_never_worse_but_may_miss_the_best(monkeypatch):
    found = figures_of(monkeypatch, tuned(""), *rounds({"a 1": 125.0}))
    assert found["tuning.reached", "nfs write"] == pytest.approx(0.8)
    assert found["tuning.worse", ""] == 0


def test_a_case_that_ends_worse_is_counted(monkeypatch):
    lines = [tuned("a 1"), *rounds({"a 1": 90.0}), tuned("a 1", "read")]
    found = figures_of(monkeypatch, *lines, *rounds({"a 1": 120.0}, "read"))
    assert found["tuning.worse", ""] == pytest.approx(0.5)
    assert found["tuning.reached", "nfs write"] == pytest.approx(0.9)
    assert found["tuning.reached", "nfs read"] == pytest.approx(1.0)


def test_a_case_without_grid_has_no_figure(monkeypatch):
    assert figures_of(monkeypatch, tuned("a 1")) == {("tuning.worse", ""): None}


@pytest.mark.parametrize("file_system", tuning.file_systems())
def test_every_case_has_a_small_legal_grid_with_every_single_setting(file_system):
    assert len(tuning.workloads()) == 6
    for workload in tuning.workloads():
        case = tuning.case_of(file_system, workload)
        texts = [one.text for one in case.grid]
        assert 4 <= len(texts) == len(set(texts)) <= 8
        assert {one.text for one in case.singles} <= set(texts)


def test_parts_are_recorded_one_after_the_other(monkeypatch, tmp_path):
    monkeypatch.setattr(tuning, "FILE", tmp_path / "tuning.jsonl")
    monkeypatch.setattr(tuning, "_tuned", lambda case: tuned(""))
    monkeypatch.setattr(tuning, "_round", lambda case, turn: rounds({})[turn])
    case = tuning.case_of("nfs", "write")
    assert [tuning.record(case) for _ in range(4)] == [True, True, True, False]
    assert [one.event for one in tuning.lines()] == ["tuned", "grid", "grid"]
