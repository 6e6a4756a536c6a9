"""Tests of the processor seconds that a run reports for each of its stages. The clock is advanced
by the tests."""

from __future__ import annotations

import json

import pytest
from dfslab.laboratory import Laboratory
from dfslab.method import RunFailed
from dfslab.notify import silent
from dfslab.report import run_document
from dfslab.spec.files.outputs import Output
from dfslab.studies.runs import csv_runs, store
from dfslab.studies.runs.stages import Stages
from support import synthetic
from support.measuring import sweep


class Clock:
    """A clock whose time a test sets in `now_s`."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s


def test_seconds_add_up_by_stage_and_what_did_not_happen_is_left_out():
    clock = Clock()
    stages = Stages(clock)
    for spent_s in (1.5, 2.0):
        with stages.of("loading"):
            clock.now_s += spent_s
    clock.now_s += 100.0

    def fail():
        with stages.of("cross_validating"):
            clock.now_s += 0.25
            raise RunFailed("too few")

    with pytest.raises(RunFailed):
        fail()
    assert stages.spent.model_dump(exclude_none=True) == {
        "loading_s": 3.5,
        "cross_validating_s": 0.25,
    }
    assert stages.spent.text == "processor seconds: loading 3.5, cross-validating 0.2"
    assert Stages(clock).spent.text == ""


def test_a_study_that_finds_nothing_is_no_stage():
    clock = Clock()
    stages = Stages(clock)

    def study(found):
        clock.now_s += 1.0
        return found

    assert stages.timed("fitting", lambda: study(None)) is None
    assert stages.spent.fitting_s is None
    assert stages.timed("fitting", lambda: study(7)) == 7
    assert stages.spent.fitting_s == 1.0


class Works:
    """A fake instrument that takes one second of the clock for each configuration."""

    def __init__(self, name, clock):
        self.name, self._clock = name, clock

    def run(self, point, session=None, repetition=0, options=None):
        self._clock.now_s += 1.0
        return synthetic.measured(point, synthetic.planted_rate(point), repetition, self.name)


class Learns(Works):
    """A fake model that takes one second for each configuration and ten seconds for its fit."""

    def fit(self, results):
        self._clock.now_s += 10.0
        return self


def test_a_sweep_loads_and_fits(tmp_path):
    clock = Clock()
    stages = Stages(clock)
    scenario = synthetic.scenario()
    opened = store.open_run(scenario, tmp_path)
    methods = [Works("measure", clock), Learns("model", clock)]
    sweep(scenario, methods, opened, lambda *_: None, stages)
    points = len(scenario.points())
    assert stages.spent.model_dump(exclude_none=True) == {
        "loading_s": 2.0 * points,
        "fitting_s": 10.0 + points,
    }


def test_a_run_says_its_seconds_by_stage(tmp_path):
    """A run reports the processor seconds of each of its stages.

    The test's clock advances by one second at each reading. Every stage therefore takes a whole
    number of seconds.
    """
    looked = iter(range(1000))
    scenario = synthetic.scenario(
        sizes=["64 KiB", "1 MiB", "4 MiB"], clients=(1, 2), methods=["measure", "mean"]
    )
    csv_runs.write(
        synthetic.planted(sizes=["64 KiB", "1 MiB", "4 MiB"], clients=(1, 2)),
        Output("-o", tmp_path / "runs.csv"),
    )
    laboratory = Laboratory(clock=lambda: float(next(looked)))
    plan = laboratory.plan(scenario, recorded=tmp_path / "runs.csv")
    done = laboratory.run(plan, tmp_path, fresh=True, always_page=True)
    found = run_document.of(done)["processor_time"]
    assert list(found) == ["loading_s", "fitting_s", "cross_validating_s", "page_s"]
    # Each start of a stage advances the clock by one second. The stage "loading" starts twice: for
    # the sweep, and at the end of the sweep. The stage "fitting" starts eight times: for one model
    # and seven studies. Each other stage starts once.
    assert found == {"loading_s": 2.0, "fitting_s": 8.0, "cross_validating_s": 1.0, "page_s": 1.0}
    assert "learning_s" not in found


def test_a_run_is_complete_when_it_is_written(tmp_path, monkeypatch):
    """When a run returns, its folder is complete. The summary and the findings in the folder
    contain everything that the returned run contains, including the note on a table that could not
    be written."""

    def unavailable(*_):
        raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    monkeypatch.setattr(store, "write_parquet", unavailable)
    recorded = tmp_path / "runs.csv"
    csv_runs.write(synthetic.planted(), Output("-o", recorded))
    laboratory = Laboratory()
    plan = laboratory.plan(synthetic.scenario(methods=["measure", "mean"]), recorded=recorded)
    done = laboratory.run(plan, tmp_path, fresh=True)
    assert sum("results.parquet was not written" in one for one in done.findings.notes) == 1
    written = json.loads((done.folder / "summary.json").read_text())
    assert written == json.loads(json.dumps(run_document.of(done), default=str))
    assert laboratory.reopen(done.folder, silent).findings.notes == done.findings.notes
