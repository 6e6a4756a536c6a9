"""Tests of the predictions that the sliders of a run's page show. The tests cover the predicted
values and intervals, the values that are omitted, and the cases in which nothing is predicted."""

from __future__ import annotations

import itertools

import pytest
from dfslab.documents.table import number_text
from dfslab.models import baseline, sequence
from dfslab.report.sections import hardware_sliders
from dfslab.spec import units
from dfslab.spec.changes.change_language import apply, parse_change
from dfslab.spec.check import checked
from dfslab.spec.files import ready
from dfslab.spec.scenario import Point, read
from dfslab.studies.contract import Findings, FinishedRun
from dfslab.studies.decisions import slider_points as points
from dfslab.studies.decisions.slider_points import SliderPoints, slider_points
from support import synthetic


def predictions(name: str) -> FinishedRun:
    """Returns a run of a scenario that comes with dfslab. The only results of the run are
    predictions of the queueing model."""
    scenario = read(ready.files()[name])
    model = sequence.make("sequence")
    return FinishedRun(scenario, [model.run(point) for point in checked(scenario)[0]])


def planted(*baselines: str, **options) -> FinishedRun:
    """Returns a run with planted measurements, predictions of the calibrated queueing model, and
    predictions of the baselines that `baselines` names."""
    methods = ["measure", "sequence", *baselines]
    results = synthetic.planted(noise=0.02, **options)
    fitted = [one for one in results if not one.point.held_out]
    known = {one.point_id: one.point for one in results}.values()
    models = [sequence.make("sequence"), *map(baseline.make, baselines)]
    results += [model.fit(fitted).run(point) for model in models for point in known]
    return FinishedRun(synthetic.scenario(methods=methods, **options), results)


@pytest.fixture(scope="module")
def hdfs() -> tuple[FinishedRun, SliderPoints]:
    """Provides a predicted run of an HDFS with four data nodes, and its sliders."""
    run = predictions("hdfs-hosts")
    return run, slider_points(run)


def test_each_quantity_has_its_settings_in_order(hdfs):
    found = hdfs[1]
    assert found.reason == ""
    assert [one.name for one in found.quantities] == [*points.QUANTITIES]
    for one in found.quantities:
        values = [setting.value for setting in one.settings]
        assert values == sorted(set(values))
        assert 2 <= len(values) <= len(points.FACTORS)
    servers = found.quantities[0]
    assert [one.label for one in servers.settings] == ["2", "4", "8", "16"]
    assert servers.present == [1, 1]


def test_a_rate_is_what_the_model_predicts_for_the_changed_scenario(hdfs):
    run, found = hdfs
    model = sequence.make("sequence")
    (disk,) = (one for one in found.quantities if one.name == "disk")
    for column, operation in enumerate(found.operations):
        (now,) = (one for one in run.results if run.name(one.labels) == operation.configuration)
        assert disk.settings[disk.present[column]].rates[column] == now.metrics["rate_per_s"]
        doubled = apply(now.point.scenario, [parse_change("disk x2", now.point.scenario)])
        expected = model.run(Point(scenario=doubled, labels=now.labels)).value()
        rate = disk.settings[disk.present[column] + 1].rates[column]
        assert rate.value == pytest.approx(expected, rel=1e-6)
        assert rate.low < rate.value < rate.high


def test_an_interval_grows_with_the_distance_from_the_present_setting(hdfs):
    for quantity in hdfs[1].quantities:
        for column, now in enumerate(quantity.present):
            rates = [one.rates[column] for one in quantity.settings]
            widths = [rate.high / rate.low if rate else 0.0 for rate in rates]
            assert widths[now] == min(width for width in widths if width)
            assert all(width == 0 or width > widths[now] for width in widths[now + 1 :])


def test_impossible_settings_are_left_out_and_named(hdfs):
    found = hdfs[1]
    copies = next(one for one in found.quantities if one.name == "copies")
    assert [one.label for one in copies.settings] == ["1", "2", "4"]
    (note,) = (one for one in found.notes if one.startswith("copies 8"))
    assert "at most the 4 datanodes" in note
    assert any(one.startswith("servers 1: left out") for one in found.notes)


def test_quantities_that_would_take_too_long_are_left_out_and_named():
    ticks = itertools.count(0.0, 1.0)
    found = slider_points(predictions("hdfs-hosts"), lambda: next(ticks))
    assert [one.name for one in found.quantities] == ["servers"]
    for name in ("link", "disk", "copies", "clients"):
        assert any(one.startswith(f"{name}: left out") for one in found.notes)
        assert any(f"dfslab whatif RUN '{name} x2'" in one for one in found.notes)


def test_measurements_calibrate_the_rates():
    scenario = synthetic.scenario(methods=["measure", "sequence"])
    truth = sequence.make("sequence")
    measured = [
        synthetic.measured(point, truth.run(point).value(), repetition)
        for point in scenario.points()
        for repetition in range(2)
    ]
    model = sequence.make("sequence").fit([one for one in measured if not one.point.held_out])
    predicted = [model.run(point) for point in scenario.points()]
    run = FinishedRun(scenario, [*measured, *predicted])
    found = slider_points(run)
    assert (found.reason, found.basis) == ("", "run")
    for column, operation in enumerate(found.operations):
        stored = next(
            one
            for one in run.of_method("sequence")
            if run.name(one.labels) == operation.configuration
        )
        for quantity in found.quantities:
            if quantity.withheld:
                assert not quantity.settings
            else:
                now = quantity.settings[quantity.present[column]].rates[column]
                assert now == stored.metrics["rate_per_s"]


def test_a_model_that_is_worse_than_a_baseline_has_no_sliders():
    hold_out = [{"workload.file_size": size} for size in ("256 KiB", "1 MiB", "4 MiB")]
    run = planted("mean", hold_out=hold_out, clients=(1,))
    # The predictions of the baseline are replaced by the measured rates, so the baseline has no
    # error.
    measured = {one.point_id: one.value() for one in run.of_method("measure")}
    for one in run.results:
        if one.method == "mean":
            one.metrics["rate_per_s"] = one.metrics["rate_per_s"].model_copy(
                update={"value": measured[one.point_id]}
            )
    found = slider_points(run)
    assert (found.operations, found.quantities) == ([], [])
    assert "baseline mean" in found.reason
    assert "dfslab measure RUN/scenario.toml --set" in found.reason


def test_without_a_model_the_reason_names_a_command():
    run = FinishedRun(synthetic.scenario(methods=["measure"]), synthetic.planted())
    found = slider_points(run)
    assert found.quantities == []
    assert "did not predict this run" in found.reason
    assert "dfslab whatif RUN 'disk x2'" in found.reason


def test_a_workload_that_no_model_predicts_has_a_reason():
    scenario = read(ready.files()["faults"])
    found = slider_points(FinishedRun(scenario, []))
    assert "only closed loads are modelled" in found.reason


def test_the_section_shows_each_figure_in_a_table_and_each_note(hdfs):
    run, found = hdfs
    shown = FinishedRun(run.scenario, run.results, Findings.of(found))
    body = str(hardware_sliders.render(shown))
    assert body.count('type="range"') == len(found.quantities) == body.count("<table>")
    rows = sum(len(one.settings) + 1 for one in found.quantities)
    assert body.count("<tr") == rows
    for note in found.notes:
        assert note in body
    # Each operation transfers a file of 256 MiB, so the rate in bytes per second is the rate of
    # operations times 256 MiB.
    present = found.quantities[0].settings[1].rates[0]
    assert present is not None
    moved = units.text(present.value * 256 * 2**20, "B/s", 3)
    assert f"({number_text(present.low)} to {number_text(present.high)}), {moved}" in body
    nothing = Findings.of(SliderPoints(reason="No model answered. Ask: dfslab whatif RUN"))
    reason = hardware_sliders.render(FinishedRun(run.scenario, run.results, nothing))
    assert reason == "<p>No model answered. Ask: dfslab whatif RUN</p>"
