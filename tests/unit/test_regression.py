"""Tests of the models that predict by regression, and of simple models for comparison.

The tests check the following:

- The models find planted laws.
- The share of intervals that contain the true value equals their confidence.
- Known errors in the formulas of Kumar's paper are corrected.
"""

from __future__ import annotations

import numpy as np
import pytest
from dfslab.method import RunFailed
from dfslab.models import baseline
from dfslab.models.regression import Regression
from scipy import stats
from support import synthetic


def fitted_on(results):
    return [result for result in results if not result.point.held_out]


def test_planted_exponents_are_found():
    model = Regression().fit(fitted_on(synthetic.planted()))
    found = {name: value for name, (value, _) in model.fitted.coefficients.items()}
    # The coefficient of a number (here `file_size` and `clients`) is the change of ln(rate) for
    # each doubling of the number. The coefficient of an operation (here write) is ln(rate) of this
    # operation minus ln(rate) of the other operation.
    assert found["file_size"] == pytest.approx(-0.7 * np.log(2))
    assert found["clients"] == pytest.approx(0.5 * np.log(2))
    assert found["operations=write"] == pytest.approx(-np.log(3))
    assert model.fitted.r_squared == pytest.approx(1.0)


def test_standard_errors_and_intervals_are_honest():
    """Over many noisy data sets, 90 % of the held-out values are in their 90 % intervals."""
    hits = total = 0
    for seed in range(30):
        results = synthetic.planted(noise=0.2, seed=seed)
        model = Regression().fit(fitted_on(results))
        for result in results:
            if result.point.held_out and result.repetition == 0:
                rate = model.run(result.point).metrics["rate_per_s"]
                twice = [r.value() for r in results if r.point_id == result.point_id]
                hits += rate.low <= float(np.exp(np.mean(np.log(twice)))) <= rate.high
                total += 1
    assert total == 180
    # 90 % of the intervals should contain the true value. The share is allowed to deviate by 4
    # standard errors. The test therefore fails both if intervals are too narrow and if they are too
    # wide.
    assert 0.90 - 4 * 0.0224 <= hits / total <= 0.90 + 4 * 0.0224


def test_r_squared_is_one_minus_error_over_total():
    """R² is 1 - SSE / SST, where SSE is the sum of squared errors and SST is the total sum of
    squares. In Kumar's list of symbols, SSE is confused with SSR, the sum of squares of the
    regression. With these symbols, a perfect fit would have R² = 0."""
    results = fitted_on(synthetic.planted(noise=0.3, repetitions=1))
    model = Regression().fit(results)
    target = np.log([result.value() for result in results])
    shown = np.log([model.run(result.point).value() for result in results])
    error = ((target - shown) ** 2).sum()
    regression = ((shown - target.mean()) ** 2).sum()
    total = ((target - target.mean()) ** 2).sum()
    assert model.fitted.r_squared == pytest.approx(1 - error / total)
    assert model.fitted.r_squared == pytest.approx(regression / total)
    assert model.fitted.r_squared != pytest.approx(error / total)
    freedom = len(target) - len(model.fitted.coefficients)
    adjusted = 1 - (error / freedom) / (total / (len(target) - 1))
    assert model.fitted.adjusted_r_squared == pytest.approx(adjusted)


def test_the_linear_form_goes_negative_and_says_so():
    model = Regression(scale="linear").fit(fitted_on(synthetic.planted()))
    answers = [model.run(point) for point in synthetic.scenario().points()]
    assert any(answer.metrics["rate_per_s"].low < 0 for answer in answers)
    assert any("negative" in note for answer in answers for note in answer.notes)


def test_replicates_do_not_count_as_evidence():
    single = fitted_on(synthetic.planted(0.2, repetitions=1))
    copies = [r.model_copy(update={"repetition": k}) for r in single for k in range(5)]
    once, copied = Regression().fit(single), Regression().fit(copies)
    error = once.fitted.coefficients["file_size"][1]
    assert error > 0
    assert copied.fitted.coefficients["file_size"][1] == pytest.approx(error)


def test_too_little_to_learn_from_is_said():
    results = synthetic.planted(sizes=["1 MiB"], clients=(1,), hold_out=())
    with pytest.raises(RunFailed, match="three measured configurations"):
        Regression().fit(results)
    with pytest.raises(RunFailed, match="needs measured results"):
        Regression().run(results[0].point)


def test_what_is_left_out_is_named():
    wide = Regression().fit(fitted_on(synthetic.planted(0.1)))
    assert "transfer_size" in wide.fitted.columns.dropped["constant"]
    # Workload and operation always change together in this scenario, so the model drops one of
    # these two factors.
    assert "workload=sequential_write" in wide.fitted.columns.dropped["collinear"]
    assert not wide.run(synthetic.scenario().points()[0]).notes
    narrow = Regression().fit(
        synthetic.planted(0.1, sizes=["64 KiB", "1 MiB"], clients=(1,), hold_out=())
    )
    answer = narrow.run(synthetic.scenario().points()[0])
    assert answer.regression.dropped["too few configurations"]
    assert any("too few configurations for" in note for note in answer.notes)
    assert len(answer.regression.coefficients) == 2


def test_equal_rates_explain_nothing_and_break_nothing():
    points = synthetic.scenario(hold_out=()).points()
    model = Regression().fit([synthetic.measured(point, 100.0) for point in points])
    assert model.fitted.r_squared == model.fitted.adjusted_r_squared == 0.0
    assert model.run(points[0]).value() == pytest.approx(100.0)


def test_latency_follows_from_rate_by_littles_law():
    results = fitted_on(synthetic.planted(0.1))
    answer = Regression().fit(results).run(results[0].point)
    rate, latency = answer.metrics["rate_per_s"], answer.metrics["latency_s_mean.read"]
    clients = results[0].point.scenario.workload.clients
    assert latency.value == pytest.approx(clients / rate.value)
    assert (latency.low, latency.high) == pytest.approx((clients / rate.high, clients / rate.low))
    size = answer.metrics["throughput_bytes_per_s"].value / rate.value
    assert size == pytest.approx(65536)


def test_the_mean_is_the_geometric_mean_of_its_operation():
    results = fitted_on(synthetic.planted())
    model = baseline.make("mean").fit(results)
    reads = [r.value() for r in results if synthetic.operation(r.point) == "read"]
    point = next(r.point for r in results if synthetic.operation(r.point) == "read")
    answer = model.run(point).metrics["rate_per_s"]
    assert answer.value == pytest.approx(np.exp(np.mean(np.log(reads))))
    assert answer.low < answer.value < answer.high


def test_the_ideal_bound_is_the_declared_disk():
    """The method `ideal` gives the bound of the declared disk: direct reads of 64 KiB at 500 MB/s
    and 100 us."""
    results = synthetic.planted(hold_out=())
    point = results[0].point
    direct = point.model_copy(
        update={
            "scenario": point.scenario.with_values(
                {"workload.cache": "direct", "workload.transfer_size": "64 KiB"}
            )
        }
    )
    answer = baseline.make("ideal").run(direct)
    assert answer.metrics["rate_per_s"].value == pytest.approx(1 / (1e-4 + 65536 / 5e8))
    assert not baseline.make("ideal").run(point).metrics


def direct_point():
    """Returns a configuration of direct reads of 64 KiB. The method `ideal` computes a bound of
    their rate from the rate and the latency of the declared disk."""
    point = synthetic.scenario(hold_out=()).points()[0]
    values = {"workload.cache": "direct", "workload.transfer_size": "64 KiB"}
    return point.model_copy(update={"scenario": point.scenario.with_values(values)})


def test_the_ideal_interval_is_fitted_and_its_value_is_not():
    base = direct_point()
    bound = baseline.make("ideal").run(base).metrics["rate_per_s"].value
    results = []
    for clients, share in ((1, 0.4), (2, 0.5), (3, 0.6)):
        changed = base.scenario.with_values({"workload.clients": clients})
        point = base.model_copy(update={"scenario": changed})
        own = baseline.make("ideal").run(point).metrics["rate_per_s"].value
        results.append(synthetic.measured(point, own * share))
    answer = baseline.make("ideal").fit(results).run(base)
    rate = answer.metrics["rate_per_s"]
    assert rate.value == pytest.approx(bound)
    assert rate.high == pytest.approx(bound)
    logs = np.log([0.4, 0.5, 0.6])
    half_width = stats.t.ppf(0.95, 2) * logs.std(ddof=1) * np.sqrt(1 + 1 / 3)
    assert rate.low == pytest.approx(bound * np.exp(logs.mean() - half_width))
    assert not answer.notes


def test_baselines_say_what_they_never_saw():
    reads = [r for r in synthetic.planted() if synthetic.operation(r.point) == "read"]
    write = next(r for r in synthetic.planted() if synthetic.operation(r.point) == "write").point
    answer = baseline.make("mean").fit(reads).run(write)
    assert any("write was never measured" in note for note in answer.notes)
    assert any(
        "was never measured" in note for note in baseline.make("ideal").run(direct_point()).notes
    )
    unbound = baseline.make("ideal").run(reads[0].point)
    assert unbound.metrics == {}
    assert any("nothing declared limits read" in note for note in unbound.notes)
