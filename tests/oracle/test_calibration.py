"""Tests that calibration recovers planted constants within the standard errors that it reports."""

from __future__ import annotations

import numpy as np
import pytest
from dfslab.method import RunFailed
from dfslab.models.fit.demand import calibrate
from dfslab.models.sequence import SequenceModel
from dfslab.models.tree.prediction import MEASURED_SPREAD, Situation
from dfslab.result import Step
from dfslab.spec.systems.local_files import LocalFiles
from support import synthetic

PLANTED = {
    "open_cpu": 2e-5,
    "create_cpu": 9e-5,
    "close_cpu": 4e-6,
    "call_cpu": 3e-6,
    "read_byte_cpu": 3e-10,
    "write_byte_cpu": 8e-10,
}


def results(noise: float, seed: int, repetitions: int = 3):
    """Returns results, with step times, of a simulated machine that has the planted constants and
    lognormal noise, where `noise` is the standard deviation of its logarithm."""
    random = np.random.default_rng(seed)
    found = []
    for point in synthetic.scenario().points():
        prediction = Situation(point.scenario).predict(PLANTED | {"fsync_delay": 1e-3})
        for repetition in range(repetitions):
            factor = float(np.exp(noise * random.normal()))
            result = synthetic.measured(point, prediction.rate_per_s / factor, repetition)
            steps = [
                Step(operation=operation, step=str(step), time_s_mean=time * factor, count=100)
                for (operation, step), time in prediction.steps.items()
                if time > 0
            ]
            found.append(result.model_copy(update={"steps": steps}))
    return found


def test_exact_data_give_back_the_planted_constants():
    calibration = calibrate(results(0.0, 1))
    for constant in calibration.constants:
        # The prior of a constant has a width of a factor of e. If a constant explains only a small
        # part of the total time, the prior biases its fitted value, so only constants that explain
        # more are checked.
        if constant.key in PLANTED:
            off = abs(np.log(constant.value / PLANTED[constant.key]))
            assert off <= 2 * constant.log_standard_error, constant
    for key in ("read_byte_cpu", "write_byte_cpu", "create_cpu"):
        assert calibration.values[key] == pytest.approx(PLANTED[key], rel=0.1), key


def test_a_constant_has_one_prior_for_all_machines():
    """In half of the configurations, the profile of the clients' machine has an fsync time of 1 ms;
    in the other half it has 4 ms. No measurement uses fsync, so the constant keeps its prior. The
    prior is the geometric mean of both times, 2 ms. The prior does not depend on the order of the
    results."""
    found = results(0.0, 1, repetitions=1)
    for place, seconds in ((0, "1 ms"), (1, "4 ms")):
        for at in range(place, len(found), 2):
            scenario = found[at].point.scenario
            files = LocalFiles(commit_time=seconds)
            node = scenario.deployment.node[0].model_copy(update={"local_files": files})
            deployment = scenario.deployment.model_copy(update={"node": [node]})
            point = found[at].point.model_copy(
                update={"scenario": scenario.model_copy(update={"deployment": deployment})}
            )
            found[at] = found[at].model_copy(update={"point": point})
    forward, backward = (
        {one.key: one for one in calibrate(order).constants}["fsync_delay"]
        for order in (found, found[::-1])
    )
    assert len(found) % 2 == 0
    assert forward.value == pytest.approx(2e-3)
    assert backward.value == pytest.approx(2e-3)
    # Each profile differs from the geometric mean by a factor of two, which adds ln 2 to the spread
    # in quadrature.
    spread = np.hypot(MEASURED_SPREAD, np.log(2))
    assert forward.log_standard_error == pytest.approx(spread, rel=0.01)


def test_what_the_data_cannot_tell_keeps_its_prior_and_says_so():
    constants = {c.key: c for c in calibrate(results(0.02, 2)).constants}
    assert constants["fsync_delay"].learnt == pytest.approx(0.0, abs=1e-6)
    assert constants["fsync_delay"].value == pytest.approx(1e-3)
    assert constants["write_byte_cpu"].learnt > 0.9


def test_standard_errors_hold():
    """Over many noisy data sets, at least 85 % of the planted constants are within two reported
    standard errors of the fitted value. Only constants are counted that are determined mostly by
    the data (`learnt` above 0.5)."""
    inside = total = 0
    for seed in range(8):
        for constant in calibrate(results(0.1, seed)).constants:
            if constant.key in PLANTED and constant.learnt > 0.5:
                off = abs(np.log(constant.value / PLANTED[constant.key]))
                inside += off <= 2 * constant.log_standard_error
                total += 1
    assert total >= 24
    assert inside / total >= 0.85


def test_held_out_points_lie_in_their_intervals():
    everything = results(0.1, 4)
    model = SequenceModel().fit([r for r in everything if not r.point.held_out])
    held = {r.point_id: r.point for r in everything if r.point.held_out}
    for point_id, point in held.items():
        rate = model.run(point).metrics["rate_per_s"]
        measured = np.exp(
            np.mean([np.log(r.value()) for r in everything if r.point_id == point_id])
        )
        assert rate.low < measured < rate.high
        assert rate.value == pytest.approx(measured, rel=0.35)


def test_nothing_measured_is_said():
    with pytest.raises(RunFailed, match="no complete measurement"):
        calibrate([])
