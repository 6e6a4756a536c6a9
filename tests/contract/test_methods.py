"""Tests of the requirements that every discovered method meets. All methods get the same
configurations, and each sentence of their interfaces (dfslab/method.py and
dfslab/instruments/contract.py) is tested."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar, get_type_hints

import pytest
from dfslab import discover
from dfslab.cli.shared import read_scenario
from dfslab.documents import metrics
from dfslab.instruments import access
from dfslab.instruments.contract import Instrument, MeasurementOptions, instruments_among
from dfslab.method import BatchModel, Model, RunFailed
from dfslab.result import Metric, Result
from dfslab.spec.input_error import InputError, NothingLearnt
from dfslab.spec.scenario import Point
from support import synthetic
from support.scenarios import requested

METHODS = [(name, kind) for name, kind, _ in discover.methods()]
MODELS = [name for name, kind in METHODS if kind == "model"]
INSTRUMENTS = [name for name, kind in METHODS if kind == "instrument"]
FIGURES = Path(__file__).parents[2] / "scenarios" / "pvfs-figures.toml"
# Three sizes and two numbers of clients, each for reads and for writes, are twelve configurations.
# Learnt methods need at least eleven.
SIZES, CLIENTS = ["64 KiB", "1 MiB", "16 MiB"], (1, 4)
Found = TypeVar("Found")
# Largest number of characters in an error message, which is printed as one line.
MOST_CHARACTERS = 300
# REFUSED lists the configurations that each model refuses, by their names in `cases`. A model that
# is not listed refuses only PROGRAM.
PROGRAM = "an external program"
REFUSED = {
    "components": {PROGRAM, "reads", "writes", "an open workload", "metadata"},
    "serial": {PROGRAM, "metadata"},
}
# The models that need measured results before they predict.
NEED_RESULTS = {"greybox", "boosting", "gaussian", "linear", "linear-split"}
NEED_RESULTS |= {"regression", "regression-linear", "mean", "serial"}
# Models that are fitted to the rate itself and not to its logarithm, so that a predicted rate may
# be negative.
LINEAR = {"linear", "linear-split", "regression-linear"}


@cache
def cases() -> dict[str, Point]:
    """Returns the configurations with which all models are tested, by name: four of a local
    directory, one of PVFS, and an external program, which no model can predict."""
    plain = synthetic.scenario(sizes=["4 MiB"], clients=(2,), hold_out=())
    offered = {"workload.arrival": "poisson", "workload.rate": "5 /s"}
    pvfs = read_scenario(FIGURES, ["workload.file_size=1 MiB"]).points()
    return {
        "reads": plain.points()[0],
        "writes": plain.points()[1],
        "an open workload": plain.with_overrides(offered).points()[0],
        "metadata": requested(name="metadata"),
        "reads of PVFS": pvfs[0],
        PROGRAM: requested(name="command", command=["true"]),
    }


@cache
def measured(system: str) -> list[Result]:
    """Returns results of twelve configurations of the file system `system`, with planted rates in
    place of measured rates."""
    if system == "local":
        return synthetic.planted(noise=0.1, sizes=SIZES, clients=CLIENTS, hold_out=())
    points = read_scenario(FIGURES, ["workload.file_size=1 MiB"]).points()
    chosen = [one for one in points if one.scenario.workload.clients <= 4][:12]
    rates = [40.0 / (1 + place % 5) for place in range(len(chosen))]
    return [synthetic.measured(one, rate) for one, rate in zip(chosen, rates, strict=True)]


def fitted(name: str, point: Point) -> Model:
    """Returns a new model with the given name, fitted to results of the file system that `point`
    uses."""
    return discover.model(name).fit(measured(point.scenario.file_system.name))


@cache
def predicted(name: str, case: str) -> Result | InputError | RunFailed:
    """Returns the prediction of a fitted model for a configuration of `cases`, or the error by
    which the model refuses the configuration."""
    return outcome(lambda: fitted(name, cases()[case]).run(cases()[case]))


def outcome(work: Callable[[], Found]) -> Found | InputError | RunFailed:
    """Returns the result of `work`, or the InputError or RunFailed that `work` raises."""
    try:
        return work()
    except (InputError, RunFailed) as error:
        return error


def usual(name: str) -> str:
    """Returns the name of a configuration for which the model predicts a rate. Two models get the
    configuration of PVFS: `components` has a net of PVFS only, and `ideal` needs declared hardware.
    """
    return "reads of PVFS" if name in ("components", "ideal") else "reads"


def reproducible(result: Result) -> tuple[object, ...]:
    """Returns the parts of a prediction that must not change when it is repeated: everything except
    its date and the processor time that it took."""
    return (result.metrics, result.steps, result.utilisation, result.limits, result.phases)


def check_interval(key: str, metric: Metric) -> None:
    """Asserts that a metric is registered and that its interval is finite and contains its
    value."""
    assert metrics.parsed(key).name in metrics.REGISTRY, key
    assert metric.low is not None, key
    assert metric.high is not None, key
    assert all(map(math.isfinite, (metric.low, metric.value, metric.high))), key
    assert metric.low <= metric.value <= metric.high, key


@pytest.mark.parametrize(("name", "kind"), METHODS)
def test_a_method_is_of_one_kind_and_has_its_name(name, kind):
    method = discover.method(name)
    assert method.name == name
    assert [isinstance(method, one) for one in (Model, Instrument)][kind == "instrument"]
    assert isinstance(method, Model) == (kind == "model")
    assert instruments_among([method]) == ([method] if kind == "instrument" else [])
    assert method is not discover.method(name)


@pytest.mark.parametrize("case", cases())
@pytest.mark.parametrize("name", MODELS)
def test_a_model_predicts_with_intervals_or_refuses_in_one_line(name, case):
    found, point = predicted(name, case), cases()[case]
    assert isinstance(found, Result) == (case not in REFUSED.get(name, {PROGRAM})), str(found)
    if not isinstance(found, Result):
        assert "\n" not in str(found)
        assert 0 < len(str(found)) <= MOST_CHARACTERS
        return
    assert (found.method, found.point_id, found.point) == (name, point.id, point)
    assert found.complete
    assert found.provenance.seed == point.scenario.run.seed
    for key, metric in found.metrics.items():
        check_interval(key, metric)
    if found.metrics:
        rate = found.metrics[metrics.RATE].value
        assert rate > 0 or (name in LINEAR and any("negative" in note for note in found.notes))
    else:
        assert name == "ideal", "only the hardware bound may have nothing to say"
        assert any("nothing declared limits" in note for note in found.notes)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_model_and_configuration_give_the_same_prediction(name):
    for case, point in cases().items():
        first = predicted(name, case)
        if isinstance(first, Result):
            model = fitted(name, point)
            assert reproducible(model.run(point)) == reproducible(first), case
            assert reproducible(model.run(point)) == reproducible(first), f"{case}, repeated"


@pytest.mark.parametrize("name", MODELS)
def test_a_model_without_a_fit_says_that_nothing_was_measured(name):
    """A model in NEED_RESULTS raises NothingLearnt if it was not fitted, and predicts after a fit.
    Any other model predicts without a fit, with a note that nothing was measured."""
    case = usual(name)
    found = outcome(lambda: discover.model(name).run(cases()[case]))
    assert isinstance(found, NothingLearnt) == (name in NEED_RESULTS)
    assert isinstance(predicted(name, case), Result)
    if isinstance(found, Result):
        assert any("measured" in note for note in found.notes), found.notes
    else:
        assert f"{name}: needs measured results to learn from" in str(found)


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_ignores_what_was_not_measured_completely(name):
    """A fit ignores predictions, results of another instrument ("trace") and incomplete
    measurements. All of these have rates that are ten times too high and would change the fit."""
    case = usual(name)
    point = cases()[case]
    results = measured(point.scenario.file_system.name)
    wrong = [one.model_copy(update={"metrics": _times_ten(one.metrics)}) for one in results]
    ignored = [one.model_copy(update={"method": method}) for one in wrong for method in MODELS[:2]]
    ignored += [one.model_copy(update={"method": "trace"}) for one in wrong]
    ignored += [one.model_copy(update={"complete": False}) for one in wrong]
    model = discover.model(name)
    assert model.fit([*ignored, *results, *ignored]) is model
    assert reproducible(model.run(point)) == reproducible(predicted(name, case))
    changed = outcome(lambda: discover.model(name).fit(wrong).run(point))
    assert isinstance(changed, Result)
    assert reproducible(changed) != reproducible(predicted(name, case)), "the fit has no effect"


def _times_ten(values: dict[str, Metric]) -> dict[str, Metric]:
    rate = values[metrics.RATE]
    return {**values, metrics.RATE: rate.model_copy(update={"value": 10 * rate.value})}


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_to_nothing_is_refused_in_one_line_or_leaves_the_model_without_a_fit(name):
    case = usual(name)
    model = discover.model(name)
    found = outcome(lambda: model.fit([]))
    if isinstance(found, RunFailed):
        assert "\n" not in str(found)
        assert "measure" in str(found)
    else:
        assert found is model
        unfitted = discover.model(name).run(cases()[case])
        assert reproducible(model.run(cases()[case])) == reproducible(unfitted)


@pytest.mark.parametrize("name", MODELS)
def test_many_predictions_in_one_call_are_those_of_single_calls(name):
    model = fitted(name, cases()["reads"]) if name != "components" else discover.model(name)
    if isinstance(model, BatchModel):
        points = [cases()["reads"], cases()["writes"]]
        for one, point in zip(model.run_many(points), points, strict=True):
            alone = model.run(point)
            assert one.metrics.keys() == alone.metrics.keys()
            # Linear algebra adds in another order for several rows than for one row, so results
            # differ by rounding.
            for key, metric in alone.metrics.items():
                assert one.value(key) == pytest.approx(metric.value, rel=1e-9)
                assert one.metrics[key].low == pytest.approx(metric.low, rel=1e-9)
                assert one.metrics[key].high == pytest.approx(metric.high, rel=1e-9)
    else:
        assert not hasattr(model, "run_many")


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_an_instrument_measures_a_directory_or_refuses_in_one_line(name, tmp_path):
    keys = {"file_size": "4 KiB", "operations_per_client": 4, "clients": 2}
    there = requested(**keys).scenario.with_overrides(
        {"file_system.access.directory": str(tmp_path)}
    )
    (point, *_) = there.points()
    with access.session() as session:
        instrument = discover.method(name)
        result = instrument.run(point, session, repetition=1)
        assert (result.method, result.point_id, result.repetition) == (name, point.id, 1)
        assert result.complete
        for key, metric in result.metrics.items():
            assert metrics.parsed(key).name in metrics.REGISTRY
            assert math.isfinite(metric.value), key
            assert metric.value > 0, key
        missing = there.with_overrides({"file_system.access.directory": str(tmp_path / "none")})
        with pytest.raises((InputError, RunFailed)) as refused:
            instrument.run(missing.points()[0], session)
    assert "\n" not in str(refused.value)
    assert str(tmp_path / "none") in str(refused.value)
    assert list(tmp_path.iterdir()) == [], "an instrument removes what it creates"


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_an_instrument_declares_the_parameters_of_the_interface(name):
    """The parameters of `run` have the names, the order, the types and the default values of
    `Instrument.run`."""
    own, expected = type(discover.method(name)).run, Instrument.run
    assert get_type_hints(own) == get_type_hints(expected)
    shapes = [
        [(one.name, one.kind, one.default) for one in inspect.signature(run).parameters.values()]
        for run in (own, expected)
    ]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("name", ["measure", "trace"])
def test_an_instrument_takes_the_options_of_one_measurement(name, tmp_path):
    """The options that are given to one measurement act on this measurement, and not on the next
    measurement of the session."""
    keys = {"file_size": "4 KiB", "operations_per_client": 4}
    point = requested(**keys)
    phases: list[str] = []
    file, traces = tmp_path / "recorded.stream", tmp_path / "traces"
    traces.mkdir()
    options = MeasurementOptions(file, traces, progress=lambda share, phase: phases.append(phase))
    with access.session() as session:
        instrument = discover.method(name)
        instrument.run(point, session, options=options)
        assert phases
        recorded, reported = file.read_bytes(), len(phases)
        assert [one.suffix for one in traces.iterdir()] == [".otlp"] * (name == "trace")
        traced = [one.stat().st_mtime_ns for one in traces.iterdir()]
        instrument.run(point, session)
        assert (file.read_bytes(), len(phases)) == (recorded, reported)
        assert [one.stat().st_mtime_ns for one in traces.iterdir()] == traced
        with pytest.raises(InputError, match=r"recorded\.stream"):
            instrument.run(point, session, options=options)


def test_only_one_measurement_of_a_run_is_recorded(tmp_path):
    options = MeasurementOptions(tmp_path / "recorded.stream", tmp_path)
    assert options.for_next_measurement() == options
    (tmp_path / "recorded.stream").touch()
    assert options.for_next_measurement() == MeasurementOptions(trace_directory=tmp_path)
