"""Tests of repeated measurements, of intervals of rates, and of ramps.

The tests cover three features of runs:

- A run can repeat measurements until a mean has the requested precision.
- The interval of a rate is estimated from its values in single seconds.
- In a ramp, the arrival rate of an open workload rises.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from dfslab.documents.load_report import Second, Steady
from dfslab.instruments.measuring.series import FEWEST_SECONDS, rate_interval, resampled_means
from dfslab.result import Metric, Result, provenance
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.streams.stream import stream_spec
from dfslab.studies.runs.precision import half_width
from dfslab.studies.runs.store import open_run
from support.measuring import sweep
from support.synthetic import scenario


def second(count: float) -> Second:
    """Returns the record of one second of a run. In this second, `count` operations (rounded)
    ended."""
    return Second(count=round(count), errors=0, bytes=0, latency_ns_sum=0, latency_ns_max=0)


def autocorrelated(rng: np.random.Generator, count: int, phi: float = 0.7) -> np.ndarray:
    """Returns a first-order autoregressive series with mean 1000 and coefficient `phi`."""
    noise, value, series = rng.normal(size=count), 0.0, []
    for one in noise:
        value = phi * value + one
        series.append(1000 + 20 * value)
    return np.array(series)


def test_the_interval_of_correlated_seconds_holds_the_mean_as_often_as_it_says():
    rng, held, held_by_singles = np.random.default_rng(11), 0, 0
    for turn in range(200):
        series = autocorrelated(rng, 300)
        found = rate_interval([second(one) for one in [*series, 0]], None, turn)
        assert found is not None
        held += found.low_per_s <= 1000 <= found.high_per_s
        # For comparison, a second interval is computed by resampling single seconds instead of
        # blocks of seconds. The seconds are correlated, so this interval is too narrow and contains
        # the mean less often.
        low, high = np.quantile(resampled_means(series, 1, turn), [0.025, 0.975])
        held_by_singles += low <= 1000 <= high
    assert held >= 176, held
    assert held_by_singles < 150, "the series is one where blocks matter"


def test_seconds_before_a_load_settled_and_too_few_of_them_are_left_out():
    seconds = [second(1)] * 10 + [second(500)] * 31
    steady = Steady(
        reached=True, from_s=10.0, seconds=31, rate_per_s=500.0, rate_per_s_half_width=0.0
    )
    found = rate_interval(seconds, steady, 1)
    assert found is not None
    assert (found.mean_per_s, found.low_per_s, found.high_per_s) == (500, 500, 500)
    assert rate_interval(seconds[:FEWEST_SECONDS], None, 1) is None


def test_half_a_width_is_that_of_students_interval():
    assert half_width([5.0]) == half_width([5.0, 0.0]) == math.inf
    # Two values that differ by a factor of e have logarithms that differ by 1. The mean of these
    # logarithms has a standard error of 1/2. Student's t for one degree of freedom is 12.706.
    assert half_width([1.0, math.e]) == pytest.approx(math.expm1(12.706 / 2), rel=1e-3)
    assert half_width([7.0] * 5) == 0


class Noisy:
    """A fake instrument that measures files of 2 MiB with noise, and other files without noise."""

    name = "measure"

    def run(self, point, session, repetition, options):
        size = point.scenario.workload.parameters["file_size"]
        factor = 1 + (0.2 * (-1) ** repetition if size == "2 MiB" else 0)
        metrics = {"rate_per_s": Metric(value=100 * factor)}
        return Result(
            method="measure",
            point_id=point.id,
            point=point,
            repetition=repetition,
            complete=True,
            metrics=metrics,
            provenance=provenance(1),
        )


def requested(**run):
    one = scenario(sizes=["1 MiB", "2 MiB"], clients=(1,), hold_out=())
    return one.model_copy(update={"run": one.run.model_copy(update={"repetitions": 2, **run})})


def counted(requested, tmp_path) -> list[int]:
    """Runs a sweep over two configurations of reads, one without noise and one with noise. Returns
    the number of runs of each configuration, as [runs without noise, runs with noise]."""
    results = sweep(requested, [Noisy()], open_run(requested, tmp_path), lambda *_: None)
    reads = [point for point in requested.points() if point.scenario.workload.name.endswith("read")]
    return [sum(r.point_id == point.id for r in results) for point in reads]


def test_only_what_is_not_precise_is_run_again(tmp_path):
    assert counted(requested(), tmp_path) == [2, 2]
    quiet, noisy = counted(requested(precision=0.1), tmp_path)
    values = [100 * (1 + 0.2 * (-1) ** turn) for turn in range(noisy)]
    assert quiet == 2
    assert half_width(values) <= 0.1 < half_width(values[:-1])
    assert counted(requested(precision=0.001, most_repetitions=6), tmp_path) == [2, 6]


def test_a_metric_that_no_run_has_is_reported(tmp_path):
    with pytest.raises(InputError, match=r"run\.precise.*there are rate_per_s"):
        counted(requested(precision=0.1, precise="latency_s_p99.read"), tmp_path)


def test_ramps_are_of_open_loads():
    one = requested()
    of = {"arrival": "poisson", "rate": 50.0, "ramp": 4.0}
    workload = one.workload.model_copy(update=of)
    methods = one.run.model_copy(update={"methods": ["measure"]})
    open_load = one.model_copy(update={"workload": workload, "run": methods})
    check(open_load)
    assert stream_spec(open_load).arrival.open.profile == [(0.0, 0.0), (4.0, 1.0)]
    closed = one.workload.model_copy(update={"ramp": 4.0})
    with pytest.raises(InputError, match=r"workload\.ramp"):
        check(one.model_copy(update={"workload": closed, "run": methods}))
    modelled = one.run.model_copy(update={"methods": ["measure", "sequence"]})
    with pytest.raises(InputError, match="without a ramp"):
        check(open_load.model_copy(update={"run": modelled}))
