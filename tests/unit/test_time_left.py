"""Tests of the remaining time that progress messages show. An estimate is shown even before the
first measurement has ended. The remaining time then counts down. When all measurements have ended,
no remaining time is shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from dfslab import discover
from dfslab.cli.live.lines import LineReporter
from dfslab.cli.live.time_left import TimeLeft
from dfslab.cli.live.time_left_column import TimeLeftColumn
from dfslab.laboratory import Laboratory
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.studies.designs.design_plan import RUN_S, run_cost_s
from dfslab.studies.designs.run_duration import mean_job_s
from dfslab.studies.runs import store
from dfslab.studies.runs.sweep import missing_measurements
from rich.progress import Progress
from support import synthetic
from support.clock import ManualClock
from support.measuring import sweep

HOST = {"name": "m", "roles": {"client": 1, "storage": 1}}


def scenario(workload: dict[str, object], **run: object) -> Scenario:
    return build(
        Scenario,
        {
            "name": "timed",
            "deployment": {"node": [HOST]},
            "file_system": {"name": "local"},
            "workload": workload,
            "run": {"methods": ["measure"], **run},
        },
    )


class Instrument:
    """A fake instrument that returns rates of a known law. A measurement takes 2 s by `clock`."""

    name = "measure"

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def run(self, point, session=None, repetition=0, options=None):
        self._clock.advance(2.0)
        return synthetic.measured(point, synthetic.planted_rate(point), repetition)


def test_a_timed_run_lasts_until_its_time_limit():
    points = scenario({"name": "transfers"}, timed=True, time_limit="7 s").points()
    assert mean_job_s(points, 3) == pytest.approx(RUN_S + 7.0)


def test_other_runs_last_as_long_as_the_model_predicts():
    points = synthetic.scenario(sizes=["64 KiB", "1 MiB"], clients=(1, 2)).points()
    expected = sum(run_cost_s(one.scenario) for one in points) / len(points)
    assert mean_job_s(points, 2 * len(points)) == pytest.approx(expected)


def test_the_duration_of_an_external_program_is_not_known():
    points = scenario({"name": "command", "command": ["true"]}).points()
    assert mean_job_s(points, 1) is None


@pytest.mark.parametrize("job_s", [None, 5.0])
def test_the_first_report_of_a_sweep_has_the_expected_time(tmp_path: Path, job_s: float | None):
    reported: list[Sequence[float]] = []
    planted = synthetic.scenario()
    opened = store.open_run(planted, tmp_path)

    def report(done: float, total: float, text: str, *remaining_s: float) -> None:
        reported.append(remaining_s)

    clock = ManualClock()
    sweep(planted, [Instrument(clock)], opened, report, job_s=job_s, clock=clock)
    jobs = 2 * len(planted.points())
    assert reported[0] == (() if job_s is None else (5.0 * jobs,))
    # The second report uses the measured duration of the first measurement, 2 s.
    assert reported[1] == (2.0 * (jobs - 1),)


def test_finished_measurements_of_a_resumed_run_are_no_time_left(tmp_path: Path):
    reported: list[Sequence[float]] = []
    planted = synthetic.scenario()
    opened, clock = store.open_run(planted, tmp_path), ManualClock()

    def report(done: float, total: float, text: str, *remaining_s: float) -> None:
        reported.append(remaining_s)

    instrument = Instrument(clock)
    points = planted.points()
    jobs = 2 * len(points)
    # The run was interrupted after the first repetition of every configuration.
    for point in points:
        opened.add(instrument.run(point))
    assert missing_measurements(planted, [instrument], opened) == jobs - len(points)
    found = store.unfinished(planted, tmp_path)
    assert found is not None
    assert found.folder == opened.folder
    sweep(planted, [instrument], found, report, job_s=5.0, clock=clock)
    left = [one for (one,) in reported[:-1]]
    assert left == [5.0 * len(points), *(2.0 * n for n in range(len(points) - 1, 0, -1))]


def test_there_is_no_unfinished_run_before_the_first(tmp_path: Path):
    assert store.unfinished(synthetic.scenario(), tmp_path) is None
    assert not any(tmp_path.iterdir())


def test_the_first_report_of_a_resumed_run_counts_what_is_missing(tmp_path: Path):
    workload = {"name": "sequential_write", "file_size": "64 KiB", "operations_per_client": 4}
    planned = scenario(workload, repetitions=4)
    plan = Laboratory().plan(planned)
    (point,) = plan.points
    before = store.open_run(plan.scenario, tmp_path)
    for repetition in range(3):
        before.add(synthetic.measured(point, 100.0, repetition))
    reported: list[Sequence[float]] = []

    def progress(done: float, total: float, text: str, *remaining_s: float) -> None:
        if text != "planning":
            reported.append(remaining_s)

    Laboratory(progress).run(plan, tmp_path)
    assert reported[0] == (pytest.approx(plan.job_s),)


def test_a_run_reports_the_time_left_before_anything_is_measured(tmp_path: Path):
    reported: list[tuple[str, Sequence[float]]] = []

    def progress(done: float, total: float, text: str, *remaining_s: float) -> None:
        reported.append((text, remaining_s))

    workload = {"name": "sequential_write", "file_size": "64 KiB", "operations_per_client": 4}
    laboratory = Laboratory(progress)
    plan = laboratory.plan(scenario(workload, repetitions=2))
    laboratory.run(plan, tmp_path)
    first = next(remaining_s for text, remaining_s in reported if text != "planning")
    assert first == (pytest.approx(2 * plan.job_s),)


def test_the_time_left_counts_down_and_is_dropped_at_the_end():
    now_s = [0.0]
    left = TimeLeft(lambda: now_s[0])
    assert left.text == ""
    left.report(False, (65.0,))
    assert left.text == "about 1:05 left"
    now_s[0] = 5.0
    left.report(False, ())
    assert left.text == "about 1:00 left"
    now_s[0] = 70.0
    assert left.text == ""
    left.report(False, (9.0,))
    left.report(True, ())
    assert left.text == ""


def test_a_line_of_a_log_ends_with_the_time_left(capsys):
    now_s = [0.0]
    report = LineReporter(lambda: now_s[0])
    report(0, 2, "measure a", 100.0)
    now_s[0] = 20.0
    report(0, 1, "a testbed comes up")
    assert capsys.readouterr().err == "  0:20   0 % a testbed comes up, about 1:20 left\n"


def test_the_column_of_the_bar_shows_the_estimate():
    left = TimeLeft(lambda: 0.0)
    bar = Progress(TimeLeftColumn(left))
    bar.add_task("starting", total=1.0)
    (task,) = bar.tasks
    column = TimeLeftColumn(left)
    assert "left" not in column.render(task).plain
    left.report(False, (3.0,))
    assert column.render(task).plain == "about 0:03 left"


def test_without_an_estimate_the_column_shows_how_long_the_step_lasts():
    now_s = [0.0]
    left = TimeLeft(lambda: now_s[0])
    bar = Progress(TimeLeftColumn(left))
    bar.add_task("starting", total=1.0)
    (task,) = bar.tasks
    column = TimeLeftColumn(left)
    left.begin("fitting sequence")
    left.report(False, (3.0,))
    # The estimate has passed, so the column does not stand still at the last second.
    now_s[0] = 62.0
    assert column.render(task).plain == "this step: 1:02"
    left.begin("fitting petri")
    assert "step" not in column.render(task).plain
    now_s[0] = 65.0
    assert column.render(task).plain == "this step: 0:03"


def test_a_full_bar_states_no_time_left():
    left = TimeLeft(lambda: 0.0)
    bar = Progress(TimeLeftColumn(left))
    bar.update(bar.add_task("starting", total=1.0), completed=1.0)
    (task,) = bar.tasks
    assert TimeLeftColumn(left).render(task).plain == ""


def test_the_bar_does_not_go_back_while_models_are_fitted(tmp_path: Path):
    reported: list[tuple[float, str]] = []
    planted = synthetic.scenario()
    opened = store.open_run(planted, tmp_path)

    def report(done: float, total: float, text: str, *remaining_s: float) -> None:
        reported.append((done / total, text))

    methods = [Instrument(ManualClock()), discover.method("mean"), discover.method("regression")]
    sweep(planted, methods, opened, report)
    texts = [text for _, text in reported]
    fitting = reported[texts.index("fitting mean (model 1 of 2)") :]
    assert "fitting regression (model 2 of 2)" in dict(map(reversed, fitting))
    shares = [share for share, _ in fitting]
    assert shares == sorted(shares)
    assert shares[-1] < 1


def test_a_run_reports_each_analysis_and_the_page(tmp_path: Path):
    texts: list[str] = []
    workload = {"name": "sequential_write", "file_size": "64 KiB", "operations_per_client": 4}
    laboratory = Laboratory(lambda done, total, text, *_: texts.append(text))
    plan = laboratory.plan(scenario(workload, repetitions=2))
    laboratory.run(plan, tmp_path, always_page=True)
    assert "analysing the results: server law" in texts
    assert texts[-1] == "writing the page"
