"""Tests of the tabs of a run's page: which sections a tab shows, collapses and leaves out."""

from __future__ import annotations

import pytest
from dfslab.documents.answers import Limit
from dfslab.documents.table import Tab
from dfslab.report import page
from dfslab.report.sections import latency, scaling, step_times, summary, what_limits
from dfslab.result import Metric, Result
from dfslab.studies.contract import FinishedRun
from dfslab.studies.step_times import StepAtPoint
from markupsafe import Markup
from support import synthetic


def predicted(method: str, limit: str = "disk") -> list[Result]:
    """Returns predictions in which `limit` takes 80 % of the time of every configuration."""
    limits = [
        Limit(name=limit, share=0.8, meaning="a limit"),
        Limit(name="network", share=0.2, meaning="another limit"),
    ]
    return [
        synthetic.predicted(point, 100.0, 80.0, 120.0, method).model_copy(
            update={"limits": limits, "bottleneck": limit}
        )
        for point in synthetic.scenario().points()
    ]


def limits_of(results: list[Result]) -> str:
    return str(what_limits.render(FinishedRun(synthetic.scenario(), results)))


@pytest.mark.parametrize(("other", "tables"), [("disk", 1), ("server.cpu", 2)])
def test_models_that_name_the_same_limits_have_one_table(other: str, tables: int):
    html = limits_of([*predicted("sequence"), *predicted("petri", other)])
    assert html.count("<table>") == tables
    assert ("By sequence and petri" in html) == (tables == 1)


@pytest.mark.parametrize("noise", [0.02, 0.8])
def test_limits_that_the_answer_withholds_are_collapsed(noise: float):
    measured = synthetic.planted(noise=noise, repetitions=4)
    html = limits_of([*measured, *predicted("sequence")])
    before, collapsed, _ = html.partition("<details>")
    assert ("<table>" in before) != bool(collapsed)
    assert (what_limits.UNSUPPORTED in html) == bool(collapsed)
    if noise > 0.5:
        assert collapsed


def test_a_run_of_predictions_states_that_no_scaling_was_measured():
    run = FinishedRun(synthetic.scenario(), predicted("sequence"))
    assert len({one.point.scenario.workload.clients for one in run.results}) > 1
    shown = {one.name: one for one in page.sections(run)}
    assert shown["scaling"].body is None
    assert shown["scaling"].empty == scaling.EMPTY
    assert scaling.EMPTY.startswith("No scaling was measured.")


def test_only_what_is_expected_of_every_run_is_listed_as_missing():
    missing = [
        page.Rendered("general", "General", 1, None, "nothing general", Tab.RAW, True),
        page.Rendered("special", "Special", 2, None, "nothing special", Tab.RAW),
    ]
    listed, _, collapsed = page.page_of("run", "", "", missing).partition("<details>")
    assert "nothing general" in listed
    assert "nothing special" not in listed
    assert "nothing special" in collapsed
    assert "Sections for other kinds of runs: 1" in collapsed


def test_latencies_are_compared_at_one_number_of_clients():
    groups = [[one] for one in synthetic.planted(noise=0.02, repetitions=1)]
    assert len({one.point.scenario.workload.clients for [one] in groups}) > 1
    chosen = latency.of_one_client_count(groups)
    assert len({one.point.scenario.workload.clients for [one] in chosen}) == 1
    assert len(chosen) > 1


def test_both_charts_of_the_first_screen_show_one_operation_type():
    run = FinishedRun(synthetic.scenario(), predicted("sequence"))
    body = Markup(summary.render(run) or "")
    charts = body.partition('<div class="charts">')[2].partition('<div class="open">')[0]
    rates, _, times = charts.partition("What the time of an operation depends on")
    operations = {str(one.point.scenario.workload.name) for one in run.results}
    chosen = [name for name in sorted(operations) if f"{name}," in times]
    assert len(operations) == 2
    assert len(chosen) == 1
    assert f">{chosen[0].removeprefix('sequential_')}<" in rates


def read_step(size_bytes: float, predictions: dict[str, float]) -> StepAtPoint:
    """Returns a step that takes 10 ns for each byte. `predictions` has the time that each method
    predicts, in seconds."""
    return StepAtPoint(
        operation="read",
        step="read",
        point_id=str(size_bytes),
        labels={},
        held_out=False,
        size_bytes=size_bytes,
        clients=1,
        count=1,
        measured=Metric(value=1e-8 * size_bytes),
        repetitions=1,
        worst=1.0,
        predictions={method: Metric(value=time_s) for method, time_s in predictions.items()},
    )


def test_a_function_that_is_no_better_than_the_mean_is_no_law():
    sizes = [2.0**power for power in range(16, 26, 2)]
    mean_s = 1e-8 * sizes[2]
    good = [read_step(size, {"fitted": 1.1e-8 * size, "mean": mean_s}) for size in sizes]
    flat = [read_step(size, {"fitted": 3.5e-5, "mean": mean_s}) for size in sizes]
    unknown = [read_step(size, {"fitted": 3.5e-5}) for size in sizes]
    assert [step_times.is_law(one) for one in (good, flat, unknown)] == [True, False, True]
